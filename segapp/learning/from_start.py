"""An answer that was there before the strokes, as marks that strokes correct.

A few dabs stand for it, each well inside a part of its class, as a user would make them: what
the model saw there is learnt on this picture's own colours. The answer itself is the prior of
the first stroke, as every answer is of the next.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import ndimage

from segapp.values.document import Document, Stroke

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from segapp.values.document import Mark
    from segapp.values.start import Start

_DABS = 6  # a class; more would hold on to what a stroke is to correct
_DEPTH = 0.5  # of the way from the edge to the innermost point, which a dab's radius takes
_LARGEST = 24.0  # pixels of a dab's radius at the size at which is looked
_LOOKED_AT = 512  # pixels of the longer side


def checked_labels(start: Start, size: tuple[int, ...]) -> NDArray[np.uint8]:
    """Return the labels of a start that is of this picture's size."""
    if (start.height, start.width) != size:
        raise ValueError(
            f"The answer of {start.name} has {start.width} x {start.height} pixels: wanted the "
            f"picture's {size[1]} x {size[0]}."
        )
    return start.pixels()


def document_of_start(document: Document, labels: NDArray[np.uint8]) -> Document:
    """Return the dabs that stand for the labels, all made at once.

    A stroke of another class within the disc that a dab is the middle of says that the answer
    was wrong there: that dab is left out.
    """
    step = -(-max(labels.shape) // _LOOKED_AT)
    coarse = labels[::step, ::step]
    strokes = [(mark, *_points(mark)) for mark in document.strokes if mark.label is not None]
    dabs = []
    for index in range(len(document.classes)):
        for column, row, depth in _innermost(coarse == index):
            x, y = (column + 0.5) * step, (row + 0.5) * step
            denied = any(
                mark.label != index
                and (np.hypot(along - x, down - y) <= depth * step + reach).any()
                for mark, along, down, reach in strokes
            )
            if not denied:
                radius = max(min(_DEPTH * depth, _LARGEST), 0.5) * step
                dabs.append(Stroke(((x, y),), radius, index))
    return replace(document, strokes=tuple(dabs), start=None).as_one_state()


def _points(mark: Mark) -> tuple[NDArray[np.floating], NDArray[np.floating], float]:
    """Return where a mark is, and how far it reaches from there."""
    if isinstance(mark, Stroke):
        points = np.array(mark.points)
        return points[:, 0], points[:, 1], mark.radius
    rows, columns = np.nonzero(mark.mask())
    return columns + mark.left + 0.5, rows + mark.top + 0.5, 0.5


def _innermost(mask: NDArray[np.bool_]) -> list[tuple[int, int, float]]:
    """Return the middles and radii of a few discs inside a mask, the largest first."""
    found: list[tuple[int, int, float]] = []
    depth = ndimage.distance_transform_edt(np.pad(mask, 1))[1:-1, 1:-1]
    rows, columns = np.ogrid[: mask.shape[0], : mask.shape[1]]
    while len(found) < _DABS:
        y, x = np.unravel_index(int(depth.argmax()), depth.shape)
        deepest = float(depth[y, x])
        if deepest <= 0:
            break
        found.append((int(x), int(y), deepest))
        apart = max(2 * deepest, 0.15 * max(mask.shape))
        depth[(rows - y) ** 2 + (columns - x) ** 2 < apart**2] = 0
    return found
