"""Commands on files: open, save, export, recover and close."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import QFileDialog

from segapp.io.desktop import SAMPLES
from segapp.model.validation import sanitize
from segapp.qt.dialogs.export_dialog import ExportDialog
from segapp.qt.files import file_dialogs
from segapp.qt.files.autosave import Overlaid, Wish
from segapp.qt.files.file_dialogs import Conflict, Unsaved
from segapp.qt.files.opening import pasted_files, pasted_picture
from segapp.qt.files.preferences import (
    documents_folder,
    opening_folder,
    remember_choices,
    remembered_choices,
)
from segapp.qt.files.recovery import ChangedByOthersError, LeftCopy, UnreadableCopy
from segapp.qt.files.restore_dialog import newest_first
from segapp.qt.panels.canvas_cards import sample_name

if TYPE_CHECKING:
    from PySide6.QtCore import QMimeData
    from PySide6.QtWidgets import QMenu, QWidget

    from segapp.app.state import PictureState
    from segapp.qt.actions.actions import Actions
    from segapp.qt.files.autosave import Autosave, Keeping
    from segapp.qt.files.files import Files
    from segapp.qt.files.image_folder import PictureFolder
    from segapp.qt.files.opening import ImageMissing
    from segapp.qt.files.preferences import Preferences
    from segapp.qt.files.recovery import LeftFolder
    from segapp.qt.files.restore_dialog import Left
    from segapp.qt.session.session import Session
    from segapp.qt.widgets.layouts import Banner


_FIRST_SAMPLE = "coffee"


def sample_images() -> list[Path]:
    """Return the bundled pictures, the one that the first start shows ahead."""
    found = sorted(SAMPLES.glob("*.jpg"))
    return sorted(found, key=lambda path: path.stem != _FIRST_SAMPLE)


class FileCommands(QObject):
    """Asks where, and lets `Files` and the export dialog do it."""

    message = Signal(str)  # a sentence for the status bar

    def __init__(
        self,
        session: Session,
        files: Files,
        autosave: Autosave,
        preferences: Preferences,
        window: QWidget,
    ) -> None:
        super().__init__(window)
        self._session, self._files, self._autosave = session, files, autosave
        self._preferences, self._window = preferences, window
        files.failed.connect(self._complain)
        files.image_missing.connect(self._locate)
        files.overlaid.connect(autosave.set_aside)
        self._overlaid = Overlaid(session, files)

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
        if last is not None and not last.is_dir():  # a picture; a folder is where to look itself
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
        """Open what was pasted or dropped: files, or a picture that is none yet."""
        paths, picture = pasted_files(data), pasted_picture(data)
        if paths:
            self._files.open_several(paths)
        elif picture is not None:
            self._files.open_pasted(picture)
        else:
            self.message.emit(self.tr("There is no picture in the clipboard"))

    def open_sample(self) -> None:
        """Open the picture of the first start."""
        for sample in sample_images()[:1]:
            self._files.open(sample)

    def _locate(self, missing: ImageMissing) -> None:
        wanted = missing.project.image_path
        title = self.tr("Where is {}?").format(wanted.name)
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

    def save(self) -> bool:
        """Save to the project's file; ask for one when there is none yet."""
        state = self._session.state
        if state is None:
            return False
        return self._save_where_it_is(state)

    def save_as(self) -> bool:
        """Ask for a file and save to it."""
        state = self._session.state
        if state is None:
            return False
        return self._save_as(state)

    def _save_where_it_is(self, state: PictureState) -> bool:
        if state.project is not None:
            return self._save(state, state.project)
        if self._autosave.place_of(state) is not None:
            return self._save(state, self._files.default_project(state))
        return self._save_as(state)

    def _save_as(self, state: PictureState) -> bool:
        path = file_dialogs.ask_project(self._window, self._files.default_project(state))
        return path is not None and self._save(state, path)

    def _save(self, state: PictureState, path: Path, known: str | None = None) -> bool:
        """Save over the file that is known; ask when it has become another one."""
        try:
            saved = self._files.save(state, path, known)
        except ChangedByOthersError as changed:
            choice = file_dialogs.ask_conflict(self._window, path)
            if choice is Conflict.SAVE_AS:
                return self._save_as(state)
            if choice is Conflict.OPEN_THEIRS:
                self._files.open(path)
            return choice is Conflict.REPLACE and self._save(state, path, changed.digest)
        if saved:
            self._preferences.add_recent(path)
            self._preferences.set_folder("save/folder", path.parent)
            self._files.recent_changed.emit()
            self.message.emit(self.tr("Saved {}").format(sanitize(path.name)))
        return saved

    def export(self) -> None:
        """Let the user write the answer to a file."""
        state = self._session.state
        if state is None:
            return
        last = self._preferences.folder("export/folder")
        folder = last or self._files.default_project(state).parent
        form = self._preferences.get("export/format", "mask")
        choices = remembered_choices(self._preferences)
        dialog = ExportDialog(self._session, folder, form, choices, self._window)
        box = dialog.choices_box
        dialog.exported.connect(lambda *_: remember_choices(self._preferences, box.choices))
        dialog.exported.connect(self._note_export)
        dialog.threads_ended.connect(dialog.deleteLater)
        dialog.open()

    def _note_export(self, paths: tuple[Path, ...], form: str) -> None:
        self._preferences.set("export/format", form)
        self._preferences.set_folder("export/folder", paths[0].parent)
        names = ", ".join(sanitize(path.name) for path in paths)
        self.message.emit(self.tr("Wrote {}").format(names))

    # Closing ----------------------------------------------------------------------------

    def may_close(self) -> bool:
        """Ask about unsaved strokes that have no place yet; False keeps the window open."""
        self._autosave.write_all()
        states, overlaid = self._session.unsaved_states(), self._overlaid.lost()
        if not states and not overlaid:
            return True
        choice = file_dialogs.ask_unsaved(self._window, states, overlaid)
        if choice is Unsaved.SAVE:
            return all(self._save_where_it_is(state) for state in states) and all(
                self._overlaid.save(self._window, state) for state in overlaid
            )
        return choice is Unsaved.DISCARD

    def close(self, timeout: float | None = None) -> bool:
        """Wait for exports that are under way; say whether they have ended."""
        ended = [dialog.end(timeout) for dialog in self._window.findChildren(ExportDialog)]
        return all(ended)

    # What a crash left ---------------------------------------------------------------------------

    def offer_left_behind(self) -> bool:
        """Offer what a crash left behind; say whether something was restored.

        Only what was restored or discarded by its name goes; everything else is kept.
        """
        owners: dict[Left, LeftFolder] = {}
        for folder in self._autosave.left_behind():
            owners.update(dict.fromkeys((*folder.copies, *folder.unreadable), folder))
        if not owners:
            return False
        offered = newest_first(
            [left for left in owners if isinstance(left, LeftCopy)],
            [left for left in owners if isinstance(left, UnreadableCopy)],
        )
        decision = file_dialogs.ask_restore(self._window, offered)
        for left in decision.discard:
            owners[left].discard(left.file)
        for copy in decision.restore:
            self._autosave.restore(owners[copy], copy)
        self._autosave.release_left()
        if decision.restore:
            _return_to(decision.restore[0].state.path, self._files, self._preferences)
        return bool(decision.restore)


def _return_to(image: Path, files: Files, preferences: Preferences) -> None:
    """Open a picture, within its folder if that was being worked through."""
    folder = next(iter(preferences.recent()), image)
    if folder.is_dir() and image.is_relative_to(folder):
        files.open_folder(folder, at=image)
    else:
        files.open(image)


class KeepQuestion(QObject):
    """Asks about strokes that have no place yet, and keeps them as soon as they have one."""

    message = Signal(str)  # a sentence for the status bar

    def __init__(
        self,
        session: Session,
        autosave: Autosave,
        work: PictureFolder,
        keeping: Keeping,
        offer: Banner,
        window: QWidget,
    ) -> None:
        super().__init__(window)
        self._session, self._autosave, self._work = session, autosave, work
        self._keeping, self._offer, self._window = keeping, offer, window
        autosave.place_of = keeping.folder_for
        session.document_changed.connect(self._ask)
        keeping.changed.connect(self._keep_now)

    def _ask(self) -> None:
        state = self._session.state
        if state is None or not state.unsaved or self._keeping.folder_for(state) is not None:
            self._offer.withdraw()
        elif self._keeping.is_within(state) and self._work.root is not None:
            self._ask_about_folder(self._work.root)
        elif self._keeping.wish is Wish.UNSAID:
            self._offer.make(
                self.tr("Keep strokes in a project as you paint?"),
                (
                    (self.tr("Beside the picture"), lambda: self._keeping.choose(Wish.BESIDE)),
                    (self.tr("In a folder…"), self._choose_folder),
                    (self.tr("No"), lambda: self._keeping.choose(Wish.NEVER)),
                ),
            )

    def _ask_about_folder(self, root: Path) -> None:
        proposed = documents_folder() / "segapp" / root.name
        self._offer.make(
            self.tr("{} cannot be written. Keep the strokes in").format(sanitize(root.name)),
            (
                (sanitize(proposed), lambda: self._use_place(proposed)),
                (self.tr("Another folder…"), self._choose_place),
            ),
        )

    def _chosen(self) -> Path | None:
        chosen = QFileDialog.getExistingDirectory(self._window, self.tr("Keep the strokes in"))
        return Path(chosen) if chosen else None

    def _choose_folder(self) -> None:
        folder = self._chosen()
        if folder is not None:
            self._keeping.choose(Wish.FOLDER, folder)

    def _choose_place(self) -> None:
        place = self._chosen()
        if place is not None:
            self._use_place(place)

    def _use_place(self, place: Path) -> None:
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            self.message.emit(f"{sanitize(place)}: {error.strerror}")
            return
        self._work.choose_place(place)

    def _keep_now(self) -> None:
        self._ask()
        self._autosave.write_soon()
