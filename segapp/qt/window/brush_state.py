"""Which tool, size and classes the hand works with."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from segapp.qt.canvas.brush import (
    LARGEST_RADIUS,
    SMALLEST_RADIUS,
    Brush,
    BrushUnit,
    Tool,
    stepped_radius,
)

if TYPE_CHECKING:
    from segapp.values.document import Document


class BrushState(QObject):
    """Holds the brush; choosing a class for one button leaves the other one alone."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.brush = Brush(unit=BrushUnit.SCREEN)

    def choose_left(self, index: int) -> None:
        """Paint this class with the left button, and take the brush in hand."""
        self._set(replace(self.brush, left=index, tool=Tool.BRUSH))

    def choose_right(self, index: int) -> None:
        """Paint this class with the right button, and take the brush in hand."""
        self._set(replace(self.brush, right=index, tool=Tool.BRUSH))

    def follow(self, left: int, right: int) -> None:
        """Paint the same classes, which are at other places now."""
        self._set(replace(self.brush, left=left, right=right))

    def swap(self) -> None:
        """Exchange the buttons' classes."""
        self._set(replace(self.brush, left=self.brush.right, right=self.brush.left))

    def set_tool(self, tool: Tool) -> None:
        """Take another tool."""
        self._set(replace(self.brush, tool=tool))

    def set_keep_others(self, keep: bool) -> None:  # noqa: FBT001 - a Qt slot
        """Paint around other classes, or over them."""
        self._set(replace(self.brush, keep_others=keep))

    def set_retouches(self, on: bool) -> None:  # noqa: FBT001 - a Qt slot
        """Paint over the answer, or teach."""
        self._set(replace(self.brush, retouches=on))

    def set_radius(self, radius: float) -> None:
        """Use a brush of another size."""
        self._set(replace(self.brush, radius=min(max(radius, SMALLEST_RADIUS), LARGEST_RADIUS)))

    def set_unit(self, unit: BrushUnit) -> None:
        """Measure the brush on the screen or in the picture."""
        self._set(replace(self.brush, unit=unit))

    def step_radius(self, steps: int) -> None:
        """Use a larger (or below 0 a smaller) brush."""
        self.set_radius(stepped_radius(self.brush.radius, steps))

    def begin(self, document: Document) -> None:
        """Take the classes for another picture: an object left, the background right."""
        grounds = [index for index, info in enumerate(document.classes) if info.is_background]
        right = grounds[0] if grounds else 1
        left = 1 if right == 0 else 0
        self._set(replace(self.brush, left=left, right=right))
        self.keep_to(document)

    def keep_to(self, document: Document) -> None:
        """Keep to classes that exist, and to their colours."""
        last = len(document.classes) - 1
        left, right = min(self.brush.left, last), min(self.brush.right, last)
        if left == right and self.brush.left != self.brush.right:  # one of them is gone
            right = 1 if left == 0 else 0
        self._set(
            replace(
                self.brush,
                left=left,
                right=right,
                left_colour=document.classes[left].colour,
                right_colour=document.classes[right].colour,
            )
        )

    def _set(self, brush: Brush) -> None:
        if brush != self.brush:
            self.brush = brush
            self.changed.emit()
