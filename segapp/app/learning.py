"""Training jobs of the session."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from segapp.model.answer import Answer, NotEnoughStrokes, Preview, Report
from segapp.model.settings import FeatureGroup, with_encoder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segapp.app.state import Content, TrainingInputs
    from segapp.model.answer import Segmenter
    from segapp.model.picture import EncoderFeatures
    from segapp.model.settings import Settings


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer, tied to what it answers."""

    inputs: TrainingInputs
    answer: Answer


@dataclass(frozen=True, slots=True)
class Look:
    """What a stroke in the making would change; None while two classes are not marked."""

    preview: Preview | None


@dataclass(frozen=True, slots=True)
class Unseen:
    """What the strokes give as long as the encoder has not seen the picture: for a look."""

    preview: Preview


Item = Report | Answered | Look | Unseen | NotEnoughStrokes


def wants_encoder(settings: Settings) -> bool:
    """Tell whether a network takes part."""
    return FeatureGroup.ENCODER in settings.features


def learning(
    segmenter: Segmenter, content: Content, encoded: EncoderFeatures | None
) -> Iterator[Item]:
    """Report until there is an answer, or say why there is none.

    In that case the time until the next stroke is used for what depends on the picture alone.
    What is learnt before the encoder has seen the picture is for a look, and no answer.
    """
    settings = seen_settings(segmenter, content.settings, encoded)
    try:
        for update in segmenter.updates(content.document, settings):
            if not isinstance(update, Answer):
                yield update
            elif settings == content.settings:
                yield Answered(content.training_inputs, update)
            else:
                yield Unseen(Preview(update.labelling))
    except NotEnoughStrokes as reason:
        yield reason
        segmenter.prepare(settings)


def looking(
    segmenter: Segmenter, content: Content, encoded: EncoderFeatures | None
) -> Iterator[Report | Look]:
    """Look once; what is yielded on the way only says that the work may be stopped there."""
    preview = None
    try:
        settings = seen_settings(segmenter, content.settings, encoded)
        for report in segmenter.live_preview(content.document, settings):
            preview = report.preview or preview
            yield replace(report, preview=None)
    except NotEnoughStrokes:
        pass
    yield Look(preview)


def seen_settings(
    segmenter: Segmenter, settings: Settings, encoded: EncoderFeatures | None
) -> Settings:
    """Let the segmenter see, and return the settings that it can answer with what there is."""
    if not wants_encoder(settings):
        return settings
    if encoded is None or encoded.encoder != settings.encoder:
        return with_encoder(settings, "")
    segmenter.set_encoder_features(encoded)
    return settings
