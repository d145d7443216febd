"""Painters of the canvas, one for each layer, over an immutable scene."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPen, QPixmap, qGray

from segapp.imaging.overlay import scale_bar

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtGui import QImage

    from segapp.model.picture import Scale
    from segapp.qt.canvas.layers import Box, ContourLayer, Layer
    from segapp.qt.canvas.viewport import View


# Side of a square of the chequerboard, in screen pixels.
_CHEQUER = 8
# A class colour below this grey value gets a white rim instead of a black one.
_SELECTED = QColor(0, 110, 255)  # which no contour of a result has
_DARK = 110


@dataclass(frozen=True, slots=True)
class BrushCursor:
    """Preview circle of the brush, in image coordinates."""

    centre: QPointF
    radius: float
    colour: QColor
    erasing: bool


@dataclass(frozen=True, slots=True, eq=False)
class LabelOverlay:
    """Areas and contours of a labelling.

    ``replaces_image`` shows the areas instead of the picture, on a chequerboard; ``bare`` hides
    strokes and markers.
    """

    areas: Layer | None = None
    lines: ContourLayer | None = None
    replaces_image: bool = False
    bare: bool = False

    def changed_box(self, before: LabelOverlay) -> Box | None:
        """Return the box of the image that differs from ``before``; None if it is unknown."""
        alike = (self.replaces_image, self.bare) == (before.replaces_image, before.bare)
        if not alike or self.lines is not None or before.lines is not None:
            return None
        if self.areas is None or before.areas is None:
            return None
        return self.areas.changed_box(before.areas)


@dataclass(frozen=True, slots=True, eq=False)
class Glow:
    """A stroke that glows, in a box of the image.

    Parameters
    ----------
    image
        Its pixels, perhaps smaller, in the colour of the glow.
    name
        Shown below it.
    """

    image: QImage
    box: QRectF
    name: str


@dataclass(frozen=True, slots=True)
class Scene:
    """Input of the painters, made for each paint event."""

    view: View
    background: QColor
    image: Layer | None = None
    overlay: LabelOverlay | None = None
    opacity: float = 1.0
    strokes: Layer | None = None
    stroke_opacity: float = 1.0
    spot: tuple[float, float, float] | None = None
    spot_name: str = ""
    selection: tuple[QLineF, ...] = ()
    proposal: tuple[QLineF, ...] = ()
    glow: tuple[Glow, ...] = ()
    cursor: BrushCursor | None = None
    chequer: QBrush | None = None
    pixel_ratio: float = 1.0
    scale: Scale | None = None

    @property
    def screen_scale(self) -> float:
        """Physical screen pixels per image pixel."""
        return self.view.scale * self.pixel_ratio


def chequerboard() -> QBrush:
    """Return the pattern that stands for transparency."""
    tile = QPixmap(2 * _CHEQUER, 2 * _CHEQUER)
    tile.fill(QColor(255, 255, 255))
    painter = QPainter(tile)
    for corner in (0, _CHEQUER):
        painter.fillRect(corner, corner, _CHEQUER, _CHEQUER, QColor(214, 214, 214))
    painter.end()
    return QBrush(tile)


def paint_background(painter: QPainter, scene: Scene) -> None:
    """Fill the area around the picture, and the chequerboard behind it."""
    painter.fillRect(painter.viewport(), scene.background)
    if scene.image is None or scene.chequer is None:
        return
    height, width = scene.image.size
    frame = scene.view.rect_to_widget(QRectF(0, 0, width, height))
    painter.setBrushOrigin(frame.topLeft())
    painter.fillRect(frame, scene.chequer)


def _draw(painter: QPainter, scene: Scene, layer: Layer) -> None:
    painter.save()
    painter.translate(scene.view.x, scene.view.y)
    painter.scale(scene.view.scale, scene.view.scale)
    layer.draw(painter, scene.screen_scale)
    painter.restore()


def paint_image(painter: QPainter, scene: Scene) -> None:
    """Draw the picture, unless the overlay replaces it."""
    replaced = scene.overlay is not None and scene.overlay.replaces_image
    if scene.image is not None and not replaced:
        _draw(painter, scene, scene.image)


def paint_labelling(painter: QPainter, scene: Scene) -> None:
    """Draw the labelling in the chosen view mode."""
    overlay = scene.overlay
    if overlay is None:
        return
    if overlay.areas is not None:
        painter.setOpacity(1.0 if overlay.replaces_image else scene.opacity)
        _draw(painter, scene, overlay.areas)
        painter.setOpacity(1.0)
    if overlay.lines is not None:
        overlay.lines.draw(painter, scene.view, painter.clipBoundingRect())


def paint_strokes(painter: QPainter, scene: Scene) -> None:
    """Draw the layer of strokes."""
    if scene.strokes is not None:
        painter.setOpacity(scene.stroke_opacity)
        _draw(painter, scene, scene.strokes)
        painter.setOpacity(1.0)


def _two_tone(colour: QColor, width: float = 1.5) -> tuple[QPen, QPen]:
    """Return pens for a halo and for the line on it, visible on any picture."""
    dark = qGray(colour.rgb()) < _DARK
    halo = QPen(QColor(255, 255, 255, 200) if dark else QColor(0, 0, 0, 170), width + 2.0)
    line = QPen(colour, width)
    return halo, line


def paint_spot(painter: QPainter, scene: Scene) -> None:
    """Ring the least certain region."""
    if scene.spot is None:
        return
    x, y, radius = scene.spot
    centre = scene.view.to_widget(QPointF(x, y))
    reach = max(radius * scene.view.scale, 10.0)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for pen in _two_tone(QColor(255, 255, 255), 2.0):
        pen.setDashPattern([3.0, 2.5])
        painter.setPen(pen)
        painter.drawEllipse(centre, reach, reach)
    if scene.spot_name:
        _draw_name(painter, scene.spot_name, centre, reach)


def paint_selection(painter: QPainter, scene: Scene) -> None:
    """Draw the contours of the selected region and of the proposed object."""
    _draw_contour(painter, scene, scene.selection, _SELECTED, 3.0)
    colour = QColor(255, 255, 255) if scene.cursor is None else scene.cursor.colour
    _draw_contour(painter, scene, scene.proposal, colour)


def _draw_contour(
    painter: QPainter,
    scene: Scene,
    contour: tuple[QLineF, ...],
    colour: QColor,
    width: float = 2.0,
) -> None:
    if not contour:
        return
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, on=False)
    to_widget = scene.view.to_widget
    lines = [QLineF(to_widget(line.p1()), to_widget(line.p2())) for line in contour]
    for pen in _two_tone(colour, width):
        painter.setPen(pen)
        painter.drawLines(lines)


def paint_glow(painter: QPainter, scene: Scene) -> None:
    """Draw the strokes that glow, and their names."""
    for glow in scene.glow:
        painter.drawImage(scene.view.rect_to_widget(glow.box), glow.image)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    for glow in scene.glow:
        box = scene.view.rect_to_widget(glow.box)
        _draw_name(painter, glow.name, box.center(), box.height() / 2)


def _draw_name(painter: QPainter, name: str, centre: QPointF, reach: float) -> None:
    """Draw the label of a ring below it, or above if there is no room."""
    text = QRectF(painter.fontMetrics().boundingRect(name)).adjusted(-9, -5, 9, 5)
    room = QRectF(painter.viewport())
    text.moveCenter(QPointF(centre.x(), centre.y() + reach + text.height() / 2 + 6))
    if text.bottom() > room.bottom():
        text.moveBottom(centre.y() - reach - 6)
    text.moveLeft(min(max(text.left(), room.left() + 4), room.right() - text.width() - 4))
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(0, 0, 0, 190))
    painter.drawRoundedRect(text, 6, 6)
    painter.setPen(QColor(255, 255, 255))
    painter.drawText(text, Qt.AlignmentFlag.AlignCenter, name)


def paint_scale_bar(painter: QPainter, scene: Scene) -> None:
    """Draw a bar of a round length in the lower left corner, where pixels have a size."""
    if scene.scale is None or scene.image is None:
        return
    room = painter.viewport()
    bar = scale_bar(scene.scale, room.width() / scene.view.scale)
    left, bottom = 18.0, room.height() - 18.0
    line = QRectF(left, bottom - 5, bar.pixels * scene.view.scale, 5)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, on=False)
    painter.fillRect(line.adjusted(-1.5, -1.5, 1.5, 1.5), QColor(0, 0, 0, 190))
    painter.fillRect(line, QColor(255, 255, 255))
    _draw_name(painter, bar.text, QPointF(line.center().x(), line.top() - 36), 0.0)


def paint_cursor(painter: QPainter, scene: Scene) -> None:
    """Draw the preview circle of the brush."""
    cursor = scene.cursor
    if cursor is None:
        return
    centre = scene.view.to_widget(cursor.centre)
    reach = max(cursor.radius * scene.view.scale, 1.5)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for pen in _two_tone(cursor.colour):
        if cursor.erasing:
            pen.setStyle(Qt.PenStyle.DotLine)
        painter.setPen(pen)
        painter.drawEllipse(centre, reach, reach)


PAINTERS: tuple[Callable[[QPainter, Scene], None], ...] = (
    paint_background,
    paint_image,
    paint_labelling,
    paint_strokes,
    paint_selection,
    paint_glow,
    paint_spot,
    paint_scale_bar,
    paint_cursor,
)
