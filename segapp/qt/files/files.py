"""Opening and saving: files and folders in, states of the session out, and back."""

from __future__ import annotations

from itertools import chain, count
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from segapp.files.image_folder import images_in
from segapp.files.project_file import Project, is_project
from segapp.files.resources import SAMPLES
from segapp.qt.files.default_folder import saving_folder
from segapp.qt.files.opening import (
    ImageMissing,
    Opened,
    arrival_notice,
    arrived_state,
    as_people_count,
    digest_of,
    open_image,
    open_project,
    project_beside,
)
from segapp.qt.files.project_saving import save_over
from segapp.qt.session.jobs import Jobs, details_of
from segapp.values.wording import shown

if TYPE_CHECKING:
    from pathlib import Path

    from segapp.qt.files.preferences import Preferences
    from segapp.qt.session.jobs import Work
    from segapp.qt.session.picture_state import PictureState
    from segapp.qt.session.session import Session
    from segapp.values.carried_answer import CarriedAnswer


class Files(QObject):
    """Opens and saves for the session; a failed load leaves everything as it is."""

    overlaid = Signal(object)  # PictureState with unsaved strokes that only undo brings back
    opened = Signal(str)  # with what is to be said about the picture
    folder_changed = Signal()
    recent_changed = Signal()
    image_missing = Signal(object)  # ImageMissing
    busy_changed = Signal(str)  # name of what is being read, empty when done
    failed = Signal(str, str)  # a sentence, and details for who wants to report them

    def __init__(
        self, session: Session, preferences: Preferences, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._session = session
        self._preferences = preferences
        self._remembered: Path | None = None  # what goes into the recent files when it is open
        self.folder: list[Path] = []
        self._jobs = Jobs("reading", self)
        self._jobs.arrived.connect(self._take)
        self._jobs.failed.connect(self._fail)
        self._jobs.ended.connect(lambda _: self.busy_changed.emit(""))

    # Opening ----------------------------------------------------------------------------

    def open(self, path: Path) -> None:
        """Open an image, a project or a folder."""
        path = path.absolute()
        if path.is_dir():
            self.open_folder(path)
            return
        if path not in self.folder and self.folder:
            self._set_folder([])
        self._read(path)

    def open_folder(self, path: Path) -> None:
        """List a folder's images and open the first."""
        try:
            images = as_people_count(images_in(path))
        except OSError as error:
            self.failed.emit(self.tr("{} cannot be read: {}.").format(path, error.strerror), "")
            return
        if not images:
            self.failed.emit(self.tr("There is no image in {}.").format(path), "")
            return
        self._set_folder(images)
        self._read(images[0], remembered=path)

    def open_several(self, paths: list[Path]) -> None:
        """Work through files that were given together, as if they were a folder."""
        images = [path.absolute() for path in paths if not path.is_dir() and not is_project(path)]
        if len(images) > 1:
            self._set_folder(images)
            self._read(images[0])
        elif paths:
            self.open(paths[0])

    def _set_folder(self, images: list[Path]) -> None:
        self.folder = images
        self.folder_changed.emit()

    def open_neighbour(self, step: int) -> None:
        """Go on (or back) in the folder."""
        place = self.place_in_folder()
        if place is not None and 0 <= place + step < len(self.folder):
            self._read(self.folder[place + step], remembered=None)

    def place_in_folder(self) -> int | None:
        """Return which image of the folder is open."""
        state = self._session.state
        return self.folder.index(state.path) if state and state.path in self.folder else None

    def locate(self, missing: ImageMissing, image: Path) -> None:
        """Open a project with the image that the user has found."""
        self._start(missing.project_path.name, lambda: open_project(missing.project_path, image))

    def _read(self, path: Path, *, remembered: Path | None = None) -> None:
        forgettable = path in self.folder or path.parent == SAMPLES
        self._remembered = remembered or (None if forgettable else path)
        if is_project(path):
            self._start(path.name, lambda: open_project(path))
        else:
            self._start(path.name, lambda: open_image(path))

    def _start(self, name: str, work: Work) -> None:
        self._work = work
        self._jobs.start(work)
        self.busy_changed.emit(name)

    def _take(self, ticket: int, result: Opened | ImageMissing) -> None:
        del ticket
        if isinstance(result, ImageMissing):
            self.image_missing.emit(result)
            return
        found = result.found
        if found is not None and digest_of(found.path) != found.digest:
            self._start(found.path.name, self._work)  # saved anew during the reading
            return
        # The strokes as they are now: some may have been painted, or saved, during the reading.
        known = self._session.state_of(result.picture.path.absolute())
        state = arrived_state(result, known, self._session.settings)
        if known is not None and known.unsaved and known.content != state.content:
            self.overlaid.emit(known)
        carried = found.project.answer if found is not None else None
        self._session.open(result.picture, result.layer, state, carried)
        if self._remembered is not None:
            self._preferences.add_recent(self._remembered)
            self.recent_changed.emit()
        self.opened.emit(arrival_notice(result, known, state))
        if result.warning:
            self.failed.emit(result.warning, "")

    def _fail(self, ticket: int, error: Exception) -> None:
        del ticket
        if self._remembered is not None and not self._remembered.exists():
            self._preferences.drop_recent(self._remembered)
            self.recent_changed.emit()
        self.failed.emit(str(error) or type(error).__name__, details_of(error))

    # Saving -----------------------------------------------------------------------------

    def default_project(self, state: PictureState) -> Path:
        """Return where a picture's project goes unless the user says otherwise.

        A file that is there already, and is not this picture's, is never proposed.
        """
        if state.project is not None:
            return state.project
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
        content = state.content
        project = Project(
            content.document,
            content.settings,
            state.path,
            state.sha256,
            answer=_carried(self._session, state),
        )
        try:
            return save_over(path, project, known)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            sentence = self.tr("{} cannot be written: {}.").format(shown(path), reason)
            self.failed.emit(sentence, details_of(error))
            return ""

    def close(self, timeout: float | None = None) -> bool:
        """Wait for the thread; say whether it has ended."""
        return self._jobs.close(timeout)


def _carried(session: Session, state: PictureState) -> CarriedAnswer | None:
    """Return what a project may carry: of the open picture, once the answer is there."""
    if session.state is None or session.state.path != state.path:
        return None
    answer = session.answers.answer
    return answer.carried() if answer is not None else None
