"""Commands on a folder of images."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QFileDialog

from segapp.app.folder_tasks import (
    AnnotatedImage,
    TaskStep,
    answered_document,
    apply_model,
    apply_to_all,
    share_classes,
)
from segapp.io.class_list import (
    ClassListError,
    apply_folder_classes,
    import_class_list,
    match_classes,
    used_labels,
)
from segapp.io.folder_files import ImageStatus
from segapp.model.classes import TWO_CLASSES
from segapp.model.settings import preset_of
from segapp.model.validation import sanitize, sentence
from segapp.qt.i18n import translate
from segapp.qt.panels.folder_export import FolderExportPanel, FolderTask
from segapp.qt.session.jobs import Jobs, unexpected
from segapp.qt.widgets import Banner
from segapp.qt.window.file_commands import SaveLocationPrompt
from segapp.qt.window.folder_review import FolderReview

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np
    from numpy.typing import NDArray
    from PySide6.QtWidgets import QWidget

    from segapp.app.folder_learning import FolderMemory
    from segapp.app.project_store import ProjectStore
    from segapp.app.state import Content
    from segapp.app.workspace import FolderWorkspace
    from segapp.engine.learnt_model import LearntModel
    from segapp.model.classes import ClassInfo
    from segapp.model.labelling import Labelling
    from segapp.model.picture import Picture
    from segapp.qt.actions import Actions
    from segapp.qt.canvas.canvas import Canvas
    from segapp.qt.files.autosave import Autosave
    from segapp.qt.files.files import Files
    from segapp.qt.files.preferences import Preferences
    from segapp.qt.panels.class_panel import ClassNotice, ClassPanel
    from segapp.qt.panels.file_list import FileList
    from segapp.qt.session.session import Session


class FolderCommands(QObject):
    """The commands on progress and classes of the folder, which follows the session."""

    message = Signal(str)  # a sentence for the status bar

    def __init__(
        self,
        session: Session,
        files: Files,
        store: ProjectStore,
        autosave: Autosave,
        offer: ClassNotice,
        window: QWidget,
    ) -> None:
        super().__init__(window)
        self._session, self._files, self._folder = session, files, files.folder
        self._store, self._autosave = store, autosave
        self._class_offer, self._window = offer, window
        self._n_changed = self._n_unchanged = 0
        self._answered: dict[Path, Content] = {}  # that is to be saved
        self._jobs = Jobs("classes", self)
        session.document_changed.connect(self._follow)
        session.answers.answer_changed.connect(self._follow)
        files.folder_changed.connect(self._show_classes)
        files.folder_changed.connect(self._note_unsaved)
        self._folder.classes_changed.connect(self._show_classes)

    @property
    def _workspace(self) -> FolderWorkspace:
        return self._folder.workspace

    def connect_actions(self, actions: Actions) -> None:
        """Let the menu's commands arrive here."""
        self._actions = actions
        actions["done"].triggered.connect(self._set_done)
        actions["next_undone"].triggered.connect(self._go_on)
        actions["share_classes"].triggered.connect(self.share_classes)
        actions["take_classes"].triggered.connect(self._take_classes)
        actions["import_classes"].triggered.connect(self._import_classes)
        self._folder.status_changed.connect(lambda _: self._show_done())
        self._session.picture_changed.connect(self._show_done)

    # Progress ---------------------------------------------------------------------------------

    def _follow(self) -> None:
        """Pass the open picture to the folder, and results once they are saved."""
        state = self._session.state
        if state is None:
            return
        document = state.content.document
        marked = bool(document.strokes or document.retouches or document.initial)
        self._folder.note_work(state.path, marked=marked, answered=False)
        if marked and self._session.answers.is_current:
            self._answered[state.path] = state.content
        for path, content in tuple(self._answered.items()):
            known = self._session.state_of(path)
            if known is None or known.content != content:
                del self._answered[path]
            elif known.saved == content:
                del self._answered[path]
                self._folder.note_work(path, marked=True, answered=True)
        self._show_classes()

    def _note_unsaved(self) -> None:
        """Mark the images whose strokes are in this window alone, as after a crash."""
        for state in self._session.unsaved_states():
            self._folder.note_work(state.path, marked=True, answered=False)

    def _set_done(self, done: bool) -> None:  # noqa: FBT001 - a Qt slot
        state = self._session.state
        if state is not None:
            self._folder.set_done(state.path, done=done)

    def _show_done(self) -> None:
        state = self._session.state
        done = state is not None and self._workspace.status(state.path) is ImageStatus.DONE
        self._actions["done"].setChecked(done)

    def _go_on(self) -> None:
        place = self._files.index_in_folder()
        following = self._workspace.next_undone(
            None if place is None else self._workspace.images[place]
        )
        if following is None:
            self.message.emit(self.tr("All images are done"))
        else:
            self._files.open(following)

    # Classes ----------------------------------------------------------------------------------

    def _folder_classes(self) -> tuple[ClassInfo, ...]:
        listing = self._workspace.classes
        return listing.classes if listing is not None else TWO_CLASSES

    def _show_classes(self) -> None:
        state = self._session.state
        within = state is not None and self._workspace.index(state.path) is not None
        differs = within and self._session.document.classes != self._folder_classes()
        self._class_offer.show_state(differs=differs, listed=self._workspace.classes is not None)

    def share_classes(self) -> None:
        """Give all pictures this one's classes, except those with marks of other classes."""
        before, after = self._folder_classes(), self._session.document.classes
        self._folder.share_classes(after, lambda: self._follow_classes(before, after))

    def _follow_classes(self, before: tuple[ClassInfo, ...], after: tuple[ClassInfo, ...]) -> None:
        if before == after:
            return
        elsewhere = []
        self._n_changed = self._n_unchanged = 0
        for path in self._workspace.images:
            state = self._session.state_of(path)
            if state is None or not (state.unsaved or state.saved is not None):
                elsewhere.append(path)
            elif self._session.state is None or path != self._session.state.path:
                document = apply_folder_classes(state.content.document, before, after)
                if document is not None:
                    self._session.remember(state.edit(self.tr("the folder's classes"), document))
                self._count(changed=document is not None)
        self._autosave.write_soon()
        status = self._workspace.status
        marked = [path for path in elsewhere if status(path) is not ImageStatus.UNTOUCHED]
        self._jobs.run(
            lambda: share_classes(marked, self._store, before, after),
            lambda step: self._count(changed=step.changed),
            unexpected,  # a project that cannot be read or written is a step without change
            self._say_shared,
        )

    def _count(self, *, changed: bool) -> None:
        self._n_changed += changed
        self._n_unchanged += not changed

    def _say_shared(self) -> None:
        text = self.tr("The folder now has these classes")
        if self._n_changed:
            text += self.tr("; images that follow: {}").format(self._n_changed)
        if self._n_unchanged:
            text += self.tr("; {} keep their own").format(self._n_unchanged)
        self.message.emit(text)

    def _take_classes(self) -> None:
        """Give the open picture the folder's classes, if it has no marks of others."""
        if self._workspace.classes is not None:
            self._use(self._workspace.classes.classes)

    def _use(self, classes: tuple[ClassInfo, ...]) -> None:
        document = self._session.document
        indices = match_classes(document.classes, classes)
        used = sorted(used_labels(document))
        lost = [document.classes[label].name for label in used if indices[label] is None]
        if lost:
            self.message.emit(
                self.tr("There are marks of {}, which the list does not have").format(
                    ", ".join(sanitize(name) for name in lost)
                )
            )
            return
        moved = document.with_classes(classes, [index or 0 for index in indices])
        self._session.edit(self.tr("other classes"), moved)

    def _import_classes(self) -> None:
        folder = self._workspace.root or Path.home()
        filters = self.tr("Class lists") + " (*.json *.txt)"
        chosen, _ = QFileDialog.getOpenFileName(
            self._window, self.tr("Import class list"), str(folder), filters
        )
        if not chosen:
            return
        try:
            self._use(import_class_list(Path(chosen)).classes)
        except ClassListError as error:
            self.message.emit(translate(error))

    def close(self, timeout: float | None = None) -> bool:
        """Wait for the thread; return whether it has ended."""
        return self._jobs.close(timeout)


@dataclass(frozen=True, slots=True, eq=False)
class _Carried:
    """The answer for another picture, by a model of the folder or of the source."""

    source: AnnotatedImage
    classes: tuple[ClassInfo, ...]
    picture: Picture
    labelling: Labelling
    learnt: LearntModel | None = None


class CarryOver(QObject):
    """Applies the model of the picture that was answered last to others of the folder."""

    message = Signal(str)  # a sentence for the status bar

    def __init__(
        self,
        session: Session,
        files: Files,
        store: ProjectStore,
        task: FolderTask,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._session, self._files, self._store, self._task = session, files, store, task
        self.on = False
        self._source: AnnotatedImage | None = None
        self._labels: NDArray[np.uint8] | None = None  # of the source
        self._model: tuple[AnnotatedImage, LearntModel] | None = None
        self._carrying = Jobs("carrying over", self)
        self._applying = Jobs("applying to all", self)
        self._n_answered = 0
        task.stop_requested.connect(self._stop)
        session.answers.answer_changed.connect(self._remember)
        files.opened.connect(self._carry)
        files.folder_changed.connect(self._carrying.cancel)
        files.folder.begun.connect(self._stop)
        files.folder.begun.connect(self._forget)

    def connect_actions(self, actions: Actions) -> None:
        """Let the menu's commands arrive here."""
        actions["carry_over"].toggled.connect(self.set_on)
        actions["apply_to_undone"].triggered.connect(self.apply_to_undone)

    def _forget(self) -> None:
        """Forget the images of another folder."""
        self._carrying.cancel()
        self.__dict__.pop("_memory", None)

    @cached_property
    def _memory(self) -> FolderMemory:
        from segapp.app.folder_learning import FolderMemory  # which loads the learner

        return FolderMemory()

    def set_on(self, on: bool) -> None:  # noqa: FBT001 - a Qt slot
        """Carry over from now on, this picture included, or no more."""
        self.on = on
        self._carry()

    def _remember(self) -> None:
        """Learn from the picture that was marked and answered last."""
        picture, state = self._session.picture, self._session.state
        if picture is None or state is None or not self._session.answers.is_current:
            return
        if state.content.document.strokes:
            self._source = AnnotatedImage(picture, state.content)
            answer = self._session.answers.answer
            self._labels = None if answer is None else answer.labelling.labels

    # The next picture -------------------------------------------------------------------------

    def _carry(self) -> None:
        source, picture, state = self._source, self._session.picture, self._session.state
        if not self.on or source is None or picture is None or state is None:
            return
        if source.picture is picture or self._files.workspace.index(state.path) is None:
            return
        document = state.content.document
        if state.saved is not None or document != document.without_marks():
            return
        known, labels, memory = self._model, self._labels, self._memory

        def work() -> Iterator[_Carried | None]:
            if labels is not None and preset_of(source.content.settings) == "best":
                memory.add(source.picture, labels, source.content)
                yield None
                for labelling in memory.first_answer(picture):
                    carried = labelling and _Carried(source, memory.classes, picture, labelling)
                    yield carried or None
                return
            model = known[1] if known is not None and known[0] is source else source.learn_model()
            for labelling in apply_model(model, picture):
                found = labelling and _Carried(source, model.classes, picture, labelling, model)
                yield found or None

        self._carrying.run(work, self._take, self._fail)
        self.message.emit(self.tr("Reusing from {} …").format(sanitize(source.name)))

    def _take(self, carried: _Carried | None) -> None:
        if carried is None or self._files.is_reading:
            return
        if carried.learnt is not None:
            self._model = carried.source, carried.learnt
        document = self._session.document
        if self._session.picture is not carried.picture or document != document.without_marks():
            return  # the user was quicker
        name = carried.source.name
        answered = answered_document(document, carried.classes, carried.labelling, name)
        self._session.edit(self.tr("reusing from {}").format(sanitize(name)), answered)
        self.message.emit(
            self.tr("Result reused from {}: strokes correct it").format(sanitize(name))
        )

    def _fail(self, error: Exception) -> None:
        self.message.emit(self.tr("Nothing was reused: {}").format(translate(sentence(error))))

    # All that are not done --------------------------------------------------------------------

    def apply_to_undone(self) -> None:
        """Answer all pictures that are not done and have no strokes."""
        workspace = self._files.workspace
        self._remember()
        if self._source is None:
            self.message.emit(self.tr("Mark two classes on an image of the folder first"))
            return
        ended = (ImageStatus.DONE, ImageStatus.FAILED)
        open_now = self._source.picture.path.absolute()
        status = workspace.status
        paths = [p for p in workspace.images if status(p) not in ended and p != open_now]
        untouched = workspace.new_document()
        source, self._n_answered = self._source, 0
        self._applying.run(
            lambda: apply_to_all(source, paths, self._store, untouched, self._is_busy),
            self._note,
            self._fail,
            self._task.hide,
        )
        self._task.show_progress(self.tr("Learning from {}").format(sanitize(source.name)), 0, 1)

    def _is_busy(self, path: Path) -> bool:
        """Return whether the window holds work on a picture; called in the thread."""
        open_now, state = self._session.state, self._session.state_of(path)
        if open_now is not None and open_now.path == path:
            return True
        return state is not None and (state.unsaved or state.history.past is not None)

    def _note(self, step: TaskStep | None) -> None:
        if step is None:
            return
        if step.changed:
            self._n_answered += 1
            self._files.folder.note_work(step.path, marked=True, answered=True)
        elif step.error is not None:
            self._files.folder.note_failure(step.path, translate(sentence(step.error)))
        text = self.tr("Segmenting {} of {}").format(step.number, step.total)
        self._task.show_progress(text, step.number, step.total)
        if step.number == step.total:
            self.message.emit(
                self.tr("New results: {} of {} images").format(self._n_answered, step.total)
            )

    def _stop(self) -> None:
        if self._applying.busy:
            self._applying.cancel()
            self.message.emit(
                self.tr("Stopped; images with a new result: {}").format(self._n_answered)
            )

    def close(self, timeout: float | None = None) -> bool:
        """Stop, and wait for the threads; return whether they have ended."""
        ended = [jobs.close(timeout) for jobs in (self._carrying, self._applying)]
        return all(ended)


class FolderParts:
    """Makes these parts for a window whose list of images is there, and connects them."""

    def __init__(
        self,
        session: Session,
        files: Files,
        store: ProjectStore,
        autosave: Autosave,
        preferences: Preferences,
        panels: tuple[FileList, ClassPanel, Canvas],
        window: QWidget,
    ) -> None:
        file_list, class_panel, canvas = panels
        self.export = FolderExportPanel(files.folder, preferences, autosave)
        self.task = FolderTask()
        file_list.add_below(self.task, self.export)
        self.banner = Banner(canvas)
        self.commands = FolderCommands(session, files, store, autosave, class_panel.notice, window)
        self.prompt = SaveLocationPrompt(
            session, autosave, files.folder, store.policy, self.banner, window
        )
        self.carry_over = CarryOver(session, files, store, self.task, window)
        self.review = FolderReview(session, files, store, self.task, canvas, window)
        self.review.ranked.connect(file_list.list_first)
        self.thumbnails = file_list.thumbnails

    def connect(
        self,
        actions: Actions,
        say: Callable[[str], None],
        say_written: Callable[[str, Path], None],
    ) -> None:
        """Let the commands arrive, and their messages go out."""
        self.commands.connect_actions(actions)
        self.carry_over.connect_actions(actions)
        self.review.connect_actions(actions)
        actions["export_folder"].triggered.connect(self.export.begin)
        self.export.exported.connect(say_written)
        self.commands.message.connect(say)
        self.prompt.connect_actions(actions)
        self.prompt.message.connect(say)
        self.carry_over.message.connect(say)
        self.review.message.connect(say)

    def close(self, timeout: float | None = None) -> bool:
        """Stop all threads and wait for each; return whether they have ended."""
        parts = (
            self.commands,
            self.carry_over,
            self.review,
            self.export.jobs,
            self.thumbnails,
        )
        ended = [part.close(timeout) for part in parts]
        return all(ended)
