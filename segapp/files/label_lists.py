"""Class lists that other programs wrote: labelme's ``labels.txt``, CVAT's label JSON."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from segapp.files.class_list import (
    CLASS_LIST_NAME,
    ClassList,
    ClassListError,
    check_names,
    read_class_list,
    read_limited,
)
from segapp.files.plain_document import LONGEST_NAME
from segapp.values.checked import field, fields, from_json, listed, text
from segapp.values.colours import unused_colour
from segapp.values.document import MOST_CLASSES, ClassInfo
from segapp.values.wording import quoted, reason, shown

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    _Reader = Callable[[bytes, str], tuple[ClassInfo, ...]]

# labelme's own words: pixels that count for nothing, and what is left over.
_IGNORED, _BACKGROUND = "__ignore__", "_background_"
_COLOUR = re.compile(r"#?([0-9a-fA-F]{6})")
# Where the list of a folder is looked for, the first that is there.
FOLDER_LISTS = (CLASS_LIST_NAME, "labels.txt", "labels.json")


def folder_list(folder: Path) -> tuple[Path, ClassList] | None:
    """Return the class list of a folder with where it was found, or ``None``.

    Raises `ClassListError` for a list that is there and cannot be read.
    """
    for name in FOLDER_LISTS:
        if (folder / name).is_file():
            return folder / name, read_any_list(folder / name)
    return None


def read_any_list(path: Path) -> ClassList:
    """Read a list of ours, of labelme (text) or of CVAT (JSON), told apart by what they hold."""
    if path.suffix.lower() != ".json":
        return _numbered(path, read_limited(path), _from_labelme)
    content = read_limited(path)
    if path.name == CLASS_LIST_NAME or b'"segapp classes"' in content:
        return read_class_list(path)
    return _numbered(path, content, _from_cvat)


def _numbered(path: Path, content: bytes, read: _Reader) -> ClassList:
    name = shown(path.name)
    try:
        classes = read(content, name)
        check_names(classes)
    except ClassListError:
        raise
    except ValueError as error:
        raise ClassListError(f"{name} is no list of classes: {reason(error)}.") from error
    return ClassList.numbered(classes)


def _from_labelme(content: bytes, name: str) -> tuple[ClassInfo, ...]:
    """One name a line; ``__ignore__`` is no class, and ``_background_`` is what is left over."""
    try:
        lines = content.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(f"{name}: wanted UTF-8, got other bytes") from error
    names = [line.strip() for line in lines if line.strip() not in ("", _IGNORED)]
    if len(names) > MOST_CLASSES:
        raise ValueError(f"classes: wanted at most {MOST_CLASSES}, got {len(names)}")
    return _with_background([(text(each, "name", LONGEST_NAME), None) for each in names])


def _from_cvat(content: bytes, name: str) -> tuple[ClassInfo, ...]:
    """Return the labels of CVAT's "raw" constructor, or of a task's ``labels``."""
    plain = from_json(content, name)
    if isinstance(plain, dict):
        plain = field(plain, "labels")
    found: list[tuple[str, tuple[int, int, int] | None]] = []
    for row in listed(plain, "labels", 1, MOST_CLASSES):
        label = fields(row, "labels")
        colour = label.get("color")
        found.append(
            (
                text(field(label, "name"), "name", LONGEST_NAME),
                None if not colour else _colour(text(colour, "color", 20)),
            )
        )
    return _with_background(found)


def _colour(written: str) -> tuple[int, int, int]:
    digits = _COLOUR.fullmatch(written.strip())
    if digits is None:
        raise ValueError(f"color: wanted #rrggbb, got {quoted(written)}")
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
