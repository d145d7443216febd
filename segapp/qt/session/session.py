"""The session: open images and the displayed result."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from segapp.app.segmenter import Segmenter
from segapp.app.state import Content, PictureState, Stage
from segapp.engine.loading import trainer_of
from segapp.io.deep_images import rerender
from segapp.model.document import Document, Patch, Stroke
from segapp.qt.canvas.layers import Layer, ZeroCopyImage
from segapp.qt.i18n import class_name
from segapp.qt.session.answer_service import AnswerService
from segapp.qt.session.encoder_service import EncoderService
from segapp.qt.session.jobs import Jobs, details_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from segapp.app.state import StoredResult
    from segapp.io.project import ProjectLocation
    from segapp.model.answer import AnswerSnapshot, MakeTrainer
    from segapp.model.display import DisplaySettings
    from segapp.model.document import Mark
    from segapp.model.picture import EncoderFeatures, Picture, Scale
    from segapp.model.settings import Settings


class PictureRenderer(QObject):
    """Renderer of the image with other display settings, the newest request first."""

    rendered = Signal(object, object)  # Picture, Layer
    previewed = Signal(object)  # Layer, while the user is still choosing
    failed = Signal(str, str)  # a sentence, and a traceback for reports

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._jobs = Jobs("showing", self)
        self._requested: tuple[Picture, DisplaySettings] | None = None
        self._is_preview = False

    def render(self, picture: Picture, display: DisplaySettings) -> None:
        """Render an image."""
        self._requested, self._is_preview = None, False
        self._run(picture, display)

    def preview(self, picture: Picture, display: DisplaySettings) -> None:
        """Render a preview; of many requests in a row the last one is rendered."""
        if not self._jobs.busy:
            self._is_preview = True
            self._run(picture, display)
        elif self._is_preview:  # the one under way is still worth seeing
            self._requested = picture, display

    def cancel(self) -> None:
        """Drop the requests."""
        self._requested = None
        self._jobs.cancel()

    def _run(self, picture: Picture, display: DisplaySettings) -> None:
        self._jobs.run(lambda: _rendered(picture, display), self._take, self._fail, self._go_on)

    def _take(self, rendered: tuple[Picture, Layer]) -> None:
        if self._is_preview:
            self.previewed.emit(rendered[1])
        else:
            self.rendered.emit(*rendered)

    def _go_on(self) -> None:
        requested, self._requested = self._requested, None
        if requested is not None:
            self.preview(*requested)

    def _fail(self, error: Exception) -> None:
        reason = str(error) or type(error).__name__
        self.failed.emit(
            self.tr("The image cannot be shown like this: {}").format(reason), details_of(error)
        )

    def close(self, timeout: float | None = None) -> bool:
        """Wait for the thread; return whether it has ended."""
        return self._jobs.close(timeout)


def _rendered(picture: Picture, display: DisplaySettings) -> Iterator[tuple[Picture, Layer]]:
    rendered = rerender(picture, display)
    yield rendered, Layer.over(ZeroCopyImage.of_picture(rendered.rgb))


class Session(QObject):
    """The open image with its segmenter, and the states of all images that were open.

    `answers` follows the strokes, and the window follows all of it.
    """

    picture_changed = Signal()
    display_changed = Signal()  # the same image, with other levels or channels
    document_changed = Signal()
    settings_changed = Signal()

    def __init__(
        self, make_trainer: MakeTrainer = trainer_of, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self.make_trainer = make_trainer
        self._states: dict[Path, PictureState] = {}
        self._segmenter: Segmenter | None = None
        self._held = False
        self.layer: Layer | None = None
        self.answers = AnswerService(self)
        self.encoder = EncoderService(self.answers, self)
        for signal in (self.picture_changed, self.display_changed, self.settings_changed):
            signal.connect(self._update_encoder)
        self.picture_renderer = PictureRenderer(self)
        self.picture_renderer.rendered.connect(self._take_rendered)

    # Pictures ---------------------------------------------------------------------------

    @property
    def picture(self) -> Picture | None:
        """The open image."""
        return self._segmenter.picture if self._segmenter else None

    @property
    def state(self) -> PictureState | None:
        """The open image's strokes and settings."""
        return self._segmenter.state if self._segmenter else None

    @property
    def document(self) -> Document:
        """The present strokes."""
        return self._segmenter.document if self._segmenter else Document()

    @property
    def settings(self) -> Settings:
        """The present settings."""
        return self._segmenter.settings if self._segmenter else Content().settings

    @property
    def encoder_features(self) -> EncoderFeatures | None:
        """The features that the encoder has computed of the open image."""
        return self._segmenter.encoder_features if self._segmenter else None

    def state_of(self, path: Path) -> PictureState | None:
        """Return the state of an image that was open before."""
        return self._states.get(path)

    def unsaved_states(self) -> list[PictureState]:
        """Return every image whose strokes are not in a project file."""
        return [state for state in self._states.values() if state.unsaved]

    def open(
        self,
        picture: Picture,
        layer: Layer,
        state: PictureState,
        snapshot: AnswerSnapshot | None = None,
        stored: StoredResult | None = None,
    ) -> None:
        """Show an image with its strokes; the state of the one before is kept.

        The ``snapshot`` of its project makes the first answer quick, and a ``stored`` result is
        shown at once.
        """
        self.layer = layer
        self._segmenter = Segmenter(
            picture, state, snapshot=snapshot, make_trainer=self.make_trainer
        )
        self.remember(state)
        self.answers.begin(self._segmenter, stored)
        self.picture_changed.emit()
        self.document_changed.emit()
        self.settings_changed.emit()
        self.picture_renderer.cancel()
        if picture.display == state.document.display:
            self.answers.catch_up()
        else:
            self._render(picture, state.document.display)

    def remember(self, state: PictureState) -> None:
        """Keep the state of an image that is not open."""
        self._states[state.path] = state

    def mark_saved(self, path: Path, content: Content, location: ProjectLocation) -> None:
        """Note that the strokes of an image are in a project."""
        state = self._states[path] = self._states[path].written(content, location)
        if self._segmenter is not None and self._segmenter.state.path == path:
            self._segmenter.state = state
        self.document_changed.emit()

    # Edits ------------------------------------------------------------------------------

    def hold(self, *, on: bool) -> None:
        """Take no edits while another image is read: they would be meant for that one."""
        self._held = on

    def _editable(self) -> Segmenter | None:
        """Return the segmenter to edit; tell the panels that nothing changes without one."""
        if self._held and self._segmenter is not None:
            self.document_changed.emit()
            self.settings_changed.emit()
            return None
        return self._segmenter

    def edit(self, name: str, document: Document) -> None:
        """Go on to ``document``; ``name`` is the edit that undo offers to take back."""
        if (segmenter := self._editable()) is not None:
            before = segmenter.state
            segmenter.edit(name, document)
            self._follow(segmenter, before)

    def add_stroke(self, stroke: Mark, document: Document | None = None) -> None:
        """Add a finished stroke; ``document`` is the one with it, if more has changed."""
        if stroke.label is None:
            name = self.tr("erasing")
        elif isinstance(stroke, Stroke):
            name = self.tr("stroke of {}").format(
                class_name(self.document.classes[stroke.label].name)
            )
        else:
            name = self.tr("pixels of {}").format(
                class_name(self.document.classes[stroke.label].name)
            )
        self.edit(name, document or self.document.with_stroke(stroke))

    def set_scale(self, scale: Scale) -> None:
        """Set the size of a pixel of the open image."""
        if self._segmenter is not None:
            self._segmenter.set_scale(scale)

    def clear(self) -> None:
        """Drop all strokes."""
        self.edit(self.tr("clearing"), self.document.without_marks())

    def learn_anew(self) -> None:
        """Let all strokes count as made at once, without the answers on the way to them."""
        self.edit(self.tr("relearning"), self.document.as_one_state())

    def undo(self) -> None:
        """Take the last edit back."""
        if (segmenter := self._editable()) is not None:
            before = segmenter.state
            segmenter.undo()
            self._follow(segmenter, before)

    def redo(self) -> None:
        """Make the edit again that was taken back."""
        if (segmenter := self._editable()) is not None:
            before = segmenter.state
            segmenter.redo()
            self._follow(segmenter, before)

    def update_now(self) -> None:
        """Learn from the present strokes, and read the picture if the encoder has not."""
        self.encoder.update()
        self.answers.update_now()

    def stop(self) -> None:
        """Stop reading and learning; the shown labelling stays."""
        self.encoder.stop()
        self.answers.stop()

    def set_settings(self, settings: Settings) -> None:
        """Train with other settings from now on."""
        if (segmenter := self._editable()) is not None:
            before = segmenter.state
            segmenter.set_settings(settings, self.tr("change of settings"))
            self._follow(segmenter, before)

    def _follow(self, segmenter: Segmenter, before: PictureState) -> None:
        """Bring window and answer along with an edit."""
        state = segmenter.state
        if state == before:
            return
        self.remember(state)
        if state.document != before.document:
            self.document_changed.emit()
        if state.settings != before.settings:
            self.settings_changed.emit()
        if state.document.display != before.document.display:
            self._render(segmenter.picture, state.document.display)
        elif state.content.training_inputs != before.content.training_inputs:
            self.answers.catch_up()

    # Display ----------------------------------------------------------------------------

    def _render(self, picture: Picture, display: DisplaySettings) -> None:
        """Render the image with its display settings, which are learnt from as well."""
        self.answers.suspend()
        self.picture_renderer.render(picture, display)

    def _take_rendered(self, picture: Picture, layer: Layer) -> None:
        if self._segmenter is None:
            return
        self.layer = layer
        self._segmenter = Segmenter(picture, self._segmenter.state, make_trainer=self.make_trainer)
        self.answers.begin(self._segmenter)
        self.display_changed.emit()
        self.answers.catch_up()

    def _update_encoder(self) -> None:
        if self._segmenter is not None:
            self.encoder.follow(self._segmenter)

    def close(self, timeout: float | None = None) -> bool:
        """Stop training and wait for the threads; return whether they have ended."""
        parts = (self.answers, self.picture_renderer, self.encoder)
        ended = [part.close(timeout) for part in parts]
        return all(ended)


# Milliseconds between two previews, in which the window paints the first one: while a thread
# computes, each of the window's calls into Qt waits for its turn at the interpreter.
_PAUSE = 30
# Of the radius: discs so near to each other look like the path between their neighbours.
_POINT_DISTANCE = 0.4


class LivePreview(QObject):
    """The previews of an unfinished stroke, one at a time.

    While one is computed the stroke grows; the next one shows its newest state. So the brush is
    never slowed down by previews that would be replaced at once.

    Parameters
    ----------
    stroke
        Returns the unfinished stroke as it is now, None when nothing is being painted.
    with_mark
        Returns the document with a mark.
    """

    def __init__(
        self,
        session: Session,
        stroke: Callable[[], Mark | None],
        with_mark: Callable[[Mark], Document],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._session, self._stroke, self._with_mark = session, stroke, with_mark
        self._previewed: Mark | None = None
        self._pause = QTimer(self, singleShot=True, interval=_PAUSE)
        self._pause.timeout.connect(self.update)
        session.answers.live_preview_ended.connect(self._pause.start)
        session.document_changed.connect(self._reset)

    def update(self) -> None:
        """Preview the unfinished stroke, unless a preview is under way or it is unchanged."""
        answers = self._session.answers
        busy = answers.is_previewing or self._pause.isActive()
        if not answers.live or busy or self._session.state is None:
            return
        mark = self._stroke()
        if mark is None or mark == self._previewed:
            return
        self._previewed = mark
        document = self._with_mark(thin_out(mark))
        answers.show_live_preview(Content(document, self._session.settings))

    def discard(self) -> None:
        """Withdraw the preview of a stroke that was dropped."""
        self._reset()
        if self._session.answers.progress.stage is Stage.FOLLOWING:
            self._session.answers.catch_up()

    def stop(self) -> None:
        """Preview no more: the window closes, perhaps in the middle of a stroke."""
        self._pause.stop()

    def _reset(self) -> None:
        self._previewed = None
        self._pause.stop()


def thin_out(mark: Mark) -> Mark:
    """Leave out points that hardly widen the path, as a preview may."""
    if isinstance(mark, Patch):
        return mark
    kept = [0]
    x, y = mark.points[0]
    for index, (to_x, to_y) in enumerate(mark.points):
        if math.hypot(to_x - x, to_y - y) >= mark.radius * _POINT_DISTANCE:
            kept.append(index)
            x, y = to_x, to_y
    if kept[-1] != len(mark.points) - 1:
        kept.append(len(mark.points) - 1)
    points = tuple(mark.points[index] for index in kept)
    pressures = tuple(mark.pressures[index] for index in kept) if mark.pressures else ()
    return replace(mark, points=points, pressures=pressures)
