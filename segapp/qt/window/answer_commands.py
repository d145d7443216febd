"""Commands about the answer: copy it, say where to scribble next, keep and apply models."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPointF, Signal

from segapp.files.strokes_file import load_strokes
from segapp.learning.loading import MODEL_SUFFIX, load_model, save_model, trainer_of
from segapp.learning.sight import let_see, sight_of
from segapp.qt.files import file_dialogs
from segapp.qt.files.default_folder import opening_folder
from segapp.qt.session.jobs import Jobs, details_of
from segapp.qt.window.copying import Copying
from segapp.values.document import Document
from segapp.values.start import Start

if TYPE_CHECKING:
    from collections.abc import Iterator

    from PySide6.QtWidgets import QWidget

    from segapp.learning.suggestion import Spot
    from segapp.qt.actions.actions import Actions
    from segapp.qt.canvas.canvas import Canvas
    from segapp.qt.files.files import Files
    from segapp.qt.files.preferences import Preferences
    from segapp.qt.session.picture_state import Content
    from segapp.qt.session.session import Session
    from segapp.qt.window.labelling_view import LabellingView, RenderedLabelling
    from segapp.values.document import ClassInfo
    from segapp.values.labelling import Labelling
    from segapp.values.picture import Picture


@dataclass(frozen=True, slots=True, eq=False)
class _Applied:
    """What a saved model says about a picture."""

    picture: Picture
    content: Content  # as it was when the model was asked
    name: str
    classes: tuple[ClassInfo, ...]
    labelling: Labelling


class AnswerCommands(QObject):
    """What a user does with an answer besides exporting it."""

    said = Signal(str)  # a sentence for the status bar

    def __init__(
        self,
        session: Session,
        files: Files,
        preferences: Preferences,
        view: LabellingView,
        canvas: Canvas,
        window: QWidget,
    ) -> None:
        super().__init__(window)
        self._session, self._files = session, files
        self._canvas, self._window = canvas, window
        self._copying = Copying(session, preferences, self)
        self._copying.said.connect(self.said)
        self._spot: Spot | None = None
        self._marking = True
        self.ring_known = False  # whether the user has been told what the ring is
        self._jobs = Jobs("models", self)
        self._jobs.arrived.connect(self._take_result)
        self._jobs.failed.connect(self._fail)
        view.rendered.connect(self._take_spot)
        canvas.stroke_finished.connect(self._note_ring)

    def connect_actions(self, actions: Actions) -> None:
        """Let the menu's commands arrive here."""
        self._copying.connect_actions(actions)
        actions["spot"].triggered.connect(self._go_to_spot)
        actions["mark_spot"].toggled.connect(self._set_marking)
        actions["import_strokes"].triggered.connect(self._import_strokes)
        actions["save_model"].triggered.connect(self._save_model)
        actions["apply_model"].triggered.connect(self._apply_model)

    def _fail(self, ticket: int, error: Exception) -> None:
        del ticket
        sentence = str(error) or type(error).__name__
        file_dialogs.complain(self._window, sentence, details_of(error))

    # Where to scribble next ---------------------------------------------------------------

    def _take_spot(self, rendered: RenderedLabelling | None) -> None:
        self._spot = rendered.spot if rendered is not None else None
        self._show_spot()

    def _show_spot(self) -> None:
        name = "" if self.ring_known else self.tr("Least certain here: a stroke helps most")
        self._canvas.set_spot(self._spot if self._marking else None, name)

    def _note_ring(self) -> None:
        """Name the ring no longer once somebody has painted beside it."""
        if self._spot is not None and self._marking and not self.ring_known:
            self.ring_known = True
            self._show_spot()

    def _set_marking(self, on: bool) -> None:  # noqa: FBT001 - a Qt slot
        self._marking = on
        self._show_spot()

    def _go_to_spot(self) -> None:
        if self._spot is None:
            self.said.emit(self.tr("The answer is certain everywhere"))
            return
        self._canvas.viewport.centre_on(QPointF(self._spot.x, self._spot.y))
        self._canvas.set_spot(self._spot)
        self.said.emit(self.tr("Least certain here: a stroke helps most"))

    # Strokes from elsewhere ---------------------------------------------------------------

    def _import_strokes(self) -> None:
        state, picture = self._session.state, self._session.picture
        if state is None or picture is None:
            return
        title = self.tr("Import strokes")
        path = file_dialogs.ask_image(self._window, title, opening_folder(state.path))
        if path is None:
            return
        try:
            document = load_strokes(Path(path), picture.size).document
        except ValueError as error:
            file_dialogs.complain(self._window, str(error))
            return
        self._session.edit(self.tr("importing {}").format(path.name), document)

    # Models -------------------------------------------------------------------------------

    def _save_model(self) -> None:
        state, picture = self._session.state, self._session.picture
        if state is None or picture is None:
            return
        proposed = self._files.default_project(state).with_suffix(MODEL_SUFFIX)
        path = file_dialogs.ask_model(self._window, proposed, MODEL_SUFFIX, save=True)
        if path is None:
            return
        content = state.content

        def work() -> Iterator[object]:
            learner = trainer_of(picture.rgb, picture.channels)
            let_see(learner, picture.rgb, content.settings)
            save_model(learner.learnt_model(content.document, content.settings), path)
            yield path

        self._jobs.start(work)
        self.said.emit(self.tr("Learning the model …"))

    def _apply_model(self) -> None:
        state, picture = self._session.state, self._session.picture
        if state is None or picture is None:
            return
        folder = opening_folder(state.path)
        path = file_dialogs.ask_model(self._window, folder, MODEL_SUFFIX, save=False)
        if path is None:
            return

        content = state.content

        def work() -> Iterator[object]:
            model = load_model(path)
            with sight_of(model.settings) as sight:
                labelling = model.apply(picture.rgb, picture.channels, sight(picture.rgb))
            yield _Applied(picture, content, path.stem, model.classes, labelling)

        self._jobs.start(work)
        self.said.emit(self.tr("Applying {} …").format(path.name))

    def _take_result(self, ticket: int, result: Path | _Applied) -> None:
        del ticket
        if isinstance(result, Path):
            self.said.emit(self.tr("Saved {}").format(result.name))
        elif result.picture is self._session.picture:
            self._show_applied(result)

    def _show_applied(self, applied: _Applied) -> None:
        document, state = self._session.document, self._session.state
        if state is None or state.content.lesson != applied.content.lesson:
            self.said.emit(
                self.tr("{} was not applied: there are other strokes since").format(applied.name)
            )
            return
        name = self.tr("applying {}").format(applied.name)
        start = Start.of(applied.labelling, applied.name)
        if not document.strokes:
            begun = Document(applied.classes, start=start, showing=document.showing)
            self._session.edit(name, begun)
        elif len(document.classes) == len(applied.classes):
            self._session.edit(name, replace(document, start=start))
        else:
            file_dialogs.complain(
                self._window,
                self.tr("{} knows {} classes, and this picture's strokes {}.").format(
                    applied.name, len(applied.classes), len(document.classes)
                ),
            )
            return
        self.said.emit(self.tr("This is the answer of {}").format(applied.name))

    def close(self, timeout: float | None = None) -> bool:
        """Wait for the threads; say whether they have ended."""
        ended = [part.close(timeout) for part in (self._jobs, self._copying)]
        return all(ended)
