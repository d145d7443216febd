"""What was learnt from one picture, for other pictures of the same kind."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from segapp.learning.appearance import Appearance
from segapp.learning.colour_likelihood import LARGEST_COST, ColourLikelihood, StrokeColours
from segapp.learning.fitting import estimator_of, first_passes
from segapp.learning.laps import Laps
from segapp.learning.learnt_sight import LearntSight
from segapp.learning.supervision import Supervision
from segapp.learning.to_pixels import PixelTask
from segapp.learning.verdict import Verdict
from segapp.picture.colour_bins import LEVELS, colour_bins
from segapp.picture.kernels import kernels_of_all
from segapp.picture.prepared import PreparedPicture
from segapp.values.document import ClassInfo, Document
from segapp.values.marked import Marked
from segapp.values.settings import PICTURE_BOUND, FeatureGroup, Settings
from segapp.values.updates import Answer, Report, answer_of
from segapp.values.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from segapp.learning.encoder_belief import EncoderBelief
    from segapp.picture.channels import ChannelScales
    from segapp.picture.prepared import FeatureTable
    from segapp.values.encoded import EncodedPicture
    from segapp.values.labelling import Labelling
    from segapp.values.updates import Update
    from shlcore import SHL

LARGEST_VALUE = 1e15
"""Costs and weights are far below, and sums of it are still numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class LearntModel:
    """Hash functions and codewords on features that mean the same in any picture.

    Parameters
    ----------
    shl
        Fitted on the prototypes' features.
    likelihood
        Of the colours under the strokes.
    learnt_classes
        Positions of the classes that had strokes.
    classes
        All classes of the document.
    settings
        As they were, without the features that are bound to one picture.
    scales
        Of the channels, if they are among the features: what they were in the learnt picture.
    sight
        What was learnt from an encoder, where one takes part.
    """

    shl: SHL
    likelihood: ColourLikelihood
    learnt_classes: NDArray[np.intp]
    classes: tuple[ClassInfo, ...]
    settings: Settings
    scales: ChannelScales | None = None
    sight: LearntSight | None = None

    def __post_init__(self) -> None:
        Document(self.classes)  # which says how many there may be
        learnt, costs = self.learnt_classes.tolist(), self.likelihood.costs
        if (
            len(learnt) < 2
            or learnt != sorted(set(learnt))
            or not (learnt[0] >= 0 and learnt[-1] < len(self.classes))
        ):
            raise ValueError(
                f"learnt_classes: wanted at least two of {len(self.classes)} classes in their "
                f"order, got {quoted(learnt)}"
            )
        if costs.shape != (LEVELS**3, len(learnt)):
            raise ValueError(
                f"colours: wanted {LEVELS**3} costs of {len(learnt)} classes, got {costs.shape}"
            )
        if not ((costs >= 0) & (costs <= np.float32(LARGEST_COST))).all():
            raise ValueError(f"colours: wanted costs from 0 to {LARGEST_COST:g}, got others")
        if bound := PICTURE_BOUND.intersection(self.settings.features):
            raise ValueError(
                "features: wanted groups that mean the same in other pictures, "
                f"got {', '.join(sorted(bound))}"
            )
        if (self.sight is None) == (FeatureGroup.ENCODER in self.settings.features):
            raise ValueError("sight: wanted one where an encoder takes part, and none where not")

    @classmethod
    def of_strokes(
        cls,
        picture: PreparedPicture,
        marked: NDArray[np.int16],
        document: Document,
        settings: Settings,
    ) -> LearntModel:
        """Learn from a picture and the marked pixels of at least two classes."""
        chosen = tuple(group for group in settings.features if group not in PICTURE_BOUND)
        if not chosen:
            raise ValueError(
                "features: wanted a group that means the same in other pictures "
                "(rgb, colour, texture, channels or encoder), got none"
            )
        settings = replace(settings, features=chosen)
        with_channels = FeatureGroup.CHANNELS in chosen
        supervision = Supervision.of(picture.table(settings).prototypes, marked, settings)
        sight = None
        if FeatureGroup.ENCODER in chosen:
            sight = LearntSight.of(picture, marked, settings, document.background)
        table, _ = _described(picture, settings, sight)
        shl = estimator_of(settings, kernels_of_all(chosen, settings), table.groups)
        steps = shl.iter_fit(
            table.features[supervision.rows], supervision.labels, supervision.weights
        )
        *_, last = first_passes(steps, settings)
        learnt = supervision.classes
        bins = colour_bins(picture.channels.colours[-1] if with_channels else picture.levels[-1])
        return cls(
            last.snapshot(),
            StrokeColours.of(bins, marked, learnt, document.background).likelihood(),
            learnt,
            document.classes,
            settings,
            picture.channels.scales if with_channels else None,
            sight,
        )

    def updates(
        self,
        rgb: NDArray[np.uint8],
        channels: NDArray[Any] | None = None,
        encoded: EncodedPicture | None = None,
    ) -> Iterator[Update]:
        """Label another picture, with the outline and clean-up of the settings.

        Without strokes nothing says which parts are meant, so that none is dropped for want
        of one. ``encoded`` is what the encoder sees in it, where one takes part.
        """
        clean_up = replace(self.settings.clean_up, keep_touching=False)
        settings = replace(self.settings, clean_up=clean_up)
        picture = PreparedPicture(rgb, channels, encoded, self.scales)
        picture.refuse_unseen(settings)
        yield Report("Finding regions", 0.0)
        verdict = self.judged(picture, settings)
        yield Report("Comparing with what was learnt", 0.5)
        graph, weight = picture.graph(settings), settings.colour_likelihood
        appearance = Appearance(graph.bins, graph.patch_colours, self.likelihood, weight)
        task = PixelTask(
            picture,
            Marked.nothing((rgb.shape[0], rgb.shape[1]), picture.times),
            Document(self.classes),
            self.learnt_classes,
            (appearance,),
            settings,
        )
        laps = Laps()
        coarse = yield from task.coarse_answer(verdict, laps)
        labelling, _ = yield from task.full_size(coarse, verdict, laps)
        yield Answer(labelling)

    def judged(self, picture: PreparedPicture, settings: Settings) -> Verdict:
        """Judge the regions of another picture."""
        table, believed = _described(picture, settings, self.sight)
        features, shl = table.features, self.shl
        verdict = Verdict.judged(shl, shl.project(features), shl.predict(features))
        if believed is None:
            return verdict
        return replace(verdict, costs=verdict.costs + believed.costs())

    def apply(
        self,
        rgb: NDArray[np.uint8],
        channels: NDArray[Any] | None = None,
        encoded: EncodedPicture | None = None,
    ) -> Labelling:
        """Return the labelling of another picture."""
        return answer_of(self.updates(rgb, channels, encoded)).labelling


def _described(
    picture: PreparedPicture, settings: Settings, sight: LearntSight | None
) -> tuple[FeatureTable, EncoderBelief | None]:
    """Return a picture's features as the learner has them, and what the encoder says of them."""
    table = picture.table(settings)
    if sight is None:
        return table, None
    seen = sight.seen(picture, settings)
    return table.with_group(FeatureGroup.ENCODER, seen), sight.belief(seen)
