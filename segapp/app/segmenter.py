"""Segmentation of one image from strokes, for window, commands and scripts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from segapp.app.inputs import load_inputs, picture_of, save_picture
from segapp.app.result import Result, SegmentationModel
from segapp.app.state import Content, History, PictureState
from segapp.engine.loading import open_encoder
from segapp.model.answer import (
    DEFAULT_PROPOSAL,
    PROPOSAL_SIZES,
    Answer,
    NotEnoughStrokes,
    Preview,
    Report,
)
from segapp.model.document import Patch, Stroke
from segapp.model.settings import (
    DEFAULT_PRESET,
    PRESETS,
    Settings,
    SettingsChoice,
    wants_encoder,
    with_encoder,
)
from segapp.model.validation import SegappError, short_repr
from shlcore.parallel import limit_threads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from numpy.typing import ArrayLike, NDArray

    from segapp.app.inputs import ImageInput, StrokesInput
    from segapp.app.state import StoredResult, TrainingInputs
    from segapp.engine.trainer import Trainer
    from segapp.model.answer import (
        AnswerSnapshot,
        ImageTrainer,
        MakeTrainer,
        ObjectProposal,
        StoredLabels,
    )
    from segapp.model.document import Document, Mark
    from segapp.model.picture import EncoderFeatures, Picture, Scale


@dataclass(frozen=True, slots=True, eq=False)
class ProvisionalAnswer:
    """An answer without the encoder, which has not read the image yet."""

    preview: Preview


if TYPE_CHECKING:
    TrainingItem = Report | Answer | ProvisionalAnswer | NotEnoughStrokes


def segment(
    image: ImageInput,
    strokes: StrokesInput,
    *,
    preset: str | None = None,
    encoder: str | None = None,
    classes: Sequence[str] | None = None,
    settings: Settings | SettingsChoice | None = None,
) -> Result:
    """Segment an image from strokes.

    Parameters
    ----------
    image
        The path of a file, an array of ``H x W`` or ``H x W x channels`` of any number type, or
        a picture: see `segapp.app.inputs.picture_of`.
    strokes
        An array of labels, ``H x W``: 0 for unmarked pixels, else the class counted from 1, of
        which the first is the foreground and the second the background. Or a `Document`, whose
        strokes count in their order, or the path of a project or of a PNG of labels.
    preset
        ``best``, ``alike`` (everything that looks like the strokes) or ``paper``; ``None`` takes
        the settings of the project, or the best.
    encoder
        The name of an installed vision network that takes part, an empty text for none, and
        ``None`` for the one of the settings: see ``segapp encoder list``.
    classes
        Names for an array of labels, instead of foreground, background, class 3 and so on.
    settings
        Settings in full, instead of ``preset`` and ``encoder``.

    Returns
    -------
    Result
        The same pixels as in the window and by ``segapp segment``.

    Raises
    ------
    SegappError
        When an argument is wrong, or two classes are not marked (`NotEnoughStrokes`).

    Examples
    --------
    >>> import numpy as np
    >>> import segapp
    >>> image = np.zeros((8, 8), np.uint8)
    >>> image[:, 4:] = 255  # black and white halves
    >>> strokes = np.zeros((8, 8), np.uint8)
    >>> strokes[4, 1], strokes[4, 6] = 1, 2  # a dot on each
    >>> result = segapp.segment(image, strokes)
    >>> result.shares
    {'foreground': 0.5, 'background': 0.5}
    >>> result.mask[0]
    array([ True,  True,  True,  True, False, False, False, False])
    >>> result.codewords.shape  # classes x codewords x bits
    (2, 1, 5)
    """
    return Segmenter(
        image, strokes, preset=preset, encoder=encoder, classes=classes, settings=settings
    ).result


class Segmenter:
    """An image with its strokes and settings, their history, and its answers.

    Strokes count in their order: each answer takes the one before it into account, and
    reuses its computations.

    Parameters
    ----------
    image, strokes, preset, encoder, classes, settings
        As for `segment`; without strokes they are added by `add_stroke`. ``strokes`` may also
        be a `PictureState`, which brings a history and settings of its own.
    snapshot
        The answer before the newest stroke, if a project has stored it: the first answer is
        quick then. A project that is given as ``strokes`` brings its own.
    make_trainer
        Called once, with the pixels and channels, when the first answer is wanted.

    Examples
    --------
    >>> import numpy as np
    >>> import segapp
    >>> image = np.zeros((8, 8, 3), np.uint8)
    >>> image[:, 4:] = 255
    >>> segmenter = segapp.Segmenter(image)
    >>> segmenter.add_stroke([(1.5, 4.5)], "foreground", radius=1)
    >>> segmenter.add_stroke([(6.5, 2.0), (6.5, 4.5)], "background", radius=1)
    >>> segmenter.result.labels[0]
    array([0, 0, 0, 0, 1, 1, 1, 1], dtype=uint8)
    >>> segmenter.undo()
    >>> len(segmenter.document.strokes)
    1
    """

    def __init__(
        self,
        image: ImageInput,
        strokes: StrokesInput | PictureState | None = None,
        *,
        preset: str | None = None,
        encoder: str | None = None,
        classes: Sequence[str] | None = None,
        settings: Settings | SettingsChoice | None = None,
        snapshot: AnswerSnapshot | None = None,
        make_trainer: MakeTrainer | None = None,
    ) -> None:
        self._stored: StoredLabels | None = None
        if isinstance(strokes, PictureState):
            self._picture, self.state = picture_of(image), strokes
        else:
            self._picture, read = load_inputs(image, strokes, classes)
            snapshot, self._stored = snapshot or read.answer, read.labels
            chosen = _chosen_settings(read.settings, preset, encoder, settings)
            history = History(Content(read.document, chosen))
            self.state = PictureState(self._picture.path, self._picture.sha256, history)
        self._make_trainer = make_trainer or _new_trainer
        self._trainer: ImageTrainer | None = None
        self._features: EncoderFeatures | None = None
        self._snapshot = snapshot
        self._answered: tuple[TrainingInputs, Answer] | None = None

    # Content ----------------------------------------------------------------------------

    @property
    def picture(self) -> Picture:
        """The image."""
        return self._picture

    @property
    def content(self) -> Content:
        """The present document and settings."""
        return self.state.content

    @property
    def document(self) -> Document:
        """The classes and strokes as they are now."""
        return self.state.document

    @property
    def settings(self) -> Settings:
        """The settings as they are now."""
        return self.state.settings

    def add_stroke(
        self,
        points: ArrayLike,
        label: str | int | None = "foreground",
        radius: float = 8.0,
        pressures: Sequence[float] = (),
    ) -> None:
        """Paint with a round brush.

        Parameters
        ----------
        points
            ``(x, y)`` in pixels, where the centre of the top left pixel is ``(0.5, 0.5)``; one
            point alone is a dot.
        label
            Name or index of the class; ``None`` erases.
        radius
            Of the brush, in pixels.
        pressures
            A factor of the radius for each point, from a pen.
        """
        places = np.asarray(points, np.float64)
        if places.ndim != 2 or places.shape[1] != 2:
            raise SegappError(f"points: wanted pairs of x and y, got shape {places.shape}")
        path = tuple((float(x), float(y)) for x, y in places)
        self.add_mark(Stroke(path, float(radius), self._index(label), tuple(pressures)))

    def add_mask(self, mask: ArrayLike, label: str | int | None = "foreground") -> None:
        """Mark all pixels where a mask of the image's size is true, as one stroke."""
        inside = np.asarray(mask)
        if inside.shape != self._picture.size or inside.dtype != np.bool_:
            height, width = self._picture.size
            raise SegappError(
                f"mask: wanted {height} x {width} of bool, got {inside.dtype} of {inside.shape}"
            )
        if not inside.any():
            raise SegappError("mask: wanted at least one pixel, got none")
        self.add_mark(Patch.of_mask(inside, self._index(label)))

    def add_mark(self, mark: Mark) -> None:
        """Add a stroke or a patch of pixels."""
        self.edit("stroke", self.document.with_stroke(mark))

    def edit(self, name: str, document: Document) -> None:
        """Go on to another document; undo takes this edit back."""
        self.state = self.state.edit(name, document)

    def set_settings(self, settings: Settings | str, name: str = "settings") -> None:
        """Go on to other settings, or to those of a preset; undo takes this edit back."""
        if isinstance(settings, str):
            settings = _preset(settings)
        self.state = self.state.with_settings(name, settings)

    def set_scale(self, scale: Scale) -> None:
        """Set the size of a pixel, for measures and label images."""
        self._picture = replace(self._picture, scale=scale)

    def undo(self) -> None:
        """Take the last edit back, if there is one."""
        self.state = self.state.undo()

    def redo(self) -> None:
        """Make the edit again that was taken back last, if there is one."""
        self.state = self.state.redo()

    def _index(self, label: str | int | None) -> int | None:
        names = [info.name for info in self.document.classes]
        if isinstance(label, str):
            if label not in names:
                raise SegappError(
                    f"label: wanted one of {', '.join(names)}, got {short_repr(label)}"
                )
            return names.index(label)
        if label is not None and not 0 <= label < len(names):
            raise SegappError(
                f"label: wanted a class from 0 to {len(names) - 1}, got {short_repr(label)}"
            )
        return label

    # Answers ----------------------------------------------------------------------------

    @property
    def result(self) -> Result:
        """The segmentation for the present strokes and settings."""
        return Result(self._picture, self.document, self.answer())

    def stored_answer(self) -> Answer | None:
        """Return the stored answer, if it is that for the present content.

        Its labels are there at once. Margins and codes are learnt when they are asked for.
        """
        if self._stored is None:
            return None
        from segapp.app.state import valid_answer  # which loads what reads files

        picture, content, stored = self._picture, self.content, self._stored
        return valid_answer(picture, content, stored, self._snapshot, self._learnt_anew)

    def stored_result(self) -> StoredResult | None:
        """Return what the project has stored to be shown, valid or outdated."""
        from segapp.app.state import StoredResult, outdated_preview

        if self._stored is None:
            return None
        found = self.stored_answer() or outdated_preview(self._picture, self.content, self._stored)
        return None if found is None else StoredResult(self.content.training_inputs, found)

    def _learnt_anew(self) -> Answer:
        """Learn the present answer by a trainer of its own."""
        again = Segmenter(
            self._picture, self.state, snapshot=self._snapshot, make_trainer=self._make_trainer
        )
        return again.answer()

    def answer(
        self, watch: Callable[[Report], object] | None = None, content: Content | None = None
    ) -> Answer:
        """Return the answer for the present content, or for another content of this image.

        ``watch`` is called with each report on the way. An encoder that the settings want reads
        the image first. Raises `NotEnoughStrokes` when two classes are not marked.
        """
        content = content or self.content
        inputs = content.training_inputs
        if self._answered is not None and self._answered[0] == inputs:
            return self._answered[1]
        self._match_display(content.document)
        self.read_features(content.settings)
        self._ready_trainer()  # libraries that are loaded within the limit would keep it
        with limit_threads(1):  # sums in another order would be other sums, and other pixels
            for item in self.updates(content):
                if isinstance(item, Answer):
                    self._answered = inputs, item
                    return item
                if isinstance(item, NotEnoughStrokes):
                    raise item
                if watch is not None and isinstance(item, Report):
                    watch(item)
        raise RuntimeError("the trainer ended without an answer")

    def updates(self, content: Content | None = None) -> Iterator[TrainingItem]:
        """Return an iterator of reports that ends with the answer.

        Content and encoder features are those at the time of the call: the iterator may run in
        another thread, which is then the only one to do so. Where two classes are not marked it
        yields `NotEnoughStrokes`, and prepares for the next stroke. Where the encoder of the
        settings has not read the image, it yields a `ProvisionalAnswer`.
        """
        return self._updates(content or self.content, self._features)

    def _updates(
        self, content: Content, features: EncoderFeatures | None
    ) -> Iterator[TrainingItem]:
        trainer = self._ready_trainer()
        settings = _usable_settings(trainer, content.settings, features)
        try:
            for update in trainer.updates(content.document, settings):
                if isinstance(update, Answer) and settings != content.settings:
                    yield ProvisionalAnswer(Preview(update.labelling))
                else:
                    yield update
        except NotEnoughStrokes as reason:
            yield reason
            trainer.prepare(settings)

    def live_preview(self, content: Content) -> Iterator[Report]:
        """Return an iterator of reports, the last of which may have a preview.

        It is for a stroke that is being painted, and changes no later answer. The remarks on
        threads of `updates` hold.
        """
        return self._live_preview(content, self._features)

    def _live_preview(
        self, content: Content, features: EncoderFeatures | None
    ) -> Iterator[Report]:
        trainer = self._ready_trainer()
        settings = _usable_settings(trainer, content.settings, features)
        try:
            yield from trainer.live_preview(content.document, settings)
        except NotEnoughStrokes:
            return

    def propose_object(
        self, x: float, y: float, size: int = DEFAULT_PROPOSAL
    ) -> NDArray[np.bool_] | None:
        """Return the mask of the object at a point, as the image alone suggests it.

        No stroke counts, and nothing is changed: `add_mask` takes it.

        Parameters
        ----------
        x, y
            In pixels; the result is ``None`` outside the image.
        size
            From 0 for a part of an object to ``len(PROPOSAL_SIZES) - 1``.
        """
        if not 0 <= size < len(PROPOSAL_SIZES):
            raise SegappError(f"size: wanted 0 to {len(PROPOSAL_SIZES) - 1}, got {size}")
        self.read_features(self.settings)
        self._ready_trainer()
        with limit_threads(1):
            for proposal in self.proposals(x, y, size):
                return self.full_size_proposal(proposal)
        return None

    def proposals(self, x: float, y: float, size: int) -> Iterator[ObjectProposal]:
        """Yield the object at a point, if there is one; in the thread that learns."""
        trainer = self._ready_trainer()
        settings = _usable_settings(trainer, self.settings, self._features)
        proposal = trainer.propose_object(x, y, settings, size)
        if proposal is not None:
            yield proposal

    def full_size_proposal(self, proposal: ObjectProposal) -> NDArray[np.bool_]:
        """Return a proposal's mask at the image's size; in the thread that learns."""
        trainer = self._ready_trainer()
        settings = _usable_settings(trainer, self.settings, self._features)
        return trainer.upsampled_proposal(proposal, settings)

    def preparation(self) -> Iterator[None]:
        """Return an iterator that computes what depends on image and settings alone.

        The remarks on threads of `updates` hold.
        """
        return self._preparation(self.settings, self._features)

    def _preparation(self, settings: Settings, features: EncoderFeatures | None) -> Iterator[None]:
        trainer = self._ready_trainer()
        yield
        trainer.prepare(_usable_settings(trainer, settings, features))

    def prepare(self) -> None:
        """Compute now everything that depends on the image and the settings alone."""
        self.read_features(self.settings)
        trainer = self._ready_trainer()
        with limit_threads(1):
            trainer.prepare(_usable_settings(trainer, self.settings, self._features))

    def _ready_trainer(self) -> ImageTrainer:
        if self._trainer is None:
            trainer = self._make_trainer(self._picture.rgb, self._picture.channels)
            if self._snapshot is not None:
                trainer.recall(self._snapshot)
            self._trainer = trainer
        return self._trainer

    def _match_display(self, document: Document) -> None:
        """Render the image with the display settings of a document."""
        if document.display != self._picture.display:
            from segapp.io.deep_images import rerender

            self._picture = rerender(self._picture, document.display)
            self._trainer = self._features = self._snapshot = None

    # Encoder ----------------------------------------------------------------------------

    @property
    def encoder_features(self) -> EncoderFeatures | None:
        """The features that an encoder has computed of the image, if there are any."""
        return self._features

    def attach_features(self, features: EncoderFeatures | None) -> None:
        """Use an encoder's features from now on, or with ``None`` no more."""
        self._features = features

    def read_features(self, settings: Settings) -> None:
        """Read the image by the encoder of these settings, unless that is done."""
        known = self._features is not None and self._features.encoder == settings.encoder
        if wants_encoder(settings) and not known:
            with open_encoder(settings) as encode:
                self._features = encode(self._picture.rgb)

    # Files and models -------------------------------------------------------------------

    def model(self) -> SegmentationModel:
        """Learn a model from the present strokes that can be applied to other images."""
        from segapp.engine.trainer import Trainer

        self._match_display(self.document)
        self.read_features(self.settings)
        trainer = self._ready_trainer()
        if not isinstance(trainer, Trainer):
            raise TypeError(f"wanted the engine's trainer, got {type(trainer).__name__}")
        _usable_settings(trainer, self.settings, self._features)
        with limit_threads(1):
            return SegmentationModel(trainer.learnt_model(self.document, self.settings))

    def save(self, path: str | Path) -> None:
        """Write strokes and settings to a project, which window and commands open.

        A project names its image by a file: an image that came as an array is written beside
        it, as a PNG, or as a TIFF where it is no 8-bit colour image.
        """
        from segapp.app.state import project_of
        from segapp.io.project import PROJECT_SUFFIX, save_project

        path = Path(path)
        if path.suffix.lower() != PROJECT_SUFFIX:
            raise SegappError(f"{path}: wanted a name that ends in {PROJECT_SUFFIX}")
        if not self._picture.sha256:
            picture = self._picture = save_picture(self._picture, path)
            self.state = replace(self.state, path=picture.path, sha256=picture.sha256)
        picture, content = self._picture, self.content
        answered = self._answered
        is_current = answered is not None and answered[0] == content.training_inputs
        current = answered[1] if answered is not None and is_current else None
        save_project(path, project_of(picture.path, picture.sha256, content, current))


def _new_trainer(rgb: NDArray[np.uint8], channels: NDArray[Any] | None) -> Trainer:
    from segapp.engine.trainer import Trainer  # which loads scikit-learn and SciPy

    return Trainer(rgb, channels)


def _usable_settings(
    trainer: ImageTrainer, settings: Settings, features: EncoderFeatures | None
) -> Settings:
    """Hand the features to the trainer, or return settings without the encoder."""
    if not wants_encoder(settings):
        return settings
    if features is None or features.encoder != settings.encoder:
        return with_encoder(settings, "")
    trainer.set_encoder_features(features)
    return settings


def _chosen_settings(
    own: Settings | None,
    preset: str | None,
    encoder: str | None,
    settings: Settings | SettingsChoice | None,
) -> Settings:
    """Return the chosen settings; ``own`` are those of the project."""
    if isinstance(settings, SettingsChoice):
        return settings.settings(own)
    if settings is None:
        settings = own if preset is None and own is not None else _preset(preset or DEFAULT_PRESET)
    if encoder is None:
        return settings
    if not encoder:
        return with_encoder(settings, "")
    from segapp.encoders.feature_cache import resolve_encoder

    return with_encoder(settings, resolve_encoder(encoder).identity)


def _preset(name: str) -> Settings:
    if name not in PRESETS:
        raise SegappError(f"preset: wanted one of {', '.join(PRESETS)}, got {short_repr(name)}")
    return PRESETS[name]
