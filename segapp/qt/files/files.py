"""Opening and saving files and folders."""

from __future__ import annotations

from itertools import chain, count
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from segapp.app.project_store import new_project
from segapp.io.desktop import SAMPLES
from segapp.io.images import list_images
from segapp.io.project import Project, is_project
from segapp.model.classes import default_classes
from segapp.model.display import DEFAULT_DISPLAY
from segapp.model.document import Document
from segapp.model.validation import SegappError, sanitize
from segapp.qt.files.autosave import answer_beside
from segapp.qt.files.image_folder import FolderStart, PictureFolder
from segapp.qt.files.opening import (
    ImageMissing,
    Opened,
    Prefetch,
    arrival_notice,
    arrived_state,
    as_people_count,
    digest_of,
    open_image,
    open_pasted,
    open_project,
    pasted_path,
    prepare,
    project_beside,
)
from segapp.qt.files.preferences import saving_folder
from segapp.qt.files.recovery import save_over
from segapp.qt.i18n import worded
from segapp.qt.session.jobs import Jobs, details_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from PySide6.QtGui import QImage

    from segapp.app.state import PictureState
    from segapp.qt.files.preferences import Preferences
    from segapp.qt.session.session import Session


class Files(QObject):
    """Opens and saves for the session; a failed load leaves everything as it is."""

    overlaid = Signal(object)  # PictureState with unsaved strokes that only undo brings back
    opened = Signal(str)  # with what is to be said about the picture
    folder_changed = Signal()
    recent_changed = Signal()
    image_missing = Signal(object)  # ImageMissing
    busy_changed = Signal(str)  # name of what is being read, empty when done
    passed_over = Signal(str)  # why a picture of the folder cannot be opened
    failed = Signal(str, str)  # a sentence, and details for who wants to report them

    def __init__(
        self, session: Session, preferences: Preferences, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._session = session
        self._preferences = preferences
        self._remembered: Path | None = None  # what goes into the recent files when it is open
        self.work = PictureFolder(preferences, self)
        self.work.failed.connect(lambda told: self.failed.emit(told, ""))
        self.start = FolderStart(self.work, self)
        self.start.failed.connect(lambda told: self.failed.emit(told, ""))
        self._prefetch = Prefetch(self)
        self._goal: Path | None = None  # the picture of the folder that is being gone to
        self._step = 0  # the way there, when it is from neighbour to neighbour
        self._jobs = Jobs("reading", self)

    @property
    def folder(self) -> list[Path]:
        """The pictures that are worked through, none when one was opened alone."""
        return self.work.paths

    # Opening ----------------------------------------------------------------------------

    def open(self, path: Path) -> None:
        """Open an image, a project or a folder."""
        path = path.absolute()
        if path.is_dir():
            self.open_folder(path)
            return
        if self.folder and self.work.row(path) is None:
            self._set_folder([])
        self._read(path)

    def open_folder(self, path: Path, at: Path | None = None) -> None:
        """List a folder's images and open one of them: that wanted, the last one, the first."""
        try:
            images = as_people_count(list_images(path))
        except OSError as error:
            self.failed.emit(self.tr("{} cannot be read: {}.").format(path, error.strerror), "")
            return
        if not images:
            self.failed.emit(self.tr("There is no image in {}.").format(path), "")
            return
        self._set_folder(images, path)
        self._read(at if at in images else self.work.last or images[0], remembered=path)
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
        self._goal = None
        self._prefetch.clear()
        self.work.begin(images, root)
        self.folder_changed.emit()

    def open_neighbour(self, step: int) -> None:
        """Go on (or back) in the folder; each step counts, even while a picture is read.

        A picture that cannot be read is passed over: there is nothing to do on it.
        """
        place = self.place_in_folder()
        if place is not None and 0 <= place + step < len(self.folder):
            self._read(self.folder[place + step])
            self._step = 1 if step > 0 else -1

    def place_in_folder(self) -> int | None:
        """Return which image of the folder is open, or is being gone to."""
        state = self._session.state
        path = self._goal or (state.path if state is not None else None)
        return None if path is None else self.work.row(path)

    def locate(self, missing: ImageMissing, image: Path) -> None:
        """Open a project with the image that the user has found."""
        self._start(missing.project_path.name, lambda: open_project(missing.project_path, image))

    def _read(self, path: Path, *, remembered: Path | None = None) -> None:
        within = self.work.row(path) is not None
        self._goal, self._step = (path if within else None), 0
        forgettable = within or path.parent == SAMPLES
        self._remembered = remembered or (None if forgettable else path)
        if is_project(path):
            self._start(path.name, lambda: open_project(path))
            return
        place = self.work.project_folder(path) if within else None
        ahead, known = self._prefetch, self._session.state_of(path)
        display = self.start.display if within else DEFAULT_DISPLAY
        if known is not None and known.unsaved:
            display = known.content.document.display

        def work() -> Iterator[Opened | ImageMissing]:
            ready = ahead.take(path)
            if ready is None and within:
                ready = prepare(path, display)
                ahead.add(path, ready)
            yield from open_image(path, place, ready, display)

        self._start(path.name, work)

    def _look_ahead(self) -> None:
        """Read the neighbours, the next one first, while the open one is looked at."""
        place = self.place_in_folder()
        if place is not None:
            near = [place + step for step in (1, -1)]
            self._prefetch.look_ahead(
                [self.folder[row] for row in near if 0 <= row < len(self.folder)],
                self.start.display,
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
        if found is not None and digest_of(found.path) != found.digest:
            self._start(found.path.name, self._work)  # saved anew during the reading
            return
        # The strokes as they are now: some may have been painted, or saved, during the reading.
        path = result.picture.path.absolute()
        known = self._session.state_of(path)
        if self.work.row(path) is not None:
            begun = self.start.document()
        else:
            begun = Document(default_classes(result.picture.rgb))
        state = arrived_state(result, known, self._session.settings, begun)
        if known is not None and known.unsaved and known.content != state.content:
            self.overlaid.emit(known)
        carried = found.project.answer if found is not None else None
        self._session.open(result.picture, result.layer, state, carried)
        self._goal = None
        self.work.note_open(path)
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
        told = worded(error) or type(error).__name__
        if self._goal is None:
            self.failed.emit(told, details_of(error))
            return
        self.work.note_failure(self._goal, told)
        self.passed_over.emit(told)
        passed, remembered = self._goal, self._remembered
        if self._step:
            self.open_neighbour(self._step)
            self._remembered = remembered
        if self._goal == passed:  # asked for itself, or the last: the open picture stays
            self._goal = None
            self.folder_changed.emit()

    # Saving -----------------------------------------------------------------------------

    def default_project(self, state: PictureState) -> Path:
        """Return where a picture's project goes unless the user says otherwise.

        A file that is there already, and is not this picture's, is never proposed.
        """
        if state.project is not None:
            return state.project
        place = self.work.project_folder(state.path)
        if self.work.row(state.path) is not None and place is not None:
            return new_project(state.path, place)
        folder = saving_folder(state.path, self._preferences.folder("save/folder"))
        beside = folder / project_beside(state.path).name
        names = (beside.with_stem(f"{beside.stem}-{number}") for number in count(2))
        return next(path for path in chain([beside], names) if not path.exists())

    def save(self, state: PictureState, path: Path, known: str | None = None) -> bool:
        """Write a picture's project as `write` does; say whether it is safe on disk."""
        digest = self.write(state, path, known)
        if digest:
            self._session.mark_saved(state.path, state.content, path, digest)
        return bool(digest)

    def write(self, state: PictureState, path: Path, known: str | None = None) -> str:
        """Write strokes to a project; return its digest, empty when it failed and was told.

        Only the file whose digest is ``known`` is replaced: without it, the picture's own project
        as this window has read or written it, or of another name what is there now.

        Raises
        ------
        ChangedByOthersError
            When there is another file.
        """
        if known is None:
            known = state.digest if path == state.project else digest_of(path)
        content, answer = state.content, answer_beside(self._session, state)
        project = Project(
            content.document,
            content.settings,
            state.path,
            state.sha256,
            answer=answer.snapshot() if answer is not None else None,
        )
        try:
            return save_over(path, project, known)
        except (OSError, SegappError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            sentence = self.tr("{} cannot be written: {}.").format(sanitize(path), reason)
            self.failed.emit(sentence, details_of(error))
            return ""

    def close(self, timeout: float | None = None) -> bool:
        """Wait for the threads; say whether they have ended."""
        ended = [part.close(timeout) for part in (self._jobs, self._prefetch, self.work)]
        return all(ended)
