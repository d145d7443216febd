"""A stroke in the making: pointer positions in, short segments and the finished stroke out."""

from __future__ import annotations

import math

from segapp.values.document import Stroke

SMALLEST_RADIUS = 0.5
LARGEST_RADIUS = 500.0


def stepped_radius(radius: float, steps: float) -> float:
    """Make a radius larger (or smaller, below 0) by steps that one can see at any size."""
    grown = radius * math.pow(1.15, steps)
    if steps > 0:
        grown = max(grown, radius + 0.5 * steps)
    elif steps < 0:
        grown = min(grown, radius + 0.5 * steps)
    grown = round(grown * 2) / 2
    return min(max(grown, SMALLEST_RADIUS), LARGEST_RADIUS)


class StrokeInProgress:
    """Collects the points of one stroke from press to release.

    ``pressure`` is ``None`` for a mouse; a pen's first pressure decides that the stroke
    carries pressures.
    """

    def __init__(self, radius: float, label: int | None, *, with_pressure: bool) -> None:
        self._radius = radius
        self._label = label
        self._with_pressure = with_pressure
        self._points: list[tuple[float, float]] = []
        self._pressures: list[float] = []

    def add(self, x: float, y: float, pressure: float = 1.0) -> Stroke | None:
        """Take a further position; return the piece that is new, None if there is none."""
        if self._points and self._points[-1] == (x, y):
            return None
        self._points.append((x, y))
        self._pressures.append(min(max(pressure, 0.05), 1.0))
        return self._stroke(max(len(self._points) - 2, 0))

    def finished(self) -> Stroke:
        """Return the whole stroke."""
        return self._stroke(0)

    def _stroke(self, first: int) -> Stroke:
        pressures = tuple(self._pressures[first:]) if self._with_pressure else ()
        return Stroke(tuple(self._points[first:]), self._radius, self._label, pressures)
