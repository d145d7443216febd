"""A widget that shows the picture, the labelling and the strokes, to be zoomed and moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPalette
from PySide6.QtWidgets import QWidget

from segapp.qt.canvas.painting import PAINTERS, Cursor, Scene, chequerboard
from segapp.qt.canvas.stroke_layer import StrokeLayer
from segapp.qt.canvas.view import View

if TYPE_CHECKING:
    from PySide6.QtGui import QPaintEvent, QResizeEvent

    from segapp.qt.canvas.layers import Layer
    from segapp.values.document import Document
    from segapp.values.rasterize import Rectangle

Spot = tuple[float, float, float]
"""Centre and radius of a region, in image pixels."""


class PictureView(QWidget):
    """Holds what is to be seen and repaints only what has changed."""

    view_changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setMinimumSize(160, 120)
        self._view = View()
        self._fits = True  # follow the window's size until the user zooms or moves
        self._image: Layer | None = None
        self._labelling: Layer | None = None
        self._labelling_replaces_image = False
        self._labelling_solid = False
        self._opacity = 0.5
        self._strokes: StrokeLayer | None = None
        self._strokes_shown = True
        self._labelling_hidden = False
        self._spot: Spot | None = None
        self._chequer = chequerboard()

    def set_picture(self, layer: Layer) -> None:
        """Show another picture, whole, without labelling and strokes."""
        self._image = layer
        self._labelling = self._spot = None
        height, width = layer.rgba.shape[:2]
        self._strokes = StrokeLayer((height, width))
        self.fit()

    def set_document(self, document: Document) -> None:
        """Show the strokes of a document."""
        if self._strokes is not None:
            self._update_box(self._strokes.show(document))

    def set_labelling(
        self, layer: Layer | None, *, replaces_image: bool = False, solid: bool = False
    ) -> None:
        """Show the labelling over the picture or in its place; None withdraws it.

        A solid labelling, such as a thin line, is not faded by the opacity.
        """
        self._labelling = layer
        self._labelling_solid = solid
        self._labelling_replaces_image = replaces_image
        self.update()

    def set_spot(self, spot: Spot | None) -> None:
        """Mark where a stroke would help most."""
        if spot != self._spot:
            self._spot = spot
            self.update()

    def set_opacity(self, opacity: float) -> None:
        """Set how strongly the labelling covers the picture, from 0 to 1."""
        self._opacity = opacity
        self.update()

    def set_labelling_hidden(self, hidden: bool) -> None:  # noqa: FBT001 - a Qt slot
        """Show the bare picture for a while."""
        if hidden != self._labelling_hidden:
            self._labelling_hidden = hidden
            self.update()

    def set_strokes_shown(self, shown: bool) -> None:  # noqa: FBT001 - a Qt slot
        """Show or hide the strokes; one that is being drawn is always seen."""
        self._strokes_shown = shown
        self.update()

    @property
    def view(self) -> View:
        """Where the picture lies."""
        return self._view

    @property
    def screen_scale(self) -> float:
        """Pixels of the screen an image pixel."""
        return self._view.scale * self.devicePixelRatioF()

    @property
    def image_size(self) -> QSize:
        """Width and height of the picture; empty without one."""
        if self._image is None:
            return QSize()
        height, width = self._image.rgba.shape[:2]
        return QSize(width, height)

    def fit(self) -> None:
        """Show the whole picture, and keep doing so when the window's size changes."""
        if self._image is not None:
            self._set_view(View.fitted(self.image_size, self.size()))
            self._fits = True

    def show_actual_size(self) -> None:
        """Show one image pixel as one pixel of the screen, around the present centre."""
        self.zoom(1.0 / (self._view.scale * self.devicePixelRatioF()))

    def zoom(self, factor: float, anchor: QPointF | None = None) -> None:
        """Zoom about a point of the widget, or about its centre."""
        if self._image is not None:
            self._move_to(self._view.zoomed(factor, anchor or QRectF(self.rect()).center()))

    def pan(self, delta: QPointF) -> None:
        """Move the picture by widget pixels."""
        if self._image is not None:
            self._move_to(self._view.panned(delta))

    def centre_on(self, x: float, y: float) -> None:
        """Bring a point of the picture into the middle."""
        here = self._view.to_widget(QPointF(x, y))
        self.pan(QRectF(self.rect()).center() - here)

    def _move_to(self, view: View) -> None:
        self._set_view(view.within_reach(self.image_size, self.size()))
        self._fits = False

    def _set_view(self, view: View) -> None:
        self._view = view.aligned(self.devicePixelRatioF())
        self.update()
        self.view_changed.emit()

    def _update_box(self, box: Rectangle) -> None:
        """Repaint what shows a box of the picture."""
        left, top, right, bottom = box
        if left < right and top < bottom:
            self.update(
                self._view.pixels_covering(QRectF(left, top, right - left, bottom - top), 3)
            )

    def _cursor(self) -> Cursor | None:
        """Return the brush's outline, if there is one."""
        return None

    def _is_drawing(self) -> bool:
        return False

    def _scene(self) -> Scene:
        labelling = None if self._labelling_hidden else self._labelling
        shown = (self._strokes_shown and not self._labelling_hidden) or self._is_drawing()
        see_through = labelling is not None and self._labelling_replaces_image
        return Scene(
            view=self._view,
            ground=self._ground(),
            image=self._image,
            labelling=labelling,
            labelling_replaces_image=self._labelling_replaces_image,
            opacity=1.0 if self._labelling_solid else self._opacity,
            strokes=self._strokes.layer if self._strokes is not None and shown else None,
            spot=None if self._labelling_hidden else self._spot,
            cursor=self._cursor(),
            chequer=self._chequer if see_through else None,
            pixel_ratio=self.devicePixelRatioF(),
        )

    def _ground(self) -> QColor:
        window = self.palette().color(QPalette.ColorRole.Window)
        return window.darker(112) if window.lightness() > 128 else window.darker(135)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the layers in their order."""
        painter = QPainter(self)
        painter.setClipRegion(event.region())
        scene = self._scene()
        for paint in PAINTERS:
            paint(painter, scene)
        painter.end()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep a fitted picture fitted."""
        super().resizeEvent(event)
        if self._image is None:
            return
        if self._fits:
            self.fit()
        else:
            self._move_to(self._view)

    def sizeHint(self) -> QSize:
        """Ask for room, as the picture is what the window is for."""
        return QSize(900, 640)

    def _widget_rect_around(self, centre: QPointF, radius: float) -> QRect:
        """Widget pixels of a circle in image coordinates, its line included."""
        at = self._view.to_widget(centre)
        reach = radius * self._view.scale + 6
        return QRectF(at.x() - reach, at.y() - reach, 2 * reach, 2 * reach).toAlignedRect()
