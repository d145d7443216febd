"""Opening and saving files and folders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from segapp.app.project_files import digest_of
from segapp.app.workspace import list_images
from segapp.imaging.colour import default_classes
from segapp.io.desktop import SAMPLES
from segapp.io.project import is_project
from segapp.model.display import DEFAULT_DISPLAY
from segapp.model.document import Document
from segapp.model.validation import SegappError, sanitize
from segapp.qt.files.autosave import current_answer
from segapp.qt.files.folder import OpenFolder
from segapp.qt.files.opening import (
    ImageMissing,
    Opened,
    Prefetch,
    arrival_notice,
    arrived_state,
    natural_sorted,
    open_image,
    open_pasted,
    open_project,
    pasted_path,
    prepare,
)
from segapp.qt.i18n import translate
from segapp.qt.session.jobs import Jobs, details_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from PySide6.QtGui import QImage

    from segapp.app.project_store import ProjectStore
    from segapp.app.state import PictureState
    from segapp.app.workspace import FolderWorkspace
    from segapp.io.project import ProjectLocation
    from segapp.qt.files.preferences import Preferences
    from segapp.qt.session.session import Session


class Files(QObject):
    """Opening and saving for the session; a failed load changes nothing."""

    work_replaced = Signal(object)  # PictureState, unsaved, that only undo brings back
    opened = Signal(str)  # a notice about the picture, often empty
    folder_changed = Signal()
    recent_changed = Signal()
    image_missing = Signal(object)  # ImageMissing
    busy_changed = Signal(str)  # name of the file being read, empty when done
    passed_over = Signal(str)  # the reason why a picture of the folder cannot be opened
    failed = Signal(str, str)  # a sentence, and details for a report

    def __init__(
        self,
        session: Session,
        preferences: Preferences,
        store: ProjectStore,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._session, self._store = session, store
        self._preferences = preferences
        self._remembered: Path | None = None  # goes into the recent files when it is open
        self.folder = OpenFolder(store.policy, self)
        self.folder.failed.connect(lambda sentence: self.failed.emit(sentence, ""))
        self._prefetch = Prefetch(self)
        self._target: Path | None = None  # the picture of the folder that is being gone to
        self._step = 0  # the way there, when it is from neighbour to neighbour
        self._jobs = Jobs("reading", self)

    @property
    def workspace(self) -> FolderWorkspace:
        """The images that are worked through, none when one was opened alone."""
        return self.folder.workspace

    # Opening ----------------------------------------------------------------------------

    def open(self, path: Path) -> None:
        """Open an image, a project or a folder."""
        path = path.absolute()
        if path.is_dir():
            self.open_folder(path)
            return
        if self.workspace.images and self.workspace.index(path) is None:
            self._set_folder([])
        self._read(path)

    def open_folder(self, path: Path, at: Path | None = None) -> None:
        """List a folder's images and open one: ``at``, or the last one, or the first."""
        try:
            images = natural_sorted(list_images(path))
        except OSError as error:
            self.failed.emit(self.tr("{} cannot be read: {}.").format(path, error.strerror), "")
            return
        if not images:
            self.failed.emit(self.tr("There is no image in {}.").format(path), "")
            return
        self._set_folder(images, path)
        self._read(at if at in images else self.workspace.last or images[0], remembered=path)
        self._step = 1

    def open_several(self, paths: list[Path]) -> None:
        """Work through files that were given together, as if they were a folder."""
        images = [path.absolute() for path in paths if not path.is_dir() and not is_project(path)]
        if len(images) > 1:
            self._set_folder(images)
            self._read(images[0])
        elif paths:
            self.open(paths[0])

    def open_pasted(self, image: QImage) -> None:
        """Keep a picture that is no file yet in one, and open that."""
        path = self._remembered = pasted_path()
        self._set_folder([])
        self._start(path.name, lambda: open_pasted(image, path))

    def _set_folder(self, images: list[Path], root: Path | None = None) -> None:
        self._target = None
        self._prefetch.clear()
        self.folder.begin(images, root)
        self.folder_changed.emit()

    def open_neighbour(self, step: int) -> None:
        """Go on (or back) in the folder; each step counts, even while a picture is read.

        A picture that cannot be read is passed over.
        """
        index, images = self.index_in_folder(), self.workspace.images
        if index is not None and 0 <= index + step < len(images):
            self._read(images[index + step])
            self._step = 1 if step > 0 else -1

    def index_in_folder(self) -> int | None:
        """Return which image of the folder is open, or is being opened."""
        state = self._session.state
        path = self._target or (state.path if state is not None else None)
        return None if path is None else self.workspace.index(path)

    def locate(self, missing: ImageMissing, image: Path) -> None:
        """Open a project with the image that the user has found."""
        self._start(missing.project_path.name, lambda: open_project(missing.project_path, image))

    def _read(self, path: Path, *, remembered: Path | None = None) -> None:
        within = self.workspace.index(path) is not None
        self._target, self._step = (path if within else None), 0
        forgettable = within or path.parent == SAMPLES
        self._remembered = remembered or (None if forgettable else path)
        if is_project(path):
            self._start(path.name, lambda: open_project(path))
            return
        folders = self._store.policy.search_folders(path)
        ahead, known = self._prefetch, self._session.state_of(path)
        display = self.workspace.display if within else DEFAULT_DISPLAY
        if known is not None and known.unsaved:
            display = known.content.document.display

        def work() -> Iterator[Opened | ImageMissing]:
            ready = ahead.take(path)
            if ready is None and within:
                ready = prepare(path, display)
                ahead.add(path, ready)
            yield from open_image(path, folders, ready, display)

        self._start(path.name, work)

    def _look_ahead(self) -> None:
        """Read the neighbours of the open picture, the next one first."""
        index, images = self.index_in_folder(), self.workspace.images
        if index is not None:
            near = [index + step for step in (1, -1)]
            self._prefetch.look_ahead(
                [images[each] for each in near if 0 <= each < len(images)],
                self.workspace.display,
            )

    def _start(self, name: str, work: Callable[[], Iterator[Opened | ImageMissing]]) -> None:
        self._work = work
        self._jobs.run(work, self._take, self._fail, lambda: self.busy_changed.emit(""))
        self.busy_changed.emit(name)

    def _take(self, result: Opened | ImageMissing) -> None:
        if isinstance(result, ImageMissing):
            self.image_missing.emit(result)
            return
        found = result.found
        if found is not None and digest_of(found.location.path) != found.location.digest:
            self._start(found.location.path.name, self._work)  # saved anew during the reading
            return
        # The strokes as they are now: some may have been painted, or saved, during the reading.
        path = result.picture.path.absolute()
        known = self._session.state_of(path)
        if self.workspace.index(path) is not None:
            begun = self.workspace.new_document()
        else:
            begun = Document(default_classes(result.picture.rgb))
        state = arrived_state(result, known, self._session.settings, begun)
        if known is not None and known.unsaved and known.content != state.content:
            self.work_replaced.emit(known)
        carried = found.require().answer if found is not None else None
        self._session.open(result.picture, result.layer, state, carried)
        self._target = None
        self.folder.note_open(path)
        self._look_ahead()
        if self._remembered is not None:
            self._preferences.add_recent(self._remembered)
            self.recent_changed.emit()
        self.opened.emit(arrival_notice(result, known, state))
        if result.warning:
            self.failed.emit(result.warning, "")

    def _fail(self, error: Exception) -> None:
        if self._remembered is not None and not self._remembered.exists():
            self._preferences.drop_recent(self._remembered)
            self.recent_changed.emit()
        reason = translate(error) or type(error).__name__
        if self._target is None:
            self.failed.emit(reason, details_of(error))
            return
        self.folder.note_failure(self._target, reason)
        self.passed_over.emit(reason)
        passed, remembered = self._target, self._remembered
        if self._step:
            self.open_neighbour(self._step)
            self._remembered = remembered
        if self._target == passed:  # asked for itself, or the last: the open picture stays
            self._target = None
            self.folder_changed.emit()

    # Saving -----------------------------------------------------------------------------

    def default_project(self, state: PictureState) -> Path:
        """Return where a picture's project goes unless the user chooses another file."""
        return self._store.proposed(state).path

    def save(self, state: PictureState, path: Path, known: str | None = None) -> bool:
        """Save work on a picture in its project; return whether it is safe on disk.

        Only a file whose digest is ``known`` is replaced: by default the picture's own project
        as this window has read or written it, or any other file as it is now.

        Raises
        ------
        ChangedByOthersError
            When another window has changed the file.
        """
        location = self._write(state, path, known)
        if location is not None:
            self._session.mark_saved(state.path, state.content, location)
        return location is not None

    def save_replaced(self, state: PictureState, path: Path) -> bool:
        """Save work that an opened project has replaced; return whether it is on disk."""
        return self._write(state, path) is not None

    def _write(
        self, state: PictureState, path: Path, known: str | None = None
    ) -> ProjectLocation | None:
        location = self._store.chosen(state, path, known)
        try:
            return self._store.save(state, location, current_answer(self._session, state))
        except (OSError, SegappError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            sentence = self.tr("{} cannot be written: {}.").format(sanitize(path), reason)
            self.failed.emit(sentence, details_of(error))
            return None

    def close(self, timeout: float | None = None) -> bool:
        """Wait for the threads; return whether they have ended."""
        ended = [part.close(timeout) for part in (self._jobs, self._prefetch, self.folder)]
        return all(ended)
