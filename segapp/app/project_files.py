"""Project files of images: names, locks and safe writing."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from segapp.io.control_files import open_regular, turn
from segapp.io.project import (
    PROJECT_SUFFIX,
    Project,
    ProjectError,
    ProjectLocation,
    load_project,
    save_project,
    unfinished,
)

if TYPE_CHECKING:
    from pathlib import Path


# Names -----------------------------------------------------------------------------------------


def project_names(image: Path) -> tuple[str, ...]:
    """Return the names that the project of an image may have, in order of choice.

    ``cat.segapp``, or beside the project of ``cat.png`` ``cat.jpg.segapp``. Where projects of
    several folders are collected, the last name has a digest of the image's own folder.

    >>> from pathlib import Path
    >>> project_names(Path("/a/cat.jpg"))
    ('cat.segapp', 'cat.jpg.segapp', 'cat.jpg-6a50dc85.segapp')
    """
    digest = hashlib.sha256(os.fsencode(image.absolute().parent)).hexdigest()[:8]
    stems = (image.stem, image.name, f"{image.name}-{digest}")
    return tuple(f"{stem}{PROJECT_SUFFIX}" for stem in stems)


_MOST_BYTES = 512 << 20  # of a project's file, twice what its parts may have


@dataclass(frozen=True, slots=True)
class FoundProject:
    """A project on disk; where it cannot be read, the ``error`` that says why."""

    location: ProjectLocation
    project: Project | None = None
    error: ProjectError | None = None

    def require(self) -> Project:
        """Return the project, or raise the error."""
        if self.project is None:
            raise self.error or ProjectError(f"{self.location.path.name} is not there.")
        return self.project


def digest_of(path: Path) -> str:
    """Return a digest of a file's bytes; empty only where there is no file.

    Files larger than any project, and those that cannot be read now, count as some other file.
    """
    try:
        with open_regular(path) as file:
            return hashlib.sha256(file.read(_MOST_BYTES)).hexdigest()
    except FileNotFoundError:
        return ""
    except OSError:
        return "unreadable"


def read_project(path: Path) -> FoundProject:
    """Read a project with the digest that a later save compares."""
    # The digest first: if the file is replaced in between, the next save asks needlessly, which
    # is better than not asking.
    digest = digest_of(path)
    try:
        return FoundProject(ProjectLocation(path, digest), load_project(path))
    except ProjectError as error:
        return FoundProject(ProjectLocation(path), error=error)


def find_project(image: Path, *folders: Path) -> FoundProject | None:
    """Return the project of an image, from the first of the folders that holds one.

    A file that cannot be read counts as the image's project when no other one is found: the
    user is told of it, and it is never replaced.
    """
    unreadable = None
    for folder in folders:
        for name in reversed(project_names(image)):
            path = folder / name
            if not (path.is_file() or unfinished(path).is_file()):
                continue
            found = read_project(path)
            if found.project is None:
                unreadable = unreadable or found
            elif _is_same_image(found.project.image_path, image):
                return found
    return unreadable


def new_location(image: Path, folder: Path) -> ProjectLocation:
    """Return the location in a folder for work that comes from no project there.

    A project of the image that was made meanwhile is not replaced: saving there fails.
    """
    found = find_project(image, folder)
    return free_location(image, folder) if found is None else ProjectLocation(found.location.path)


def writable_location(
    location: ProjectLocation | None, image: Path, folder: Path
) -> ProjectLocation:
    """Return a location where it can be written, else a new one in a folder."""
    if location is not None and os.access(location.path.parent, os.W_OK):
        return location
    return new_location(image, folder)


def free_location(image: Path, folder: Path) -> ProjectLocation:
    """Return where an image that has no project in a folder gets one."""
    paths = [folder / name for name in project_names(image)]
    return ProjectLocation(next((path for path in paths if not os.path.lexists(path)), paths[-1]))


def with_projects(images: list[Path], *folders: Path) -> frozenset[Path]:
    """Return the images that have a project, by listing each folder once.

    Projects are opened only where several images share a stem.
    """
    by_name: dict[str, list[Path]] = {}
    by_stem: dict[str, list[Path]] = {}
    for image in images:
        by_name.setdefault(image.name, []).append(image)
        by_stem.setdefault(image.stem, []).append(image)
    found: set[Path] = set()
    for folder in folders:
        try:
            names = [name for name in os.listdir(folder) if name.endswith(PROJECT_SUFFIX)]
        except OSError:
            continue
        for name in names:
            stem = name.removesuffix(PROJECT_SUFFIX)
            exact = by_name.get(stem) or by_name.get(stem.rpartition("-")[0], [])
            images_of = by_stem.get(stem, [])
            found.update(image for image in exact if name in project_names(image))
            found.update(
                image
                for image in images_of
                if len(images_of) == 1 or find_project(image, folder) is not None
            )
    return frozenset(found)


def _is_same_image(one: Path, other: Path) -> bool:
    """Compare paths, also through links to their folders."""
    one, other = one.absolute(), other.absolute()
    if one == other or one.name != other.name:
        return one == other
    try:
        return one.parent.samefile(other.parent)
    except OSError:
        return False


# Safe writing ---------------------------------------------------------------------------------


class ChangedByOthersError(Exception):
    """A file was changed by another process; ``digest`` is of its present bytes."""

    def __init__(self, path: Path, digest: str) -> None:
        super().__init__("the project was changed by another window or program")
        self.path, self.digest = path, digest


def write_project(
    location: ProjectLocation, project: Project, written: str | None = None
) -> ProjectLocation:
    """Write a project unless another process has changed the file.

    Returns the new location. A file is replaced if it has the location's digest, or the digest
    that this process has ``written`` since; a file that is gone is made anew. Windows take turns
    by a lock beside the file. A program that ignores the lock can still write within the
    milliseconds of one write.
    """
    path = location.path
    with turn(path):
        present = digest_of(path)
        if present not in ("", location.digest, written):
            raise ChangedByOthersError(path, present)
        save_project(path, project)
        return ProjectLocation(path, digest_of(path))
