"""A labelling as layers for the canvas, painted again where it has changed and nowhere else."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from PySide6.QtGui import QColor

from segapp.qt.canvas.layers import Layer
from segapp.qt.canvas.outline import Outline
from segapp.qt.canvas.painting import Sheet
from segapp.qt.canvas.shared_pixels import SharedPixels
from segapp.values.overlay import ViewMode, label_colours, painting
from segapp.values.tiles import changed_tiles

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from segapp.values.document import ClassInfo
    from segapp.values.labelling import Labelling
    from segapp.values.overlay import Painting
    from segapp.values.picture import Picture

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
        lines = None
        if mode is ViewMode.OUTLINE:
            lines = Outline(labelling.labels, classes)
        elif mode is ViewMode.OVERLAY:  # a tint alone may be the picture's own colour
            lines = Outline(labelling.labels, classes, QColor(255, 255, 255))
        self.sheet = Sheet(_areas(wish, labelling), lines, mode.replaces_image, mode.is_bare)

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
        paint, areas = _painting(wish, labelling), self.sheet.areas
        if areas is not None and paint is not None:
            shared = _shared(wish, labelling, paint)
            if shared is not None:
                areas.follow(shared)
            for box in boxes:
                areas.repaint(box, paint)
        if self.sheet.lines is not None:
            self.sheet.lines.redraw(labelling.labels, boxes)
        self._labels = labelling.labels
        self.sheet = replace(self.sheet)  # who compares sheets sees that this is another


def _areas(wish: Wish, labelling: Labelling) -> Layer | None:
    paint = _painting(wish, labelling)
    if paint is None:
        return None
    shared = _shared(wish, labelling, paint)
    if shared is not None:
        return Layer.over(shared)
    height, width = labelling.labels.shape
    return Layer.painted((height, width), paint)


def _painting(wish: Wish, labelling: Labelling) -> Painting | None:
    return painting(wish.mode, labelling, wish.classes, wish.picture, wish.codewords)


def _shared(wish: Wish, labelling: Labelling, paint: Painting) -> SharedPixels | None:
    """Return the labels themselves where nothing else is shown."""
    table = label_colours(wish.mode, labelling, wish.classes)
    if table is None:
        return None
    return SharedPixels.of_labels(labelling.labels, table, paint)
