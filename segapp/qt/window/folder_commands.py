"""Commands for working through a folder: done, next, and its classes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QFileDialog

from segapp.files.class_list import ClassListError, places_of, used_labels, with_folder_classes
from segapp.files.folder_progress import Status
from segapp.files.label_lists import read_any_list
from segapp.qt.files.folder_jobs import Step, bring_classes
from segapp.qt.language import worded
from segapp.qt.session.jobs import Jobs
from segapp.values.document import TWO_CLASSES
from segapp.values.wording import shown

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from segapp.qt.actions.actions import Actions
    from segapp.qt.files.autosave import Autosave
    from segapp.qt.files.files import Files
    from segapp.qt.panels.class_offer import ClassOffer
    from segapp.qt.session.session import Session
    from segapp.values.document import ClassInfo


class FolderCommands(QObject):
    """Keeps the folder in step with the session, and the pictures with the folder."""

    said = Signal(str)  # a sentence for the status bar

    def __init__(
        self,
        session: Session,
        files: Files,
        autosave: Autosave,
        offer: ClassOffer,
        window: QWidget,
    ) -> None:
        super().__init__(window)
        self._session, self._files, self._work = session, files, files.work
        self._autosave, self._class_offer, self._window = autosave, offer, window
        self._n_brought = self._n_kept = 0
        self._jobs = Jobs("classes", self)
        self._jobs.arrived.connect(self._note)
        self._jobs.ended.connect(self._tell_brought)
        session.document_changed.connect(self._follow)
        session.answers.answer_changed.connect(self._follow)
        files.folder_changed.connect(self._show_classes)
        self._work.classes_changed.connect(self._show_classes)

    def connect_actions(self, actions: Actions) -> None:
        """Let the menu's commands arrive here."""
        self._actions = actions
        actions["done"].triggered.connect(self._set_done)
        actions["next_undone"].triggered.connect(self._go_on)
        actions["share_classes"].triggered.connect(self.share_classes)
        actions["take_classes"].triggered.connect(self._take_classes)
        actions["import_classes"].triggered.connect(self._import_classes)
        self._work.status_changed.connect(lambda _: self._show_done())
        self._session.picture_changed.connect(self._show_done)

    # Progress ---------------------------------------------------------------------------------

    def _follow(self) -> None:
        """Tell the folder what has become of the open picture."""
        state = self._session.state
        if state is None:
            return
        document = state.content.document
        self._work.note_work(
            state.path,
            marked=bool(document.strokes or document.retouches or document.start),
            answered=self._session.answers.is_current,
        )
        self._show_classes()

    def _set_done(self, done: bool) -> None:  # noqa: FBT001 - a Qt slot
        state = self._session.state
        if state is not None:
            self._work.set_done(state.path, done=done)

    def _show_done(self) -> None:
        state = self._session.state
        done = state is not None and self._work.status(state.path) is Status.DONE
        self._actions["done"].setChecked(done)

    def _go_on(self) -> None:
        state = self._session.state
        following = self._work.next_undone(state.path if state is not None else None)
        if following is None:
            self.said.emit(self.tr("All images are done"))
        else:
            self._files.open(following)

    # Classes ----------------------------------------------------------------------------------

    def _folder_classes(self) -> tuple[ClassInfo, ...]:
        return self._work.classes.classes if self._work.classes is not None else TWO_CLASSES

    def _show_classes(self) -> None:
        state = self._session.state
        within = state is not None and self._work.row(state.path) is not None
        differs = within and self._session.document.classes != self._folder_classes()
        self._class_offer.show_state(differs=differs, listed=self._work.classes is not None)

    def share_classes(self) -> None:
        """Let all pictures have this one's classes; those that cannot, stay and say so."""
        before, after = self._folder_classes(), self._session.document.classes
        if self._work.root is None or not self._work.share(after) or before == after:
            return
        elsewhere = []
        self._n_brought = self._n_kept = 0
        for path in self._work.paths:
            state = self._session.state_of(path)
            if state is None or not (state.unsaved or state.saved is not None):
                elsewhere.append(path)
            elif self._session.state is None or path != self._session.state.path:
                document = with_folder_classes(state.content.document, before, after)
                if document is not None:
                    self._session.remember(state.edited(self.tr("the folder's classes"), document))
                self._count(changed=document is not None)
        self._autosave.write_soon()
        place = self._work.place
        if place is not None:
            marked = [p for p in elsewhere if self._work.status(p) is not Status.UNTOUCHED]
            self._jobs.start(lambda: bring_classes(marked, place, before, after))

    def _count(self, *, changed: bool) -> None:
        self._n_brought += changed
        self._n_kept += not changed

    def _note(self, ticket: int, step: Step) -> None:
        del ticket
        self._count(changed=step.changed)

    def _tell_brought(self) -> None:
        told = self.tr("The folder has these classes now")
        if self._n_brought:
            told += self.tr("; {} images follow").format(self._n_brought)
        if self._n_kept:
            told += self.tr("; {} keep their own").format(self._n_kept)
        self.said.emit(told)

    def _take_classes(self) -> None:
        """Give the open picture the folder's classes, if all that it has marked is among them."""
        if self._work.classes is not None:
            self._use(self._work.classes.classes)

    def _use(self, classes: tuple[ClassInfo, ...]) -> None:
        document = self._session.document
        places = places_of(document.classes, classes)
        used = sorted(used_labels(document))
        lost = [document.classes[label].name for label in used if places[label] is None]
        if lost:
            self.said.emit(
                self.tr("There are marks of {}, which the list does not have").format(
                    ", ".join(shown(name) for name in lost)
                )
            )
            return
        moved = document.with_classes(classes, [place or 0 for place in places])
        self._session.edit(self.tr("other classes"), moved)

    def _import_classes(self) -> None:
        folder = self._work.root or Path.home()
        filters = self.tr("Class lists") + " (*.json *.txt)"
        chosen, _ = QFileDialog.getOpenFileName(
            self._window, self.tr("Import class list"), str(folder), filters
        )
        if not chosen:
            return
        try:
            self._use(read_any_list(Path(chosen)).classes)
        except ClassListError as error:
            self.said.emit(worded(error))

    def close(self, timeout: float | None = None) -> bool:
        """Wait for the thread; say whether it has ended."""
        return self._jobs.close(timeout)
