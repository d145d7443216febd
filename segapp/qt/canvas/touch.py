"""Fingers on the canvas: one moves the picture, two zoom it as well."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF
from PySide6.QtGui import QEventPoint

if TYPE_CHECKING:
    from PySide6.QtGui import QTouchEvent

    from segapp.qt.canvas.viewport import Viewport

# Widget pixels: fingers nearer than this are one, and their distance says nothing.
_NEAREST = 8.0


class Touch:
    """Keeps what lies under the fingers under them; it never paints."""

    def __init__(self, viewport: Viewport) -> None:
        self._viewport = viewport
        self._fingers: frozenset[int] = frozenset()
        self._centre = QPointF()
        self._spread = 0.0  # mean distance from the centre

    def take(self, event: QTouchEvent) -> None:
        """Follow the fingers; one that comes or goes moves nothing."""
        down = [
            point for point in event.points() if point.state() is not QEventPoint.State.Released
        ]
        fingers = frozenset(point.id() for point in down)
        places = [point.position() for point in down]
        centre, spread = _centre_and_spread(places)
        if fingers and fingers == self._fingers:
            self._viewport.pan(centre - self._centre)
            if spread > _NEAREST and self._spread > _NEAREST:
                self._viewport.zoom(spread / self._spread, centre)
        self._fingers, self._centre, self._spread = fingers, centre, spread

    def let_go(self) -> None:
        """Forget the fingers: the system has taken them for something else."""
        self._fingers = frozenset()


def _centre_and_spread(places: list[QPointF]) -> tuple[QPointF, float]:
    if not places:
        return QPointF(), 0.0
    n = len(places)
    centre = QPointF(sum(at.x() for at in places) / n, sum(at.y() for at in places) / n)
    spread = sum(math.hypot(at.x() - centre.x(), at.y() - centre.y()) for at in places) / n
    return centre, spread
