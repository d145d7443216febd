"""How often each value of a channel occurs, with handles for black, white and the middle."""

from __future__ import annotations

import math
from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPalette, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from segapp.values.levels import GAMMAS, Levels

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from PySide6.QtGui import QMouseEvent, QPaintEvent

BINS = 256
_MOST_VALUES = 1 << 20  # of a channel that are counted: the shape is the same, and at once there
_ROOM = 12  # pixels below the curve, for the handles
_SIDE = 7  # pixels beside the curve, for half a handle
_NEAR = 14  # pixels within which a press takes a handle


class Handle(Enum):
    """What is dragged."""

    BLACK = "black"
    GAMMA = "gamma"
    WHITE = "white"


def span_of(values: NDArray[np.generic], levels: Levels) -> tuple[float, float]:
    """Return from where to where a channel is drawn: its values, and its levels."""
    some = _some(values)
    finite = some[np.isfinite(some)]
    ends = [end for end in (levels.black, levels.white) if math.isfinite(end)]
    ends += [float(finite.min()), float(finite.max())] if finite.size else []
    low, high = (min(ends), max(ends)) if ends else (0.0, 1.0)
    return (low, high) if high > low else (low, low + 1.0)


def counts_of(values: NDArray[np.generic], span: tuple[float, float]) -> NDArray[np.float64]:
    """Count the values in bins of equal width; a large picture is counted here and there."""
    some = _some(values).astype(np.float64)
    counts, _ = np.histogram(some[np.isfinite(some)], BINS, span)
    return counts.astype(np.float64)


def _some(values: NDArray[np.generic]) -> NDArray[np.generic]:
    step = max(1, math.isqrt(values.size // _MOST_VALUES))
    return values[::step, ::step]


class Histogram(QWidget):
    """Draws curves and three handles; `dragged` while one moves, `chosen` when it is let go."""

    dragged = Signal(object)  # Levels
    chosen = Signal(object)  # Levels

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._curves: tuple[tuple[QColor, NDArray[np.float64]], ...] = ()
        self._span = (0.0, 1.0)
        self._levels = Levels(0.0, 1.0)
        self._held: Handle | None = None
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumHeight(110)
        self.setAccessibleName(self.tr("How often each value occurs"))
        self.setToolTip(self.tr("Drag the black, the grey and the white handle"))

    def sizeHint(self) -> QSize:
        """Ask for room in which a shape can be seen."""
        return QSize(320, 140)

    def show_curves(
        self,
        curves: tuple[tuple[QColor, NDArray[np.float64]], ...],
        span: tuple[float, float],
        levels: Levels,
    ) -> None:
        """Show how often values occur between the ends of ``span``, and where the levels are."""
        self._curves, self._span, self._levels = curves, span, levels
        told = self.tr("black at {:.5g}, white at {:.5g}, gamma {:.2f}")
        self.setAccessibleDescription(told.format(levels.black, levels.white, levels.gamma))
        self.update()

    # The hand ---------------------------------------------------------------------------

    def place_of(self, handle: Handle) -> float:
        """Return where a handle is, in pixels from the left."""
        levels = self._levels
        if handle is Handle.GAMMA:  # at the value that becomes half as bright as white
            share = 0.5**levels.gamma
            return self._x(levels.black + share * (levels.white - levels.black))
        return self._x(levels.black if handle is Handle.BLACK else levels.white)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Take the nearest handle."""
        x = event.position().x()
        if event.button() is not Qt.MouseButton.LeftButton:
            return
        order = (Handle.GAMMA, Handle.BLACK, Handle.WHITE)
        nearest = min(order, key=lambda handle: abs(self.place_of(handle) - x))
        if abs(self.place_of(nearest) - x) <= _NEAR:
            self._held = nearest

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Move the handle that is held."""
        if self._held is not None:
            self._levels = self._moved(self._held, self._value(event.position().x()))
            self.update()
            self.dragged.emit(self._levels)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Let go."""
        del event
        if self._held is not None:
            self._held = None
            self.chosen.emit(self._levels)

    def _moved(self, handle: Handle, value: float) -> Levels:
        levels = self._levels
        least = (self._span[1] - self._span[0]) / 1e4
        if handle is Handle.BLACK:
            return replace(levels, black=min(value, levels.white - least))
        if handle is Handle.WHITE:
            return replace(levels, white=max(value, levels.black + least))
        width = levels.white - levels.black
        share = (value - levels.black) / width if width else 0.5
        share = min(max(share, 1e-4), 1 - 1e-4)
        gamma = math.log(share) / math.log(0.5)
        return replace(levels, gamma=round(min(max(gamma, GAMMAS[0]), GAMMAS[1]), 3))

    # Drawing ----------------------------------------------------------------------------

    def _x(self, value: float) -> float:
        low, high = self._span
        share = min(max((value - low) / (high - low), 0.0), 1.0) if math.isfinite(value) else 0.0
        return _SIDE + share * (self.width() - 2 * _SIDE)

    def _value(self, x: float) -> float:
        low, high = self._span
        share = (x - _SIDE) / max(self.width() - 2 * _SIDE, 1)
        return low + min(max(share, 0.0), 1.0) * (high - low)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the curves, what is cut at both ends, and the handles."""
        del event
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        frame = QRectF(_SIDE, 1, self.width() - 2 * _SIDE, self.height() - _ROOM - 2)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self.palette().color(QPalette.ColorRole.Base))
        painter.drawRoundedRect(frame, 3, 3)
        highest = max((float(curve.max()) for _, curve in self._curves), default=0.0) or 1.0
        for colour, curve in self._curves:
            filled = QColor(colour)
            filled.setAlpha(110 if len(self._curves) > 1 else 220)
            painter.setBrush(filled)
            # The square root, so that few bright pixels on much background can be seen.
            heights = np.sqrt(curve / highest) * (frame.height() - 4)
            step = frame.width() / len(curve)
            points = [QPointF(frame.left(), frame.bottom())]
            for place, height in enumerate(heights.tolist()):
                y = frame.bottom() - height
                points.append(QPointF(frame.left() + place * step, y))
                points.append(QPointF(frame.left() + (place + 1) * step, y))
            painter.drawPolygon(QPolygonF([*points, QPointF(frame.right(), frame.bottom())]))
        cut = QColor(self.palette().color(QPalette.ColorRole.Window))
        cut.setAlpha(150)
        black, white = self.place_of(Handle.BLACK), self.place_of(Handle.WHITE)
        painter.fillRect(
            QRectF(frame.left(), frame.top(), black - frame.left(), frame.height()), cut
        )
        painter.fillRect(QRectF(white, frame.top(), frame.right() - white, frame.height()), cut)
        for handle, shade in ((Handle.GAMMA, 128), (Handle.BLACK, 0), (Handle.WHITE, 255)):
            self._draw_handle(painter, self.place_of(handle), frame.bottom(), shade)
        painter.end()

    def _draw_handle(self, painter: QPainter, x: float, y: float, shade: int) -> None:
        painter.setPen(self.palette().color(QPalette.ColorRole.Dark))
        painter.drawLine(QPointF(x, 1), QPointF(x, y))
        painter.setBrush(QColor(shade, shade, shade))
        corners = (QPointF(x, y), QPointF(x - 6, y + 10), QPointF(x + 6, y + 10))
        painter.drawPolygon(QPolygonF(list(corners)))
