"""Commands on files: open, save, export, recover and close."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QAction, QGuiApplication

from segapp.app.project_files import ChangedByOthersError, free_location
from segapp.app.project_store import ReplacedWork, SaveLocation, SaveTask, documents_folder
from segapp.io.desktop import SAMPLES
from segapp.model.validation import SegappError, sanitize
from segapp.qt.dialogs.export_dialog import ExportDialog
from segapp.qt.files import file_dialogs
from segapp.qt.files.file_dialogs import Conflict, Unsaved
from segapp.qt.files.opening import pasted_files, pasted_picture
from segapp.qt.files.preferences import opening_folder, remember_choices, remembered_choices
from segapp.qt.panels.status import sample_name
from segapp.qt.session.jobs import details_of, unexpected

if TYPE_CHECKING:
    from pathlib import Path

    from PySide6.QtCore import QMimeData
    from PySide6.QtWidgets import QMenu, QWidget

    from segapp.app.project_store import ProjectLocationPolicy, ProjectStore
    from segapp.app.state import PictureState
    from segapp.io.project import ProjectLocation
    from segapp.qt.actions import Actions
    from segapp.qt.files.autosave import Autosave
    from segapp.qt.files.files import Files
    from segapp.qt.files.folder import OpenFolder
    from segapp.qt.files.opening import ImageMissing
    from segapp.qt.files.preferences import Preferences
    from segapp.qt.session.session import Session
    from segapp.qt.widgets import Banner


_FIRST_SAMPLE = "coffee"
# Seconds that closing waits for writing before the window is drawn again.
_MOMENT = 0.5
# Who paints so many has begun to work: before, the question would only be in the way.
_STROKES_BEFORE_ASKING = 3


def sample_images() -> list[Path]:
    """Return the bundled pictures, the one that the first start shows ahead."""
    found = sorted(SAMPLES.glob("*.jpg"))
    return sorted(found, key=lambda path: path.stem != _FIRST_SAMPLE)


class FileCommands(QObject):
    """The dialogs around opening, saving, exporting and recovering files."""

    message = Signal(str)  # a sentence for the status bar
    written = Signal(str, object)  # a sentence, and the folder of the files
    choices_changed = Signal()  # those of exports, which are stored

    def __init__(
        self,
        session: Session,
        files: Files,
        store: ProjectStore,
        autosave: Autosave,
        preferences: Preferences,
        window: QWidget,
    ) -> None:
        super().__init__(window)
        self._session, self._files, self._autosave = session, files, autosave
        self._store, self._preferences, self._window = store, preferences, window
        self._replaced = ReplacedWork()
        self._is_closing = False  # as soon as all is written
        files.failed.connect(self._complain)
        files.image_missing.connect(self._locate)
        files.work_replaced.connect(autosave.copy_replaced)
        files.work_replaced.connect(self._replaced.add)
        session.document_changed.connect(self._forget_saved)

    def connect_actions(self, actions: Actions, recent: QMenu, samples: QMenu) -> None:
        """Let the menu's commands arrive here."""
        actions["open"].triggered.connect(self._open)
        actions["open_folder"].triggered.connect(self._open_folder)
        actions["previous"].triggered.connect(lambda: self._files.open_neighbour(-1))
        actions["next"].triggered.connect(lambda: self._files.open_neighbour(1))
        actions["save"].triggered.connect(self.save)
        actions["save_as"].triggered.connect(self.save_as)
        actions["export"].triggered.connect(self.export)
        for sample in sample_images():
            entry = samples.addAction(sample_name(sample))
            entry.triggered.connect(lambda _=False, chosen=sample: self._files.open(chosen))
        actions["paste"].triggered.connect(
            lambda: self.open_data(QGuiApplication.clipboard().mimeData())
        )
        self._recent = recent
        self._files.recent_changed.connect(self._fill_recent)
        self._fill_recent()

    def _complain(self, sentence: str, details: str) -> None:
        file_dialogs.complain(self._window, sentence, details)

    # Opening ----------------------------------------------------------------------------

    def _folder(self) -> Path:
        state, recent = self._session.state, self._preferences.recent()
        last = recent[0] if recent else None
        if last is not None and not last.is_dir():  # a picture
            last = last.parent
        return opening_folder(state.path if state is not None else None, last)

    def _open(self) -> None:
        path = file_dialogs.ask_open(self._window, self._folder())
        if path is not None:
            self._files.open(path)

    def _open_folder(self) -> None:
        path = file_dialogs.ask_folder(self._window, self._folder())
        if path is not None:
            self._files.open(path)

    def open_data(self, data: QMimeData | None) -> None:
        """Open pasted or dropped files, or a pasted picture that is not a file."""
        paths, picture = pasted_files(data), pasted_picture(data)
        if paths:
            self._files.open_several(paths)
        elif picture is not None:
            self._files.open_pasted(picture)
        else:
            self.message.emit(self.tr("There is no image in the clipboard"))

    def open_sample(self) -> None:
        """Open the picture of the first start."""
        for sample in sample_images()[:1]:
            self._files.open(sample)

    def _locate(self, missing: ImageMissing) -> None:
        wanted = missing.project.image_path
        title = self.tr("Where is {}?").format(sanitize(wanted.name))
        path = file_dialogs.ask_image(self._window, title, missing.project_path.parent)
        if path is not None:
            self._files.locate(missing, path)
        else:
            name = missing.project_path.name
            self.message.emit(self.tr("{} was not opened: its image is missing").format(name))

    def _fill_recent(self) -> None:
        self._recent.clear()
        for path in self._preferences.recent():
            action = QAction(sanitize(path).replace("&", "&&"), self._recent)
            action.triggered.connect(lambda _=False, chosen=path: self._files.open(chosen))
            self._recent.addAction(action)
        self._recent.setEnabled(not self._recent.isEmpty())

    # Saving -----------------------------------------------------------------------------

    def save(self) -> None:
        """Save to the project's file; ask for one when there is none yet."""
        state = self._session.state
        if state is None:
            return
        target = self._autosave.target(state.path)
        if target is not None:  # chosen a moment ago
            self.save_to(target, state)
        elif state.location is None and self._store.policy.writing_folder(state.path) is None:
            self.save_as()
        else:
            self._save(self._autosave.task(state))

    def save_as(self) -> None:
        """Ask for a file and save to it."""
        state = self._session.state
        if state is not None:
            self._save_as(state)

    def _save_as(self, state: PictureState) -> bool:
        path = file_dialogs.ask_project(self._window, self._store.suggested(state))
        if path is not None:
            self.save_to(path, state)
        return path is not None

    def save_to(self, path: Path, state: PictureState) -> None:
        """Save work to a file that the user has chosen."""
        self._save(replace(self._task(state), path=path))

    def _task(self, state: PictureState) -> SaveTask:
        """Return the task of saving work in its project, or in the proposed folder."""
        folder = self._store.policy.proposed_folder(state.path)
        return replace(self._autosave.task(state), folder=folder)

    def _save(self, task: SaveTask) -> None:
        """Save over the file that is known; ask when it has become another one."""
        self._autosave.save(
            task, partial(self._note_saved, task), partial(self._ask_or_complain, task)
        )

    def _note_saved(self, task: SaveTask, location: ProjectLocation) -> None:
        if task.replaced:
            self._replaced.forget(task.state)
        self._preferences.add_recent(location.path)
        self._store.policy.note_saved(location.path.parent)
        self._files.recent_changed.emit()
        self.message.emit(self.tr("Saved {}").format(sanitize(location.path.name)))

    def _ask_or_complain(self, task: SaveTask, error: Exception) -> None:
        if not isinstance(error, ChangedByOthersError):
            if not isinstance(error, OSError | SegappError):
                unexpected(error)
            name = sanitize(task.path or self._store.proposed(task.state).path)
            reason = getattr(error, "strerror", None) or str(error)
            text = self.tr("{} cannot be written: {}.").format(name, reason)
            self._complain(text, details_of(error))
            return
        choice = file_dialogs.ask_conflict(self._window, error.path)
        if choice is Conflict.SAVE_AS:
            self._save_as(task.state)
        elif choice is Conflict.OPEN_THEIRS:
            self._files.open(error.path)
        elif choice is Conflict.REPLACE:
            self._save(replace(task, path=error.path, digest=error.digest))

    def export(self) -> None:
        """Let the user write the answer to a file."""
        state = self._session.state
        if state is None:
            return
        last = self._preferences.folder("export/folder")
        folder = last or self._store.proposed(state).path.parent
        form = self._preferences.get("export/format", "mask")
        choices = remembered_choices(self._preferences)
        dialog = ExportDialog(self._session, folder, form, choices, self._window)
        box = dialog.choices_box
        dialog.exported.connect(lambda *_: remember_choices(self._preferences, box.choices))
        dialog.exported.connect(lambda *_: self.choices_changed.emit())
        dialog.exported.connect(self._note_export)
        dialog.threads_ended.connect(dialog.deleteLater)
        dialog.open()

    def _note_export(self, paths: tuple[Path, ...], form: str) -> None:
        self._preferences.set("export/format", form)
        self._preferences.set_folder("export/folder", paths[0].parent)
        names = ", ".join(sanitize(path.name) for path in paths)
        self.written.emit(self.tr("Wrote {}").format(names), paths[0].parent)

    # Closing ----------------------------------------------------------------------------

    def may_close(self) -> bool:
        """Save, and ask about work that could not be saved; False keeps the window open.

        While saving takes longer than a moment, the window stays, and closes by itself after it.
        Closing it a second time does not wait, and asks.
        """
        if not self._is_closing:
            self._autosave.write_soon()
            self._files.folder.write_changes()
        if not self._is_written():
            return False
        if not self._has_unsaved():
            return True
        states = self._session.unsaved_states()
        replaced = self._replaced.lost(self._session.state_of)
        choice = file_dialogs.ask_unsaved(self._window, states, replaced)
        self._is_closing = False
        if choice is Unsaved.SAVE:
            is_chosen = self._save_all(states) and all(map(self._save_replaced, replaced))
            return is_chosen and self._is_written() and not self._has_unsaved()
        return choice is Unsaved.DISCARD

    def _has_unsaved(self) -> bool:
        replaced = self._replaced.lost(self._session.state_of)
        return bool(self._session.unsaved_states() or replaced)

    def _is_written(self) -> bool:
        """Wait a moment for the writers; if they need longer, close the window after them."""
        if self._is_closing:
            return True
        until = time.monotonic() + _MOMENT
        for writer in (self._autosave, self._files.folder.writing):
            if not writer.wait(max(0.0, until - time.monotonic())):
                self._is_closing = True
                writer.idle.connect(self._close, Qt.ConnectionType.SingleShotConnection)
                self.message.emit(self.tr("Saving … the window closes when it is done"))
                return False
        return True

    def _close(self) -> None:
        """Close the window after the last write, unless that was taken back."""
        if self._is_closing:
            self._is_closing = False
            self._window.close()

    def _save_all(self, states: list[PictureState]) -> bool:
        """Save work on images; ask once for the folder of those that have none."""
        policy = self._store.policy
        homeless: dict[Path | None, list[PictureState]] = {}
        for state in states:
            if state.location is not None or policy.writing_folder(state.path) is not None:
                self._save(self._autosave.task(state))
            else:
                root = state.path.parent if policy.is_worked_through(state.path) else None
                homeless.setdefault(root, []).append(state)
        for root, group in homeless.items():
            if root is None and len(group) == 1:
                if not self._save_as(group[0]):
                    return False
                continue
            proposed = policy.proposed_folder(group[0].path)
            folder = file_dialogs.ask_saving_folder(self._window, proposed)
            if folder is None:
                return False
            if root is not None:
                policy.choose_for_root(root, folder)
            for state in group:
                self._save(replace(self._autosave.task(state), folder=folder))
        return True

    def _save_replaced(self, state: PictureState) -> bool:
        """Ask for a project of its own for replaced work; return whether one was chosen."""
        folder = self._store.policy.proposed_folder(state.path)
        proposed = free_location(state.path, folder).path
        path = file_dialogs.ask_project(self._window, proposed)
        if path is not None:
            state = replace(state, location=None)
            self._save(SaveTask(state, folder, replaced=True, path=path))
        return path is not None

    def _forget_saved(self) -> None:
        state = self._session.state
        if state is not None and state.saved is not None:
            self._replaced.forget_saved(state)

    def close(self, timeout: float | None = None) -> bool:
        """Wait for exports that are under way; return whether they have ended."""
        ended = [dialog.end(timeout) for dialog in self._window.findChildren(ExportDialog)]
        return all(ended)

    # Recovery ---------------------------------------------------------------------------------

    def offer_recovery(self, requested: Path | None = None) -> bool:
        """Offer the work that a crash left unsaved; return whether some was restored.

        Only copies that the user restores or discards go; all others are kept. Restored images
        are listed with the ``requested`` one, and the newest is shown.
        """
        copies = self._store.recovery_copies()
        if not copies:
            return False
        decision = file_dialogs.ask_restore(self._window, copies)
        for copy in decision.discard:
            copy.folder.discard(copy)
        for copy in decision.restore:
            self._autosave.restore(copy)
        self._store.release_orphaned()
        if decision.restore:
            self._show_restored([copy.state.path for copy in decision.restore], requested)
        return bool(decision.restore)

    def _show_restored(self, images: list[Path], requested: Path | None) -> None:
        recent = self._preferences.recent()
        folder = requested or next(iter(recent), images[0])
        for image in reversed(images):
            self._preferences.add_recent(image)
        self._files.recent_changed.emit()
        if folder.is_dir() and all(image.parent == folder for image in images):
            self._files.open_folder(folder, at=images[0])
        elif requested is None or requested.is_dir():
            self._files.open_list(images)
        else:
            self._files.open_list([*images, requested.absolute()])
        names = ", ".join(sanitize(image.name) for image in images)
        text = self.tr("Restored the strokes of {}").format(names)
        self._files.opened.connect(
            lambda _: self.message.emit(text), Qt.ConnectionType.SingleShotConnection
        )


class SaveLocationPrompt(QObject):
    """A banner that asks where to save strokes that have no folder yet."""

    message = Signal(str)  # a sentence for the status bar

    def __init__(
        self,
        session: Session,
        autosave: Autosave,
        folder: OpenFolder,
        policy: ProjectLocationPolicy,
        banner: Banner,
        window: QWidget,
    ) -> None:
        super().__init__(window)
        self._session, self._autosave, self._folder = session, autosave, folder
        self._policy, self._banner, self._window = policy, banner, window
        session.document_changed.connect(self._ask)
        autosave.conflicts_changed.connect(self._ask)
        folder.folder_chosen.connect(self._save_now)

    def connect_actions(self, actions: Actions) -> None:
        """Let the menu's command save and ask about changes of others."""
        self._save = actions["save"].trigger

    def _ask(self) -> None:
        state, root = self._session.state, self._folder.workspace.root
        if state is None:
            self._banner.hide()
        elif isinstance(self._autosave.hindrance(state.path), ChangedByOthersError):
            text = self.tr("{} was changed in another window: your strokes are not saved")
            name = sanitize(state.path.name)
            self._banner.ask(text.format(name), ((self.tr("Choose…"), self._save),))
        elif root is not None and self._is_homeless(root):
            self._ask_about_folder(root)
        elif not state.unsaved or self._policy.writing_folder(state.path) is not None:
            self._banner.hide()
        elif (
            self._policy.choice is SaveLocation.UNSAID
            and len(state.content.document.strokes) >= _STROKES_BEFORE_ASKING
        ):
            self._banner.ask(
                self.tr("Save your strokes automatically?"),
                (
                    (self.tr("Next to the image"), lambda: self._choose(SaveLocation.BESIDE)),
                    (self.tr("In a folder…"), self._choose_folder),
                    (self.tr("No"), lambda: self._choose(SaveLocation.NEVER)),
                ),
            )

    def _is_homeless(self, root: Path) -> bool:
        """Return whether strokes on images of a folder have no place, the open one or not."""
        return self._policy.root_folder(root) is None and any(
            state.path.parent == root for state in self._session.unsaved_states()
        )

    def _ask_about_folder(self, root: Path) -> None:
        proposed = documents_folder() / "segapp" / root.name
        self._banner.ask(
            self.tr("{} cannot be written. Save the strokes in").format(sanitize(root.name)),
            (
                (sanitize(proposed), lambda: self._use_for_root(proposed)),
                (self.tr("Another folder…"), self._choose_for_root),
            ),
        )

    def _choose_folder(self) -> None:
        folder = file_dialogs.ask_saving_folder(self._window, documents_folder())
        if folder is not None:
            self._choose(SaveLocation.FOLDER, folder)

    def _choose(self, choice: SaveLocation, folder: Path | None = None) -> None:
        self._policy.choose(choice, folder)
        self._save_now()

    def _choose_for_root(self) -> None:
        folder = file_dialogs.ask_saving_folder(self._window, documents_folder())
        if folder is not None:
            self._use_for_root(folder)

    def _use_for_root(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            self.message.emit(f"{sanitize(folder)}: {error.strerror}")
            return
        self._folder.choose_folder(folder)

    def _save_now(self) -> None:
        self._ask()
        self._autosave.write_soon()
