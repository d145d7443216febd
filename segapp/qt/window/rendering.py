"""A labelling as layers for the canvas, painted again where it has changed and nowhere else."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtGui import QColor

from segapp.qt.canvas.layers import Layer
from segapp.qt.canvas.outline import Outline
from segapp.qt.canvas.painting import Sheet
from segapp.values.overlay import ViewMode, painting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from segapp.values.document import ClassInfo
    from segapp.values.labelling import Labelling
    from segapp.values.picture import Picture
    from segapp.values.rasterize import Rectangle

_TILE = 256
"""Pixels along a side of what is compared and painted as one: a multiple of all halvings."""
_BY_LABEL_ALONE = frozenset({ViewMode.OVERLAY, ViewMode.OUTLINE, ViewMode.MASK, ViewMode.CUTOUT})
"""Where labels are the same, these look the same; margins and codes change everywhere."""


@dataclass(frozen=True, slots=True, eq=False)
class Wish:
    """How a labelling shall be shown."""

    mode: ViewMode
    classes: tuple[ClassInfo, ...]
    picture: Picture
    codewords: NDArray[np.int8] | None


class Rendering:
    """The sheet of a labelling, which follows the labelling in place.

    The canvas may draw it meanwhile, from another thread: for the length of a frame, parts of
    the new answer stand beside parts of the old.
    """

    def __init__(self, wish: Wish, labelling: Labelling) -> None:
        self._wish, self._labels = wish, labelling.labels
        mode, classes = wish.mode, wish.classes
        height, width = labelling.labels.shape
        paint = painting(mode, labelling, classes, wish.picture, wish.codewords)
        lines = None
        if mode is ViewMode.OUTLINE:
            lines = Outline(labelling.labels, classes)
        elif mode is ViewMode.OVERLAY:  # a tint alone may be the picture's own colour
            lines = Outline(labelling.labels, classes, QColor(255, 255, 255))
        self.sheet = Sheet(
            Layer.painted((height, width), paint) if paint is not None else None,
            lines,
            mode.replaces_image,
            mode.is_bare,
        )

    def serves(self, wish: Wish) -> bool:
        """Tell whether it can follow a labelling that shall be shown so."""
        mine = self._wish
        return (
            wish.mode in _BY_LABEL_ALONE
            and wish.mode is mine.mode
            and wish.classes == mine.classes
            and wish.picture is mine.picture
        )

    def follow(self, labelling: Labelling) -> None:
        """Show another labelling of the same picture."""
        wish, before = self._wish, self._labels
        boxes = list(changed_tiles(before, labelling.labels))
        paint = painting(wish.mode, labelling, wish.classes, wish.picture, wish.codewords)
        for box in boxes:
            if self.sheet.areas is not None and paint is not None:
                self.sheet.areas.repaint(box, paint)
        if self.sheet.lines is not None:
            self.sheet.lines.redraw(labelling.labels, boxes)
        self._labels = labelling.labels
        self.sheet = replace(self.sheet)  # who compares sheets sees that this is another


def changed_tiles(before: NDArray[np.uint8], after: NDArray[np.uint8]) -> Iterator[Rectangle]:
    """Yield the tiles in which two labellings of one size differ, joined along a row."""
    height, width = after.shape
    starts = np.arange(0, width, _TILE)
    for top in range(0, height, _TILE):
        bottom = min(top + _TILE, height)
        columns = (before[top:bottom] != after[top:bottom]).any(axis=0)
        differs = np.logical_or.reduceat(columns, starts).astype(np.int8)
        steps = np.diff(differs, prepend=0, append=0)
        for first, last in zip(np.flatnonzero(steps > 0), np.flatnonzero(steps < 0), strict=True):
            yield int(first) * _TILE, top, min(int(last) * _TILE, width), bottom
