"""Objects of classes, and the object of each pixel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from segapp.model.classes import MAX_CLASSES
from segapp.model.validation import SegappError, is_unicode, short_repr

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Key = tuple[int, int]
    """Class and number of an object."""

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
