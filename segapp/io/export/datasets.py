"""Data sets: folders of images with labels, and their journal."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from segapp.imaging.measures import AnnotationScope
from segapp.model.validation import (
    SegappError,
    from_json,
    require_field,
    require_list,
    require_object,
    require_text,
    sanitize,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

    from numpy.typing import NDArray

    from segapp.io.class_list import ClassList
    from segapp.model.classes import ClassInfo
    from segapp.model.document import Document
    from segapp.model.labelling import Labelling
    from segapp.model.picture import Picture


# A data set is written picture by picture and can be left and gone on with. All of them count
# classes by `Categories`, which the folder's list of classes keeps stable.


@dataclass(frozen=True, slots=True)
class Categories:
    """The classes of all pictures by their names; the background is none of them.

    ``ids`` are for data sets that keep numbers (COCO); `place` counts from 1 without a gap,
    for those that hold an index in every pixel, where 0 is the background. The first
    ``n_listed`` are of the folder's list, which alone decides their numbers.
    """

    classes: tuple[ClassInfo, ...]
    ids: tuple[int, ...]
    n_listed: int = 0

    @classmethod
    def of(cls, listing: ClassList | None, others: list[tuple[ClassInfo, ...]]) -> Categories:
        """Take the folder's classes first, then those that only some pictures have."""
        found: dict[str, tuple[ClassInfo, int]] = {}
        highest = 0
        if listing is not None:
            highest = max(listing.ids)
            for info, number in zip(listing.classes, listing.ids, strict=True):
                if not info.is_background:
                    found[info.name] = (info, number)
        n_listed = len(found)
        for classes in others:
            for info in classes:
                if not info.is_background and info.name not in found:
                    highest += 1
                    found[info.name] = (info, highest)
        kept = list(found.values())
        return cls(tuple(info for info, _ in kept), tuple(number for _, number in kept), n_listed)

    def place(self, info: ClassInfo) -> int:
        """Return the index of a class, from 1; 0 is for the background."""
        if info.is_background:
            return 0
        return [each.name for each in self.classes].index(info.name) + 1

    def id_of(self, info: ClassInfo) -> int:
        """Return the number of a class that is not the background."""
        return self.ids[self.place(info) - 1]

    def indices(
        self, labels: NDArray[np.uint8], classes: tuple[ClassInfo, ...]
    ) -> NDArray[np.uint8]:
        """Return labels of a picture's own classes as indices of the categories."""
        table = np.zeros(256, np.uint8)
        table[: len(classes)] = [self.place(info) for info in classes]
        return table[labels]


@dataclass(frozen=True, slots=True, eq=False)
class DatasetItem:
    """One picture of a data set with its answer; ``stem`` names its files, and is its alone."""

    stem: str
    labelling: Labelling
    document: Document
    picture: Picture

    @property
    def name(self) -> str:
        """Of the picture's file, as a text that any file can hold."""
        return sanitize(self.picture.path.name)


@dataclass(frozen=True, slots=True)
class ExportPlan:
    """Where a data set goes, what it counts, and one annotation of what."""

    out: Path
    categories: Categories
    per: AnnotationScope = AnnotationScope.PART


@dataclass(frozen=True, slots=True)
class ItemRecord:
    """What one picture has left in a data set: files in its folder, and what the whole needs."""

    files: tuple[str, ...] = ()
    data: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DatasetFormat:
    """A way to write a folder.

    Parameters
    ----------
    name, title, values
        As of `segapp.io.export.formats.ExportFormat`.
    per_region
        Whether it makes a difference what one annotation is of.
    is_folder_wide
        Whether it is of a folder alone, and not a format of one picture for each.
    choices
        What else was chosen, in words that differ when the files would.
    add
        Writes one picture.
    finish
        Writes what is of the whole, from what each picture has left; returns the files.
    long
        As ``add``, to be followed and stopped, if it takes long.
    """

    name: str
    title: str
    values: str
    per_region: bool
    add: Callable[[ExportPlan, DatasetItem], ItemRecord]
    finish: Callable[[ExportPlan, dict[str, ItemRecord]], tuple[Path, ...]]
    is_folder_wide: bool = True
    choices: str = ""
    long: Callable[[ExportPlan, DatasetItem], Generator[float, None, ItemRecord]] | None = None

    def steps(self, plan: ExportPlan, item: DatasetItem) -> Generator[float, None, ItemRecord]:
        """Write one picture, and yield how much is done; whoever stops asking stops it."""
        if self.long is None:
            return self.add(plan, item)
        return (yield from self.long(plan, item))


class Journal:
    """Remembers by key what each picture has left; a line that is damaged counts for nothing."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._entries: dict[str, tuple[str, ItemRecord]] = {}
        try:
            lines = path.read_bytes().splitlines()
        except OSError:
            lines = []
        for line in lines:
            try:
                self._take(line)
            except SegappError:
                continue

    def _take(self, line: bytes) -> None:
        entry = require_object(from_json(line, "journal"), "journal")
        files = [
            require_text(name, "files", 20_000)
            for name in require_list(require_field(entry, "files"), "files")
        ]
        written = ItemRecord(tuple(files), require_object(require_field(entry, "data"), "data"))
        name, key = (
            require_text(require_field(entry, "name"), "name", 20_000),
            require_text(require_field(entry, "key"), "key"),
        )
        self._entries[name] = (key, written)

    def lookup(self, name: str, key: str) -> ItemRecord | None:
        """Return what a picture has left, if it is what ``key`` describes and all there."""
        known, written = self._entries.get(name, ("", None))
        if written is None or known != key:
            return None
        folder = self._path.parent
        return written if all((folder / file).is_file() for file in written.files) else None

    def add(self, name: str, key: str, written: ItemRecord) -> None:
        """Append a line; what is lost when the machine goes down is only made again."""
        entry = {"name": name, "key": key, "files": written.files, "data": written.data}
        with self._path.open("ab") as file:
            file.write(b"\n" + json.dumps(entry).encode("ascii") + b"\n")
        self._entries[name] = (key, written)
