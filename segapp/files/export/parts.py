"""What a data set counts: each connected part of a class, or each class as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np
import scipy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray


class Per(Enum):
    """What one annotation is of."""

    PART = "part"
    CLASS = "class"


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Some pixels of one class: their mask within a box of the picture.

    ``left`` and ``top`` say where the box is; the mask touches all four of its sides.
    """

    label: int
    left: int
    top: int
    mask: NDArray[np.bool_]

    @property
    def area(self) -> int:
        """Number of pixels."""
        return int(np.count_nonzero(self.mask))

    @property
    def box(self) -> list[int]:
        """Left, top, width and height, as COCO has it."""
        height, width = self.mask.shape
        return [self.left, self.top, width, height]

    def whole(self, size: tuple[int, int]) -> NDArray[np.bool_]:
        """Return the mask at the picture's size."""
        full = np.zeros(size, bool)
        height, width = self.mask.shape
        full[self.top : self.top + height, self.left : self.left + width] = self.mask
        return full


def parts_of(labels: NDArray[np.uint8], label: int, per: Per) -> Iterator[Part]:
    """Yield a class's 4-connected parts in reading order, or all of it as one."""
    mask = labels == label
    if per is Per.CLASS:
        numbered, count = mask.astype(np.int8), 1
    else:
        numbered, count = scipy.ndimage.label(mask)
    boxes = scipy.ndimage.find_objects(numbered, max_label=count)
    for number, box in enumerate(boxes, start=1):
        if box is not None:
            rows, columns = box
            yield Part(label, columns.start, rows.start, numbered[box] == number)
