"""The session: open images and the displayed result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from segapp.app.state import Content, PictureState
from segapp.engine.loading import trainer_of
from segapp.io.deep_images import rerender
from segapp.model.document import Document, Stroke
from segapp.qt.canvas.layers import Layer, ZeroCopyImage
from segapp.qt.i18n import class_name
from segapp.qt.session.answers import Answers
from segapp.qt.session.encoder_service import Seeing
from segapp.qt.session.jobs import Jobs, details_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from segapp.io.project import ProjectLocation
    from segapp.model.answer import AnswerSnapshot, MakeSegmenter
    from segapp.model.display import DisplaySettings
    from segapp.model.document import Mark
    from segapp.model.picture import Picture
    from segapp.model.settings import Settings


class Rendering(QObject):
    """Makes one picture at a time; a newer wish replaces the older one."""

    arrived = Signal(object, object)  # Picture, Layer
    looked = Signal(object)  # Layer, for a look while somebody still chooses
    failed = Signal(str, str)  # a sentence, and details for who wants to report them

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._jobs = Jobs("showing", self)
        self._wish: tuple[Picture, DisplaySettings] | None = None
        self._is_look = False

    def start(self, picture: Picture, display: DisplaySettings) -> None:
        """Show a picture in another way."""
        self._wish, self._is_look = None, False
        self._run(picture, display)

    def look(self, picture: Picture, display: DisplaySettings) -> None:
        """Make a look at a picture; of many wishes in a row, the last one is sure to come."""
        if not self._jobs.busy:
            self._is_look = True
            self._run(picture, display)
        elif self._is_look:  # what is under way is still worth seeing
            self._wish = picture, display

    def cancel(self) -> None:
        """Forget what is being made."""
        self._wish = None
        self._jobs.cancel()

    def _run(self, picture: Picture, display: DisplaySettings) -> None:
        self._jobs.run(lambda: _rendered(picture, display), self._take, self._fail, self._go_on)

    def _take(self, made: tuple[Picture, Layer]) -> None:
        if self._is_look:
            self.looked.emit(made[1])
        else:
            self.arrived.emit(*made)

    def _go_on(self) -> None:
        wish, self._wish = self._wish, None
        if wish is not None:
            self.look(*wish)

    def _fail(self, error: Exception) -> None:
        told = self.tr("The picture cannot be shown so: {}").format(
            str(error) or type(error).__name__
        )
        self.failed.emit(told, details_of(error))

    def close(self, timeout: float | None = None) -> bool:
        """Wait for the thread; say whether it has ended."""
        return self._jobs.close(timeout)


def _rendered(picture: Picture, display: DisplaySettings) -> Iterator[tuple[Picture, Layer]]:
    made = rerender(picture, display)
    yield made, Layer.over(ZeroCopyImage.of_picture(made.rgb))


class Session(QObject):
    """Holds pictures, strokes and settings; `answers` follows them, and the window all of it."""

    picture_changed = Signal()
    shown_anew = Signal()  # the same picture, in another way
    document_changed = Signal()
    settings_changed = Signal()

    def __init__(
        self,
        make_segmenter: MakeSegmenter = trainer_of,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._states: dict[Path, PictureState] = {}
        self._state: PictureState | None = None
        self.picture: Picture | None = None
        self.layer: Layer | None = None
        self.answers = Answers(make_segmenter, self._content, self)
        self.rendering = Rendering(self)
        self.seeing = Seeing(self)
        self.rendering.arrived.connect(lambda *made: _take_shown(self, *made))

    # Pictures ---------------------------------------------------------------------------

    @property
    def state(self) -> PictureState | None:
        """The open picture's strokes and settings."""
        return self._state

    @property
    def document(self) -> Document:
        """The strokes as they are now."""
        return self._state.document if self._state else Document()

    @property
    def settings(self) -> Settings:
        """The settings as they are now."""
        return self._state.settings if self._state else Content().settings

    def _content(self) -> Content | None:
        return self._state.content if self._state else None

    def state_of(self, path: Path) -> PictureState | None:
        """Return what is known of a picture that was open before."""
        return self._states.get(path)

    def unsaved_states(self) -> list[PictureState]:
        """Return every picture whose strokes are not in a project file."""
        return [state for state in self._states.values() if state.unsaved]

    def open(
        self,
        picture: Picture,
        layer: Layer,
        state: PictureState,
        carried: AnswerSnapshot | None = None,
    ) -> None:
        """Show a picture with its strokes; the one that was open is remembered.

        What its project has ``carried`` makes the first answer quick.
        """
        self.picture, self.layer = picture, layer
        self._set_state(state)
        self.answers.begin(picture, carried)
        self.picture_changed.emit()
        self.document_changed.emit()
        self.settings_changed.emit()
        self.rendering.cancel()
        if picture.display == state.content.document.display:
            self.answers.catch_up()
        else:
            _show_anew(self)

    def remember(self, state: PictureState) -> None:
        """Know the strokes of a picture that is not open."""
        self._states[state.path] = state

    def _set_state(self, state: PictureState) -> None:
        self._state = state
        self.remember(state)

    def mark_saved(self, path: Path, content: Content, location: ProjectLocation) -> None:
        """Note that the strokes of a picture are in a project."""
        state = self._states[path].written(content, location)
        self._states[path] = state
        if self._state is not None and self._state.path == path:
            self._state = state
        self.document_changed.emit()

    # Edits ------------------------------------------------------------------------------

    def edit(self, name: str, document: Document) -> None:
        """Make ``document`` the present one; ``name`` is what undo will offer to take back."""
        if self._state is not None:
            self._move_to(self._state.edit(name, document))

    def add_stroke(self, stroke: Mark) -> None:
        """Add a finished stroke."""
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
        self.edit(name, self.document.with_stroke(stroke))

    def clear(self) -> None:
        """Drop all strokes."""
        self.edit(self.tr("clearing"), self.document.without_marks())

    def learn_anew(self) -> None:
        """Let all strokes count as made at once, without the answers on the way to them."""
        self.edit(self.tr("learning anew"), self.document.as_one_state())

    def undo(self) -> None:
        """Take the last edit back."""
        if self._state is not None:
            self._move_to(self._state.undo())

    def redo(self) -> None:
        """Make the edit that was taken back once more."""
        if self._state is not None:
            self._move_to(self._state.redo())

    def update_now(self) -> None:
        """Learn from the present strokes, and read the picture if the encoder has not."""
        self.seeing.look()
        self.answers.update_now()

    def stop(self) -> None:
        """Stop reading and learning; the shown labelling stays."""
        self.seeing.stop()
        self.answers.stop()

    def set_settings(self, settings: Settings) -> None:
        """Learn with other settings from now on."""
        if self._state is not None:
            self._move_to(self._state.with_settings(self.tr("change of settings"), settings))

    def _move_to(self, state: PictureState) -> None:
        before = self._state
        if before is None or state == before:
            return
        self._set_state(state)
        if state.document != before.document:
            self.document_changed.emit()
        if state.settings != before.settings:
            self.settings_changed.emit()
        if state.content.document.display != before.content.document.display:
            _show_anew(self)
        elif state.content.training_inputs != before.content.training_inputs:
            self.answers.catch_up()

    def close(self, timeout: float | None = None) -> bool:
        """Stop learning and wait for the threads; say whether they have ended."""
        ended = [part.close(timeout) for part in (self.answers, self.rendering, self.seeing)]
        return all(ended)


def _show_anew(session: Session) -> None:
    """Bring the picture to the way in which it is to be shown, and learn from it then."""
    session.answers.suspend()
    if session.picture is not None:
        session.rendering.start(session.picture, session.document.display)


def _take_shown(session: Session, picture: Picture, layer: Layer) -> None:
    session.picture, session.layer = picture, layer
    session.answers.begin(picture)
    session.shown_anew.emit()
    session.answers.catch_up()
