"""Data sets of a folder: their regions, categories, formats and journal."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from segapp.imaging.components import label_components
from segapp.imaging.objects import objects_of
from segapp.io.control_files import append_control, read_control
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
    from collections.abc import Callable, Generator, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from segapp.io.class_list import ClassList
    from segapp.model.classes import ClassInfo, ObjectInfo
    from segapp.model.document import Document
    from segapp.model.labelling import Labelling
    from segapp.model.picture import Picture

_MAX_PATH_LENGTH = 20_000
_MAX_JOURNAL = 1 << 30  # bytes; of a hundred thousand images with all polygons


class AnnotationScope(Enum):
    """The pixels of one annotation: a part of an object, all of it, or a class."""

    PART = "part"
    OBJECT = "object"
    CLASS = "class"


@dataclass(frozen=True, slots=True, eq=False)
class ClassRegion:
    """Pixels of one class: their mask within a box of the image.

    Parameters
    ----------
    left, top
        The box's corner; the mask touches all four of its sides.
    owner
        The object that they belong to; ``None`` where they are all of a class.
    """

    label: int
    left: int
    top: int
    mask: NDArray[np.bool_]
    owner: ObjectInfo | None = None

    @property
    def area(self) -> int:
        """Number of pixels."""
        return int(np.count_nonzero(self.mask))

    @property
    def box(self) -> list[int]:
        """Left, top, width and height, as COCO has it."""
        height, width = self.mask.shape
        return [self.left, self.top, width, height]

    @property
    def is_crowd(self) -> bool:
        """Whether it stands for many objects."""
        return self.owner is not None and self.owner.crowd

    @property
    def is_occluded(self) -> bool:
        """Whether something hides a part of its object."""
        return self.owner is not None and self.owner.occluded

    def whole(self, size: tuple[int, ...]) -> NDArray[np.bool_]:
        """Return the mask at the image's size."""
        full = np.zeros(size, bool)
        self.paint(full, value=True)
        return full

    def paint(self, image: NDArray[Any], value: float) -> None:
        """Write a value into its pixels of an image."""
        height, width = self.mask.shape
        rows, columns = slice(self.top, self.top + height), slice(self.left, self.left + width)
        image[rows, columns][self.mask] = value

    def parts(self) -> Iterator[ClassRegion]:
        """Yield its connected components in reading order."""
        numbered, _ = label_components(self.mask)
        for number, (rows, columns) in enumerate(scipy.ndimage.find_objects(numbered), start=1):
            yield replace(
                self,
                left=self.left + columns.start,
                top=self.top + rows.start,
                mask=numbered[rows, columns] == number,
            )


def object_regions(
    labelling: Labelling, document: Document, picture: Picture, per: AnnotationScope
) -> Iterator[tuple[ClassInfo, ClassRegion]]:
    """Yield the regions of all classes but the background, by class and object."""
    if per is AnnotationScope.CLASS:
        for index, info in enumerate(document.classes):
            found = scipy.ndimage.find_objects((labelling.labels == index).astype(np.int8))
            if not info.is_background and found:
                rows, columns = found[0]
                mask = labelling.labels[rows, columns] == index
                yield info, ClassRegion(index, columns.start, rows.start, mask)
        return
    objects = objects_of(labelling, document, picture.rgb)
    boxes = scipy.ndimage.find_objects(objects.index_map)
    for place, (key, (rows, columns)) in enumerate(zip(objects.keys, boxes, strict=True), 1):
        mask = objects.index_map[rows, columns] == place
        owner, info = document.object_info(key), document.classes[key[0]]
        region = ClassRegion(key[0], columns.start, rows.start, mask, owner)
        if per is AnnotationScope.OBJECT:
            yield info, region
        else:
            for part in region.parts():
                yield info, part


@dataclass(frozen=True, slots=True)
class Categories:
    """The classes of all images by their names, without the background.

    ``ids`` are for data sets that keep numbers (COCO); `index` counts from 1 without a gap, for
    those that hold an index in every pixel, where 0 is the background. The first ``n_listed``
    are of the folder's list, which alone decides their numbers and keeps them stable.
    """

    classes: tuple[ClassInfo, ...]
    ids: tuple[int, ...]
    n_listed: int = 0

    @classmethod
    def of(cls, listing: ClassList | None, others: list[tuple[ClassInfo, ...]]) -> Categories:
        """Take the folder's classes first, then those that only some images have."""
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

    def index(self, info: ClassInfo) -> int:
        """Return the index of a class, from 1; 0 is for the background."""
        if info.is_background:
            return 0
        return [each.name for each in self.classes].index(info.name) + 1

    def index_map(
        self, labels: NDArray[np.uint8], classes: tuple[ClassInfo, ...]
    ) -> NDArray[np.uint8]:
        """Return an image's labels as indices of the categories."""
        table = np.zeros(256, np.uint8)
        table[: len(classes)] = [self.index(info) for info in classes]
        return table[labels]


@dataclass(frozen=True, slots=True, eq=False)
class DatasetItem:
    """One image of a data set with its answer; ``stem`` names its files, uniquely."""

    stem: str
    labelling: Labelling
    document: Document
    picture: Picture

    @property
    def name(self) -> str:
        """Of the image's file, as a text that any file can hold."""
        return sanitize(self.picture.path.name)

    def regions(self, per: AnnotationScope) -> Iterator[tuple[ClassInfo, ClassRegion]]:
        """Yield the regions of all classes but the background."""
        return object_regions(self.labelling, self.document, self.picture, per)


@dataclass(frozen=True, slots=True)
class ExportPlan:
    """Folder, categories and annotation scope of a data set."""

    out: Path
    categories: Categories
    per: AnnotationScope = AnnotationScope.OBJECT


@dataclass(frozen=True, slots=True)
class ItemRecord:
    """The files of one image in a data set, and its data for the common files."""

    files: tuple[str, ...] = ()
    data: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DatasetFormat:
    """A format of a folder's results, written image by image and resumable.

    Parameters
    ----------
    name, title, values
        As of `segapp.io.export.formats.ExportFormat`.
    per_region
        Whether the annotation scope makes a difference.
    is_folder_wide
        Whether it is of a folder alone, and not a format of one image for each.
    choices
        All other choices, in words that differ when the files would.
    add
        Writes one image.
    finish
        Writes the common files from all images' records, and returns them.
    add_steps
        As ``add``, with progress and to be stopped, if it takes long.
    """

    name: str
    title: str
    values: str
    per_region: bool
    add: Callable[[ExportPlan, DatasetItem], ItemRecord]
    finish: Callable[[ExportPlan, dict[str, ItemRecord]], tuple[Path, ...]]
    is_folder_wide: bool = True
    choices: str = ""
    add_steps: Callable[[ExportPlan, DatasetItem], Generator[float, None, ItemRecord]] | None = (
        None
    )

    def steps(self, plan: ExportPlan, item: DatasetItem) -> Generator[float, None, ItemRecord]:
        """Write one image and yield the progress; closing the generator stops it."""
        if self.add_steps is None:
            return self.add(plan, item)
        return (yield from self.add_steps(plan, item))


class Journal:
    """Records of a data set's images by key, a line each; damaged ones are skipped."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._entries: dict[str, tuple[str, ItemRecord]] = {}
        try:
            lines = (read_control(path, _MAX_JOURNAL) or b"").splitlines()
        except (OSError, SegappError):
            lines = []
        for line in lines:
            try:
                self._read(line)
            except SegappError:
                continue

    def _read(self, line: bytes) -> None:
        entry = require_object(from_json(line, "journal"), "journal")
        files = tuple(
            require_text(name, "files", _MAX_PATH_LENGTH)
            for name in require_list(require_field(entry, "files"), "files")
        )
        record = ItemRecord(files, require_object(require_field(entry, "data"), "data"))
        name = require_text(require_field(entry, "name"), "name", _MAX_PATH_LENGTH)
        self._entries[name] = (require_text(require_field(entry, "key"), "key"), record)

    def lookup(self, name: str, key: str) -> ItemRecord | None:
        """Return an image's record if it has this key and all its files are there."""
        known, record = self._entries.get(name, ("", None))
        if record is None or known != key:
            return None
        folder = self._path.parent
        return record if all((folder / file).is_file() for file in record.files) else None

    def add(self, name: str, key: str, record: ItemRecord) -> None:
        """Append a line; an image whose line is lost in a crash is only written again."""
        entry = {"name": name, "key": key, "files": record.files, "data": record.data}
        append_control(self._path, b"\n" + json.dumps(entry).encode("ascii") + b"\n")
        self._entries[name] = (key, record)
