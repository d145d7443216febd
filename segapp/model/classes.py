"""Classes of an annotation, and objects within them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from segapp.model.validation import SegappError, is_unicode, short_repr

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Key = tuple[int, int]
    """Class and number of an object."""


MAX_CLASSES = 255
"""Labels are bytes, and images of strokes and truths need one value for "none"."""

DIGITS = "123456789"
"""The keys of classes; on a keyboard 0 is far from 1."""

# Okabe and Ito's colours, which stay apart for colour-blind people.
PALETTE: tuple[tuple[int, int, int], ...] = (
    (230, 159, 0),
    (0, 114, 178),
    (0, 158, 115),
    (204, 121, 167),
    (86, 180, 233),
    (213, 94, 0),
    (240, 228, 66),
    (128, 128, 128),
)


@dataclass(frozen=True, slots=True)
class ClassInfo:
    """Name and colour (RGB) of a class.

    ``key`` is the digit that chooses it, from 1 to 9; empty takes a free one (`shortcut_keys`).
    ``background`` makes it the background, whatever its name. ``split`` proposes cuts at the
    narrow necks of its components, as between cells that touch.
    """

    name: str
    colour: tuple[int, int, int]
    key: str = ""
    background: bool = False
    split: bool = False

    def __post_init__(self) -> None:
        if self.key and self.key not in DIGITS:
            raise SegappError(f"key: wanted a digit from 1 to 9, got {short_repr(self.key)}")
        if not is_unicode(self.name):
            raise SegappError(f"name: wanted whole characters, got {short_repr(self.name)}")
        parts: Sequence[int] = self.colour
        if len(parts) != 3 or not all(0 <= part <= 255 for part in parts):
            raise SegappError(
                f"colour: wanted three numbers from 0 to 255, got {short_repr(self.colour)}"
            )

    @property
    def is_background(self) -> bool:
        """Whether it is marked or named so; such a class is no object for other programs."""
        return self.background or self.name.strip().casefold() == "background"


def background_index(classes: Sequence[ClassInfo]) -> int:
    """Return the index of the background: the class marked or named so, else the last."""
    marked = [index for index, info in enumerate(classes) if info.background]
    named = [index for index, info in enumerate(classes) if info.is_background]
    return next(iter((*marked, *named)), len(classes) - 1)


def object_indices(classes: Sequence[ClassInfo], only: str | None = None) -> tuple[int, ...]:
    """Return the classes of a mask or cut-out: all objects, or the one named ``only``.

    >>> object_indices([ClassInfo(name, (0, 0, 0)) for name in ("background", "cat", "dog")])
    (1, 2)
    """
    if only is None:
        ground = background_index(classes)
        return tuple(index for index in range(len(classes)) if index != ground)
    named = tuple(index for index, info in enumerate(classes) if info.name == only)
    if not named:
        listed = ", ".join(short_repr(info.name) for info in classes)
        raise SegappError(f"class: wanted one of {listed}, got {short_repr(only)}.")
    return named


def shortcut_keys(classes: Sequence[ClassInfo]) -> tuple[str, ...]:
    """Return the digit that chooses each class, empty where none is left.

    A class keeps a key of its own; the others have the digit of their position if that is
    free, and then those that are left.

    >>> names = ("leaf", "stem", "soil")
    >>> shortcut_keys([ClassInfo(name, (0, 0, 0)) for name in names])
    ('1', '2', '3')
    >>> shortcut_keys([ClassInfo("leaf", (0, 0, 0)), ClassInfo("stem", (0, 0, 0), key="1")])
    ('2', '1')
    """
    keys: dict[int, str] = {}
    for index, info in enumerate(classes):
        if info.key and info.key not in keys.values():
            keys[index] = info.key
    for index in range(min(len(classes), len(DIGITS))):
        if index not in keys and DIGITS[index] not in keys.values():
            keys[index] = DIGITS[index]
    free = iter([digit for digit in DIGITS if digit not in keys.values()])
    return tuple(keys[index] if index in keys else next(free, "") for index in range(len(classes)))


TWO_CLASSES: tuple[ClassInfo, ...] = (
    ClassInfo("foreground", PALETTE[0]),
    ClassInfo("background", PALETTE[1]),
)


MAX_OBJECT = 1_000_000
"""The highest number of an object."""


def check_object_number(number: int, label: int | None) -> None:
    """Refuse a number that no object of a class has; 0 stands for no particular one."""
    if number and label is None:
        raise SegappError(f"object: wanted 0 for a mark that erases, got {short_repr(number)}")
    if not 0 <= number <= MAX_OBJECT:
        raise SegappError(
            f"object: wanted a number from 0 to {MAX_OBJECT}, got {short_repr(number)}"
        )


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    """Name, flags and anchors of an object.

    Parameters
    ----------
    label, number
        Its class, and its number within the class from 1.
    crowd
        Whether it stands for many objects that are not told apart, as in COCO.
    occluded
        Whether something hides a part of it.
    anchors
        ``(x, y)`` of points whose pieces of the class belong to it, besides those of its marks.
    """

    label: int
    number: int
    name: str = ""
    crowd: bool = False
    occluded: bool = False
    anchors: tuple[tuple[float, float], ...] = ()

    def __post_init__(self) -> None:
        check_object_number(self.number, self.label)
        if self.number == 0 or not 0 <= self.label < MAX_CLASSES:
            raise SegappError(
                f"object: wanted a number from 1 of a class, got {short_repr(self.key)}"
            )
        if not is_unicode(self.name):
            raise SegappError(f"name: wanted whole characters, got {short_repr(self.name)}")

    @property
    def key(self) -> Key:
        """Class and number."""
        return self.label, self.number

    @property
    def says_nothing(self) -> bool:
        """Whether it holds no more than its class and number."""
        return self == ObjectInfo(self.label, self.number)


@dataclass(frozen=True, slots=True, eq=False)
class ObjectMap:
    """The object of each pixel.

    Parameters
    ----------
    index_map
        int32, the place of each pixel's object in ``keys`` from 1; 0 where there is none.
    keys
        Class and number of each object, in the order of classes and then of numbers.
    """

    index_map: NDArray[np.int32]
    keys: tuple[Key, ...]

    def __post_init__(self) -> None:
        self.index_map.flags.writeable = False

    def at(self, x: int, y: int) -> Key | None:
        """Return the object of a pixel."""
        index = int(self.index_map[y, x])
        return self.keys[index - 1] if index else None

    def pixels(self, *keys: Key) -> NDArray[np.bool_]:
        """Return the mask of some objects."""
        wanted = [index for index, key in enumerate(self.keys, start=1) if key in keys]
        if len(wanted) == 1:
            return np.asarray(self.index_map == wanted[0])
        table = np.zeros(len(self.keys) + 1, bool)
        table[wanted] = True
        return np.asarray(table[self.index_map])
