"""The brush as it is set: tool, size and classes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from PySide6.QtCore import Qt

# Image pixels: from a single pixel to a disc that covers a whole screen.
SMALLEST_RADIUS = 0.5
LARGEST_RADIUS = 500.0
# A notch of the wheel makes the brush so much larger, and at least by half a pixel.
_STEP_FACTOR, _STEP_LEAST = 1.15, 0.5


class Tool(Enum):
    """What the left and the right button do."""

    BRUSH = "brush"
    ERASER = "eraser"
    HAND = "hand"


@dataclass(frozen=True, slots=True)
class Brush:
    """The left button paints ``left``, the right one ``right``."""

    radius: float = 8.0
    left: int = 0
    right: int = 1
    tool: Tool = Tool.BRUSH
    keep_others: bool = False  # paint around other classes instead of over them
    left_colour: tuple[int, int, int] = (255, 255, 255)

    def label(self, button: Qt.MouseButton) -> int | None:
        """Return the class that a button paints; None erases."""
        if self.tool is Tool.ERASER:
            return None
        return self.right if button is Qt.MouseButton.RightButton else self.left


def stepped_radius(radius: float, steps: float) -> float:
    """Make a radius larger (or smaller, below 0) by steps that one can see at any size."""
    grown = radius * math.pow(_STEP_FACTOR, steps)
    if steps > 0:
        grown = max(grown, radius + _STEP_LEAST * steps)
    elif steps < 0:
        grown = min(grown, radius + _STEP_LEAST * steps)
    grown = round(grown * 2) / 2
    return min(max(grown, SMALLEST_RADIUS), LARGEST_RADIUS)
