"""Class lists of a folder, and those of other programs."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from segapp.imaging.colour import unused_colour
from segapp.io.control_files import open_regular, write_control
from segapp.io.project import MAX_NAME_LENGTH, classes_from_plain, classes_to_plain
from segapp.model.classes import MAX_CLASSES, ClassInfo
from segapp.model.validation import (
    SegappError,
    from_json,
    reason,
    require_field,
    require_int,
    require_list,
    require_object,
    require_text,
    sanitize,
    short_repr,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from segapp.model.document import Document


# ``segapp-classes.json`` is made to be edited by hand, committed and copied. Each class has a
# number of its own, which stays with it whatever is added, renamed, moved or deleted: data sets
# count by it.

CLASS_LIST_FILE = "segapp-classes.json"
_FORMAT, _VERSION = "segapp classes", 1
_LARGEST = 4 << 20  # bytes; 255 classes with long names have a tenth of that
_HIGHEST_ID = 1 << 31


class ClassListError(SegappError):
    """A list of classes cannot be read; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class ClassList:
    """Classes in their order, each with its number in data sets."""

    classes: tuple[ClassInfo, ...]
    ids: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.ids) != len(self.classes) or len(set(self.ids)) != len(self.ids):
            raise SegappError(f"id: wanted {len(self.classes)} different ones, got {self.ids}")

    @classmethod
    def from_classes(cls, classes: tuple[ClassInfo, ...]) -> ClassList:
        """Give classes the numbers from 1."""
        return cls(classes, tuple(range(1, len(classes) + 1)))

    def with_classes(self, classes: tuple[ClassInfo, ...]) -> ClassList:
        """Return the list with other classes; matching ones keep their numbers."""
        indices = match_classes(self.classes, classes)
        numbers = {new: self.ids[old] for old, new in enumerate(indices) if new is not None}
        highest = max(self.ids)
        ids = []
        for index in range(len(classes)):
            if index not in numbers:
                highest += 1
            ids.append(numbers.get(index, highest))
        return ClassList(classes, tuple(ids))


def match_classes(
    before: Sequence[ClassInfo], after: Sequence[ClassInfo]
) -> tuple[int | None, ...]:
    """Return each class's index in another list, ``None`` where it is gone.

    Classes are matched by name. A missing name was changed, if its index has a new name in the
    other list and that list is no shorter.

    >>> a, b, c = (ClassInfo(name, (0, 0, 0)) for name in "abc")
    >>> match_classes([a, b], [b, c, a])
    (2, 0)
    >>> match_classes([a, b], [a, c])  # renamed
    (0, 1)
    >>> match_classes([a, b, c], [a, c])  # deleted
    (0, None, 1)
    """
    names = {info.name: index for index, info in enumerate(after)}
    old = {info.name for info in before}
    indices: list[int | None] = []
    for index, info in enumerate(before):
        if info.name in names:
            indices.append(names[info.name])
        elif len(after) >= len(before) and after[index].name not in old:
            indices.append(index)
        else:
            indices.append(None)
    return tuple(indices)


def apply_folder_classes(
    document: Document, before: Sequence[ClassInfo], after: tuple[ClassInfo, ...]
) -> Document | None:
    """Bring an image's classes from one list of the folder to the next.

    ``None`` when the image has classes of its own, or marks of a deleted class: it stays as it is.
    """
    if document.classes != tuple(before):
        return None
    indices = match_classes(before, after)
    if any(indices[label] is None for label in used_labels(document)):
        return None
    return document.with_classes(after, [index or 0 for index in indices])


def used_labels(document: Document) -> set[int]:
    """Return the classes of all marks and initial labels of an image."""
    marks = (*document.strokes, *document.retouches)
    used = {mark.label for mark in marks if mark.label is not None}
    return used if document.initial is None else used | set(range(document.initial.n_classes))


def write_class_list(path: Path, listing: ClassList) -> None:
    """Write the list, one line a class; a reader never sees a part of it."""
    rows = [
        json.dumps({"id": number} | plain, ensure_ascii=False)
        for number, plain in zip(listing.ids, classes_to_plain(listing.classes), strict=True)
    ]
    head = f'"format": "{_FORMAT}",\n "version": {_VERSION},\n "classes": [\n  '
    text = "{\n " + head + ",\n  ".join(rows) + "\n ]\n}\n"
    write_control(path, text)


def read_class_list(path: Path) -> ClassList:
    """Read a list by `write_class_list` or by hand; numbers may be left out."""
    name = sanitize(path.name)
    try:
        content = require_object(from_json(read_limited(path), name), name)
        _check_version(content)
        rows = require_list(require_field(content, "classes"), "classes", 2, MAX_CLASSES)
        classes = classes_from_plain(rows)
        check_names(classes)
        given = [require_object(row, "classes").get("id") for row in rows]
        taken = {
            require_int(number, "id", 1, _HIGHEST_ID) for number in given if number is not None
        }
        free = (number for number in range(1, 2 * MAX_CLASSES + 1) if number not in taken)
        return ClassList(
            classes, tuple(next(free) if number is None else number for number in given)
        )
    except ClassListError:
        raise
    except SegappError as error:
        raise ClassListError("{} is not a class list: {}.", name, reason(error)) from error


def _check_version(content: dict[str, Any]) -> None:
    if content.get("format") != _FORMAT:
        raise SegappError(f"wanted the format {short_repr(_FORMAT)}")
    if require_int(require_field(content, "version"), "version", 1) > _VERSION:
        raise SegappError("it was made by a newer version, update segapp to read it")


def check_names(classes: Sequence[ClassInfo]) -> None:
    """Refuse too few or too many classes, or equal names."""
    if not 2 <= len(classes) <= MAX_CLASSES:
        raise SegappError(f"classes: wanted 2 to {MAX_CLASSES}, got {len(classes)}")
    seen: set[str] = set()
    for info in classes:
        if not info.name.strip() or info.name in seen:
            raise SegappError(f"name: wanted different names, got {short_repr(info.name)} again")
        seen.add(info.name)


def read_limited(path: Path) -> bytes:
    """Return a small file's bytes, or raise `ClassListError`."""
    try:
        with open_regular(path) as file:
            content = file.read(_LARGEST + 1)
    except OSError as error:
        told = sanitize(error.strerror) if error.strerror else reason(error)
        raise ClassListError("{} cannot be read: {}.", sanitize(path), told) from error
    if len(content) > _LARGEST:
        raise ClassListError("{} is too large for a class list.", sanitize(path.name))
    return content


if TYPE_CHECKING:
    _Reader = Callable[[bytes, str], tuple[ClassInfo, ...]]

# labelme's own words: ignored pixels, and the background.
_IGNORED, _BACKGROUND = "__ignore__", "_background_"
_COLOUR = re.compile(r"#?([0-9a-fA-F]{6})")
# Files of a folder's list, the first that exists.
FOLDER_LISTS = (CLASS_LIST_FILE, "labels.txt", "labels.json")


def find_class_list(folder: Path) -> tuple[Path, ClassList] | None:
    """Return the file of a folder's class list with the list, or ``None``.

    Raises `ClassListError` for a list that is there and cannot be read.
    """
    for name in FOLDER_LISTS:
        if (folder / name).is_file():
            return folder / name, import_class_list(folder / name)
    return None


def import_class_list(path: Path) -> ClassList:
    """Read a list of segapp, labelme (text) or CVAT (JSON), told apart by content."""
    if path.suffix.lower() != ".json":
        return _numbered(path, read_limited(path), _from_labelme)
    content = read_limited(path)
    if path.name == CLASS_LIST_FILE or b'"segapp classes"' in content:
        return read_class_list(path)
    return _numbered(path, content, _from_cvat)


def _numbered(path: Path, content: bytes, read: _Reader) -> ClassList:
    name = sanitize(path.name)
    try:
        classes = read(content, name)
        check_names(classes)
    except ClassListError:
        raise
    except SegappError as error:
        raise ClassListError("{} is not a class list: {}.", name, reason(error)) from error
    return ClassList.from_classes(classes)


def _from_labelme(content: bytes, name: str) -> tuple[ClassInfo, ...]:
    """Parse one name a line; ``__ignore__`` is no class, ``_background_`` is one."""
    try:
        lines = content.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise SegappError(f"{name}: wanted UTF-8, got other bytes") from error
    names = [line.strip() for line in lines if line.strip() not in ("", _IGNORED)]
    if len(names) > MAX_CLASSES:
        raise SegappError(f"classes: wanted at most {MAX_CLASSES}, got {len(names)}")
    return _with_background(
        [(require_text(each, "name", MAX_NAME_LENGTH), None) for each in names]
    )


def _from_cvat(content: bytes, name: str) -> tuple[ClassInfo, ...]:
    """Return the labels of CVAT's "raw" constructor, or of a task's ``labels``."""
    plain = from_json(content, name)
    if isinstance(plain, dict):
        plain = require_field(plain, "labels")
    found: list[tuple[str, tuple[int, int, int] | None]] = []
    for row in require_list(plain, "labels", 1, MAX_CLASSES):
        label = require_object(row, "labels")
        colour = label.get("color")
        found.append(
            (
                require_text(require_field(label, "name"), "name", MAX_NAME_LENGTH),
                None if not colour else _colour(require_text(colour, "color", 20)),
            )
        )
    return _with_background(found)


def _colour(written: str) -> tuple[int, int, int]:
    digits = _COLOUR.fullmatch(written.strip())
    if digits is None:
        raise SegappError(f"color: wanted #rrggbb, got {short_repr(written)}")
    red, green, blue = bytes.fromhex(digits.group(1))
    return red, green, blue


def _with_background(
    found: list[tuple[str, tuple[int, int, int] | None]],
) -> tuple[ClassInfo, ...]:
    """Give each a colour; add a background where the other program had none to paint."""
    if not any(name.strip("_").casefold() == "background" for name, _ in found):
        found = [*found, ("background", None)]
    taken = [colour for _, colour in found if colour is not None]
    classes = []
    for name, given in found:
        colour = given or unused_colour(taken)
        taken.append(colour)
        classes.append(ClassInfo(name, colour, background=name == _BACKGROUND))
    return tuple(classes)
