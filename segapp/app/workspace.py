"""The workspace of a folder: images, progress, classes and display."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

from segapp.app.project_files import with_projects
from segapp.io.class_list import (
    CLASS_LIST_FILE,
    FOLDER_LISTS,
    ClassList,
    ClassListError,
    find_class_list,
)
from segapp.io.export.formats import FORMATS
from segapp.io.folder_files import (
    DISPLAY_FILE,
    PROGRESS_FILE,
    SCALE_FILE,
    DisplaySettingsError,
    FolderProgress,
    ImageStatus,
    ProgressChanges,
    ProgressError,
    read_display,
    read_progress,
)
from segapp.io.images import IMAGE_SUFFIXES
from segapp.io.pages import list_pages
from segapp.io.project import PROJECT_SUFFIX
from segapp.model.display import DEFAULT_DISPLAY
from segapp.model.document import Document
from segapp.model.validation import SegappError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segapp.app.project_store import ProjectLocationPolicy
    from segapp.model.classes import ClassInfo


_NO_PROGRESS = FolderProgress()
# Strokes and truths of data sets ("anno" in the Gulshan set), and what our exports add to a name.
_COMPANIONS = ("strokes", "truth", "anno", *FORMATS)
_OF_A_CLASS = "-classes-"
_OWN_FILES = frozenset({DISPLAY_FILE, PROGRESS_FILE, SCALE_FILE, *FOLDER_LISTS})


def list_images(folder: Path) -> list[Path]:
    """List the images of a folder, ordered by name.

    Strokes, truths and results that lie beside their image (``cat-mask.png`` by ``cat.jpg``)
    are none to work on, and neither are hidden files. Nor is a class's mask
    (``cat-classes-fur.png``), whose name ends in that of the class. Each page of a file is an
    image: see `segapp.io.pages`.
    """
    return list(iter_images(folder))


def iter_images(folder: Path) -> Iterator[Path]:
    """Yield the images of `list_images` one by one, as each file is looked at."""
    found = [
        folder / entry.name
        for entry in os.scandir(folder)
        if entry.name.lower().endswith(IMAGE_SUFFIXES)
        and not entry.name.startswith(".")
        and _is_file(entry)
    ]
    stems = {path.stem for path in found}
    files = sorted(path for path in found if not _belongs_to(path.stem, stems))
    there = set(found)
    for path in files:
        yield from (page for page in list_pages(path) if page == path or page not in there)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Files of a folder that are not listed as images, counted by the reason.

    Parameters
    ----------
    others
        Counts by suffix of files that are no images, without projects and files of our own.
    companions
        Strokes, truths and results that lie beside their image.
    hidden
        Images whose names begin with a dot.
    """

    others: dict[str, int]
    companions: int
    hidden: int

    @property
    def total(self) -> int:
        """Number of all of them."""
        return sum(self.others.values()) + self.companions + self.hidden


def left_out(folder: Path) -> LeftOut:
    """Count the files of a folder that `list_images` leaves out."""
    others: Counter[str] = Counter()
    hidden, found = 0, []
    for entry in os.scandir(folder):
        name = entry.name.lower()
        own = name.endswith(PROJECT_SUFFIX) or name in _OWN_FILES
        if own or not _is_file(entry):
            continue
        if not name.endswith(IMAGE_SUFFIXES):
            if not name.startswith("."):
                others[os.path.splitext(name)[1]] += 1
        elif name.startswith("."):
            hidden += 1
        else:
            found.append(Path(entry.name).stem)
    stems = set(found)
    companions = sum(_belongs_to(stem, stems) for stem in found)
    return LeftOut(dict(sorted(others.items())), companions, hidden)


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:  # a link that leads to itself
        return False


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
class FolderSnapshot:
    """The progress of a folder as it is on the disk."""

    progress: FolderProgress = _NO_PROGRESS
    with_projects: frozenset[Path] = frozenset()


class FolderWorkspace:
    """Images that are worked through in a row, and the files that they share.

    The images are those of ``root``, or, when that is None, some that were opened together:
    these have their projects beside each, and share no files. The ``policy`` has begun with
    them. A workspace is made in any thread, and
    used in one; its files are written elsewhere.
    """

    def __init__(
        self, images: list[Path], root: Path | None, policy: ProjectLocationPolicy
    ) -> None:
        self.images, self.root, self._policy = images, root, policy
        self.left_out = LeftOut({}, 0, 0) if root is None else left_out(root)
        self.classes: ClassList | None = None
        self.display = DEFAULT_DISPLAY
        self.problems: list[SegappError] = []
        self._indices = {path: index for index, path in enumerate(images)}
        self._names = {path.name for path in images}
        self._marked_here: set[Path] = set()
        self._failures: dict[Path, str] = {}
        self._unreadable: set[str] = set()
        self._changes = ProgressChanges()
        self._under_way: list[ProgressChanges] = []  # which are being written, in their order
        self.n_writes = 0
        """Writes that have ended: a snapshot from before the last one is outdated."""
        self._on_disk = FolderSnapshot()
        self._read()

    def _read(self) -> None:
        """Read the files of the folder: three small ones and a listing."""
        self.problems, self._unreadable = [], set()
        self.classes, self.display = None, DEFAULT_DISPLAY
        try:
            self._on_disk = self.snapshot()
        except ProgressError as error:
            self._note_unreadable(PROGRESS_FILE, error)
            self._on_disk = FolderSnapshot(with_projects=self._with_projects())
        self._progress = self._own_changes().applied_to(self._on_disk.progress)
        if self.root is None:
            return
        folder = self.folder or self.root
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

    def snapshot(self) -> FolderSnapshot:
        """Read the progress, in any thread, as other windows change it.

        Raises
        ------
        ProgressError
            When its file cannot be read.
        """
        if self.root is None:
            return FolderSnapshot(with_projects=self._with_projects())
        progress = read_progress((self.folder or self.root) / PROGRESS_FILE)
        return FolderSnapshot(progress, self._with_projects())

    def _with_projects(self) -> frozenset[Path]:
        if self.root is None:
            parents = {path.parent for path in self.images}
            return frozenset().union(
                *(with_projects(self._within(each), each) for each in parents)
            )
        return with_projects(self.images, *dict.fromkeys((self.folder or self.root, self.root)))

    def _within(self, folder: Path) -> list[Path]:
        return [path for path in self.images if path.parent == folder]

    def stamp(self) -> tuple[tuple[int, int] | None, ...]:
        """Return sizes and times that change with `snapshot`, in any thread."""
        folders = dict.fromkeys(path for path in (self.folder, self.root) if path is not None)
        return tuple(_stamp(path) for each in folders for path in (each, each / PROGRESS_FILE))

    def update(self, snapshot: FolderSnapshot) -> list[Path]:
        """Take over the changes of other windows; return the images whose status changes."""
        if snapshot == self._on_disk:
            return []
        names = snapshot.progress.answered ^ self._on_disk.progress.answered
        names |= snapshot.progress.done ^ self._on_disk.progress.done
        projects = snapshot.with_projects ^ self._on_disk.with_projects
        concerned = [path for path in self.images if path.name in names or path in projects]
        before = [self.status(path) for path in concerned]
        self._on_disk = snapshot
        self._progress = self._own_changes().applied_to(snapshot.progress)
        after = [self.status(path) for path in concerned]
        return [
            path for path, old, new in zip(concerned, before, after, strict=True) if old is not new
        ]

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
        if path.name in self._progress.done:
            return ImageStatus.DONE
        if path not in self._marked_here and path not in self._on_disk.with_projects:
            return ImageStatus.UNTOUCHED
        answered = path.name in self._progress.answered
        return ImageStatus.ANSWERED if answered else ImageStatus.MARKED

    def failure(self, path: Path) -> str:
        """Return why an image could not be read, often nothing."""
        return self._failures.get(path, "")

    @property
    def n_done(self) -> int:
        """The number of images that are done."""
        return len(self._progress.done & self._names)

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
        return self._failures.pop(path, None) is not None

    def note_last(self, path: Path) -> None:
        """Note the image to begin with when the folder is opened again."""
        if path in self._indices and path.name != self._progress.last:
            self._change(ProgressChanges(last=path.name))

    def note_work(self, path: Path, *, marked: bool, answered: bool) -> bool:
        """Note whether an image has strokes and an answer; return if its status changes."""
        if path not in self._indices:
            return False
        before = self.status(path)
        if marked:
            self._marked_here.add(path)
        else:
            self._marked_here.discard(path)
            projects = self._on_disk.with_projects - {path}
            self._on_disk = replace(self._on_disk, with_projects=projects)
        is_answered = path.name in self._progress.answered
        if (answered and marked) != is_answered and (answered or not marked):
            self._change(ProgressChanges(answered={path.name: answered and marked}))
        return self.status(path) is not before

    def set_done(self, path: Path, *, done: bool) -> bool:
        """Flag an image as done, or take that back; return whether it is one of these."""
        if path not in self._indices:
            return False
        self._change(ProgressChanges(done={path.name: done}))
        return True

    def _change(self, changes: ProgressChanges) -> None:
        self._progress = changes.applied_to(self._progress)
        self._changes = self._changes.then(changes)

    def _own_changes(self, first: int = 0) -> ProgressChanges:
        """Return the changes that are not on the disk yet, as far as it is known."""
        return reduce(ProgressChanges.then, (*self._under_way[first:], self._changes))

    def take_changes(self) -> tuple[Path, ProgressChanges] | None:
        """Return the file of the progress and its changes, which are to be written there.

        None without any, or without a folder. `note_written` or `put_back` must follow.
        """
        if self.folder is None or not self._changes:
            return None
        changes, self._changes = self._changes, ProgressChanges()
        self._under_way.append(changes)
        return self.folder / PROGRESS_FILE, changes

    def note_written(self, changes: ProgressChanges, progress: FolderProgress) -> list[Path]:
        """Take over the progress with changes that are written, as `update` does."""
        self._under_way.remove(changes)
        self.n_writes += 1
        return self.update(replace(self._on_disk, progress=progress))

    def put_back(self, changes: ProgressChanges) -> None:
        """Keep changes that could not be written, and later ones, for another attempt."""
        first = self._under_way.index(changes)
        self._changes = self._own_changes(first)
        del self._under_way[first]

    # Classes and display

    def new_document(self) -> Document:
        """Return the document that an untouched image begins with."""
        if self.classes is None:
            return Document(display=self.display)
        return Document(self.classes.classes, display=self.display)

    def class_list(self, classes: tuple[ClassInfo, ...]) -> ClassList:
        """Return the list that lets all images begin with these classes, to be written.

        Raises
        ------
        UnreadableFileError
            When the list that is there must not be replaced.
        """
        self.check_readable(CLASS_LIST_FILE)
        before = self.classes
        return ClassList.from_classes(classes) if before is None else before.with_classes(classes)

    def check_readable(self, name: str) -> None:
        """Refuse to replace a file that a newer version may have written."""
        if name in self._unreadable:
            raise UnreadableFileError(name)


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns
