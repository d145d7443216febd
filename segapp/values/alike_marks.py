"""Whether marks mean many like objects, and not one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import scipy

from segapp.values.document import Patch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from segapp.values.document import Document, Mark

_MANY = 3
"""Marks of a class, each on an object of its own."""

_SMALL = 0.002
"""Of the picture: what a mark, and what the part that it lies on, covers at the most."""

_SIDE = 1500
"""Pixels of the longer side at which parts are told apart: enough for the smallest mark."""


def mark_many(document: Document, labels: NDArray[np.uint8]) -> bool:
    """Tell whether a class has many small marks, on as many small parts of the answer.

    Small marks on one large object lie on one part, and mean that object.
    """
    height, width = labels.shape
    for index in range(len(document.classes)):
        own = [mark for mark in document.strokes if mark.label == index]
        if index == document.background or len(own) < _MANY:
            continue
        if max(map(_area, own)) > _SMALL * height * width:
            continue
        step = -(-max(height, width) // _SIDE)
        numbered, _ = scipy.ndimage.label(labels[::step, ::step] == index)
        found = {_part(numbered, mark, step) for mark in own} - {0}
        sizes = np.bincount(numbered.ravel())
        small = [part for part in found if sizes[part] <= _SMALL * numbered.size]
        if len(small) >= _MANY:
            return True
    return False


def _area(mark: Mark) -> float:
    """Return about how many pixels a mark covers."""
    if isinstance(mark, Patch):
        return float(mark.width * mark.height)
    pairs = zip(mark.points, mark.points[1:], strict=False)
    length = sum(math.dist(one, other) for one, other in pairs)
    return math.pi * mark.radius**2 + 2 * mark.radius * length


def _part(numbered: NDArray[np.int32], mark: Mark, step: int) -> int:
    """Return the part at a mark's beginning, 0 where there is none."""
    x, y = (mark.left, mark.top) if isinstance(mark, Patch) else mark.points[0]
    row, column = int(y) // step, int(x) // step
    inside = 0 <= row < numbered.shape[0] and 0 <= column < numbered.shape[1]
    return int(numbered[row, column]) if inside else 0
