"""The workspace of a folder: images, progress, classes and display."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from segapp.app.project_files import with_projects
from segapp.io.class_list import (
    CLASS_LIST_FILE,
    ClassList,
    ClassListError,
    find_class_list,
    write_class_list,
)
from segapp.io.export.formats import FORMATS
from segapp.io.folder_files import (
    DISPLAY_FILE,
    PROGRESS_FILE,
    DisplaySettingsError,
    FolderProgress,
    ImageStatus,
    read_display,
    read_progress,
    write_display,
    write_progress,
)
from segapp.io.images import IMAGE_SUFFIXES
from segapp.io.pages import list_pages
from segapp.model.display import DEFAULT_DISPLAY
from segapp.model.document import Document
from segapp.model.validation import SegappError

if TYPE_CHECKING:
    from pathlib import Path

    from segapp.app.project_store import ProjectLocationPolicy
    from segapp.model.classes import ClassInfo
    from segapp.model.display import DisplaySettings


# Strokes and truths of data sets ("anno" in the Gulshan set), and what our exports add to a name.
_COMPANIONS = ("strokes", "truth", "anno", *FORMATS)
_OF_A_CLASS = "-classes-"


def list_images(folder: Path) -> list[Path]:
    """List the images of a folder, ordered by name.

    Strokes, truths and results that lie beside their image (``cat-mask.png`` by ``cat.jpg``)
    are none to work on, and neither are hidden files. Nor is a class's mask
    (``cat-classes-fur.png``), whose name ends in that of the class. Each page of a file is an
    image: see `segapp.io.pages`.
    """
    found = [
        path
        for path in folder.iterdir()
        if path.suffix.lower() in IMAGE_SUFFIXES
        and not path.name.startswith(".")
        and path.is_file()
    ]
    stems = {path.stem for path in found}
    files = sorted(path for path in found if not _belongs_to(path.stem, stems))
    there = set(found)
    return [
        page for path in files for page in list_pages(path) if page == path or page not in there
    ]


def _belongs_to(stem: str, others: set[str]) -> bool:
    if any(
        stem.endswith(f"-{word}") and stem.removesuffix(f"-{word}") in others
        for word in _COMPANIONS
    ):
        return True
    parts = stem.split(_OF_A_CLASS)  # which the image's own name, or the class's, may hold too
    return any(_OF_A_CLASS.join(parts[:end]) in others for end in range(1, len(parts)))


class UnreadableFileError(SegappError):
    """The file ``name`` of a folder cannot be read and is therefore not replaced."""

    def __init__(self, name: str) -> None:
        super().__init__("{} cannot be read, and is left as it is: move it away first.", name)
        self.name = name


@dataclass(frozen=True, slots=True)
class ProgressChanges:
    """Changes of a folder's progress that are to be written; None removes a status."""

    file: Path
    states: dict[str, ImageStatus | None]
    last: str | None

    def write(self) -> None:
        """Write them on top of the changes of other windows."""
        write_progress(self.file, self.states, self.last)


class FolderWorkspace:
    """Images that are worked through in a row, and the files that they share.

    The images are those of ``root``, or, when that is None, some that were opened together:
    these have their projects beside each, and share no files.
    """

    def __init__(
        self, images: list[Path], root: Path | None, policy: ProjectLocationPolicy
    ) -> None:
        policy.begin(images, root)
        self.images, self.root, self._policy = images, root, policy
        self.classes: ClassList | None = None
        self.display = DEFAULT_DISPLAY
        self.problems: list[SegappError] = []
        self._indices = {path: index for index, path in enumerate(images)}
        self._names = {path.name for path in images}
        self._with_projects: set[Path] = set()
        self._failures: dict[Path, str] = {}
        self._unreadable: set[str] = set()
        self._progress = FolderProgress()
        self._changes: dict[str, ImageStatus | None] = {}
        self._last: str | None = None
        self._read()

    def _read(self) -> None:
        """Read the files of the folder: three small ones and a listing."""
        self.problems, self._unreadable = [], set()
        if self.root is None:
            for path in self.images:
                self._with_projects |= with_projects([path], path.parent)
            return
        folder = self.folder or self.root
        folders = dict.fromkeys((folder, self.root))
        self._with_projects |= with_projects(self.images, *folders)
        self._progress = read_progress(folder / PROGRESS_FILE)
        for name, status in self._changes.items():
            self._progress = self._progress.with_status(name, status)
        self.classes, self.display = None, DEFAULT_DISPLAY
        try:
            found = find_class_list(folder) or find_class_list(self.root)
            self.classes = None if found is None else found[1]
        except ClassListError as error:
            self._note_unreadable(CLASS_LIST_FILE, error)
        try:
            self.display = read_display(folder)
        except DisplaySettingsError as error:
            self._note_unreadable(DISPLAY_FILE, error)

    def _note_unreadable(self, name: str, error: SegappError) -> None:
        self._unreadable.add(name)
        self.problems.append(error)

    @property
    def folder(self) -> Path | None:
        """The folder of the shared files: ``root``, or the one chosen for it; None to ask."""
        return None if self.root is None else self._policy.root_folder(self.root)

    def choose_folder(self, folder: Path) -> None:
        """Keep the shared files and the projects in another folder; nothing is forgotten."""
        if self.root is not None:
            self._policy.choose_for_root(self.root, folder)
            self._read()

    def index(self, path: Path) -> int | None:
        """Return which of the images it is."""
        return self._indices.get(path)

    @property
    def last(self) -> Path | None:
        """The image that was open when the folder was left."""
        return next((path for path in self.images if path.name == self._progress.last), None)

    # Progress

    def status(self, path: Path) -> ImageStatus:
        """Return the status of an image."""
        if path in self._failures:
            return ImageStatus.FAILED
        kept = self._progress.states.get(path.name)
        if kept is ImageStatus.DONE or (kept is not None and path in self._with_projects):
            return kept
        return ImageStatus.MARKED if path in self._with_projects else ImageStatus.UNTOUCHED

    def failure(self, path: Path) -> str:
        """Return why an image could not be read, often nothing."""
        return self._failures.get(path, "")

    @property
    def n_done(self) -> int:
        """The number of images that are done."""
        names = {name for name, kept in self._progress.states.items() if kept is ImageStatus.DONE}
        return len(names & self._names)

    def next_undone(self, path: Path | None) -> Path | None:
        """Return the next image that is not done; the first follows the last."""
        index = self._indices.get(path, -1) if path is not None else -1
        order = [*self.images[index + 1 :], *self.images[: max(index, 0)]]
        ended = (ImageStatus.DONE, ImageStatus.FAILED)
        return next((other for other in order if self.status(other) not in ended), None)

    def note_failure(self, path: Path, reason: str) -> bool:
        """Note that an image cannot be read; return whether that is new."""
        if path not in self._indices or self._failures.get(path) == reason:
            return False
        self._failures[path] = reason
        return True

    def note_open(self, path: Path) -> bool:
        """Note that an image is open; return whether it could not be read before."""
        if path not in self._indices:
            return False
        self._last = path.name
        return self._failures.pop(path, None) is not None

    def note_work(self, path: Path, *, marked: bool, answered: bool) -> bool:
        """Note whether an image has strokes and an answer; return if its status changes.

        An image that is done stays done.
        """
        if path not in self._indices:
            return False
        before = self.status(path)
        (self._with_projects.add if marked else self._with_projects.discard)(path)
        kept = self._progress.states.get(path.name)
        if answered and marked and kept is None:
            self._keep(path, ImageStatus.ANSWERED)
        elif not marked and kept is ImageStatus.ANSWERED:
            self._keep(path, None)
        return self.status(path) is not before

    def set_done(self, path: Path, *, done: bool) -> bool:
        """Flag an image as done, or take that back; return whether it is one of these."""
        if path not in self._indices:
            return False
        self._keep(path, ImageStatus.DONE if done else None)
        return True

    def _keep(self, path: Path, status: ImageStatus | None) -> None:
        self._progress = self._progress.with_status(path.name, status)
        self._changes[path.name] = status

    def take_changes(self) -> ProgressChanges | None:
        """Return the changes to be written; None without any, or without a folder."""
        if self.folder is None or not (self._changes or self._last):
            return None
        changes = ProgressChanges(self.folder / PROGRESS_FILE, self._changes, self._last)
        self._changes, self._last = {}, None
        return changes

    def put_back(self, changes: ProgressChanges) -> None:
        """Keep changes that could not be written for the next attempt."""
        self._changes = changes.states | self._changes
        self._last = self._last or changes.last

    # Classes and display

    def new_document(self) -> Document:
        """Return the document that an untouched image begins with."""
        if self.classes is None:
            return Document(display=self.display)
        return Document(self.classes.classes, display=self.display)

    def share_classes(self, classes: tuple[ClassInfo, ...]) -> bool:
        """Let all images begin with these classes; return False without a folder.

        Raises
        ------
        UnreadableFileError, OSError
            When the list is not written.
        """
        if self.folder is None:
            return False
        self._check_readable(CLASS_LIST_FILE)
        before = self.classes
        listing = (
            ClassList.from_classes(classes) if before is None else before.with_classes(classes)
        )
        write_class_list(self.folder / CLASS_LIST_FILE, listing)
        self.classes = listing
        return True

    def share_display(self, display: DisplaySettings) -> bool:
        """Let untouched images be shown like that; return whether that is new.

        Raises
        ------
        UnreadableFileError, OSError
            When it is not written; after the latter it holds for this window alone.
        """
        if self.folder is None or display == self.display:
            return False
        self._check_readable(DISPLAY_FILE)
        self.display = display
        write_display(self.folder, display)
        return True

    def _check_readable(self, name: str) -> None:
        if name in self._unreadable:  # a newer version may have written it
            raise UnreadableFileError(name)
