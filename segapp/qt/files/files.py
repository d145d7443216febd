"""Opening files and folders."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from segapp.app.workspace import FolderWorkspace
from segapp.imaging.colour import default_classes
from segapp.io.desktop import SAMPLES
from segapp.io.films import is_film
from segapp.io.project import is_project
from segapp.io.stacks import frames_of, has_pages, open_stack
from segapp.model.display import DEFAULT_DISPLAY
from segapp.model.document import Document
from segapp.model.validation import sanitize
from segapp.qt.files.folder import OpenFolder
from segapp.qt.files.opening import (
    ImageMissing,
    Opened,
    Prefetch,
    arrival_notice,
    arrived_state,
    open_image,
    open_pasted,
    open_project,
    pasted_path,
    prepare,
    read_folder,
    with_stored_result,
)
from segapp.qt.i18n import translate
from segapp.qt.session.jobs import Jobs, details_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from PySide6.QtGui import QImage

    from segapp.app.project_store import ProjectStore
    from segapp.io.stacks import StackFile
    from segapp.qt.files.preferences import Preferences
    from segapp.qt.session.session import Session


class Files(QObject):
    """Opening for the session; a failed load changes nothing."""

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
        self._has_arrived = False  # in a folder whose first picture is being read
        self._is_reading = False
        self._began = 0.0  # of the present reading, as of `time.monotonic`
        self._jobs = Jobs("reading", self)
        self.stack: StackFile | None = None
        """The stack whose pages are worked through, if they are one."""

    @property
    def workspace(self) -> FolderWorkspace:
        """The images that are worked through, none when one was opened alone."""
        return self.folder.workspace

    # Opening ----------------------------------------------------------------------------

    def open(self, path: Path) -> None:
        """Open an image, a project or a folder."""
        path = path.absolute()
        if self.workspace.index(path) is None and has_pages(path):
            self._open_stack(path)
            return
        if path.is_dir():
            self.open_folder(path)
            return
        if self.workspace.images and self.workspace.index(path) is None:
            self._leave_folder()
        self._read(path)

    def _open_stack(self, path: Path) -> None:
        """List the pages of a file; one with a single page is opened as any other."""

        def take(stack: StackFile) -> None:
            pages = list(stack.paths)
            self._store.policy.begin(pages, None)
            self._set_folder(FolderWorkspace(pages, None, self._store.policy), stack)
            self._read(pages[0], remembered=path)

        def fail(error: Exception) -> None:
            if path.is_dir() or is_film(path):
                self.failed.emit(translate(error) or type(error).__name__, details_of(error))
                return
            self._leave_folder()
            self._read(path)

        def work() -> Iterator[StackFile]:
            yield open_stack(path)

        self._jobs.run(work, take, fail, self._end_reading)
        self._begin_reading(path.name)

    def open_folder(self, path: Path, at: Path | None = None) -> None:
        """List a folder's images and open one: ``at``, or the last one, or the first."""

        def take(workspace: FolderWorkspace | None) -> None:
            if workspace is None:
                return
            if not workspace.images:
                self.failed.emit(self.tr("There is no image in {}.").format(sanitize(path)), "")
                return
            self._set_folder(workspace, frames_of(path, workspace.images))
            first = workspace.last or workspace.images[0]
            self._read(at if at in workspace.images else first, remembered=path)
            self._step, self._has_arrived = 1, True

        def fail(error: Exception) -> None:
            if not isinstance(error, OSError):
                raise error  # a bug
            text = self.tr("{} cannot be read: {}.")
            self.failed.emit(text.format(sanitize(path), error.strerror), "")

        self._store.policy.begin([], path)
        self._jobs.run(
            lambda: read_folder(path, self._store.policy),
            take,
            fail,
            self._end_reading,
        )
        self._begin_reading(path.name)

    def open_several(self, paths: list[Path]) -> None:
        """Work through files that were given together, as if they were a folder."""
        images = [path.absolute() for path in paths if not path.is_dir() and not is_project(path)]
        if len(images) > 1:
            self._store.policy.begin(images, None)
            self.open_list(images)
        elif paths:
            self.open(paths[0])

    def open_list(self, images: list[Path]) -> None:
        """List images that are saved as if each was opened alone, and open the first."""
        self._set_folder(FolderWorkspace(images, None, self._store.policy))
        self._read(images[0])

    def open_pasted(self, image: QImage) -> None:
        """Keep a picture that is no file yet in one, and open that."""
        path = self._remembered = pasted_path()
        self._leave_folder()
        self._start(path.name, lambda: open_pasted(image, path))

    def _set_folder(self, workspace: FolderWorkspace, stack: StackFile | None = None) -> None:
        self._target, self.stack = None, stack
        self._prefetch.clear()
        self.folder.begin(workspace)
        self.folder_changed.emit()

    def _leave_folder(self) -> None:
        self._set_folder(FolderWorkspace([], None, self._store.policy))

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
        self._work, self._began = work, time.monotonic()
        make_trainer = self._session.make_trainer

        def reading() -> Iterator[Opened | ImageMissing]:
            for item in work():
                yield with_stored_result(item, make_trainer) if isinstance(item, Opened) else item

        self._jobs.run(reading, self._take, self._fail, self._end_reading)
        self._begin_reading(name)

    @property
    def is_reading(self) -> bool:
        """Whether another picture is about to replace the open one."""
        return self._is_reading

    def _begin_reading(self, name: str) -> None:
        """Let the open picture take nothing that is meant for the next one."""
        self._is_reading = True
        self.busy_changed.emit(name)  # which ends a stroke that is being drawn
        self._session.hold(on=True)

    def _end_reading(self) -> None:
        if self._is_reading:
            self._is_reading = False
            self._session.hold(on=False)
            self.busy_changed.emit("")

    def _take(self, result: Opened | ImageMissing) -> None:
        if isinstance(result, ImageMissing):
            self.image_missing.emit(result)
            return
        found = result.found
        if found is not None and self._store.written_since(found.location.path, self._began):
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
        self._end_reading()
        self._session.open(result.picture, result.layer, state, carried, result.stored)
        self._target = None
        self.folder.note_open(path)
        if not self._has_arrived:  # opening a folder writes nothing into it
            self.folder.note_last(path)
        self._has_arrived = False
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

    def close(self, timeout: float | None = None) -> bool:
        """Wait for the threads; return whether they have ended."""
        ended = [part.close(timeout) for part in (self._jobs, self._prefetch, self.folder)]
        return all(ended)
