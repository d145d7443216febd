"""A widget that shows the picture, its labelling and the strokes, to be zoomed and moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPalette
from PySide6.QtWidgets import QWidget

from segapp.qt.canvas.painting import PAINTERS, Cursor, Scene, Sheet, chequerboard
from segapp.qt.canvas.stroke_layer import StrokeLayer
from segapp.qt.canvas.viewport import Viewport

if TYPE_CHECKING:
    from PySide6.QtCore import QLineF
    from PySide6.QtGui import QPaintEvent, QResizeEvent

    from segapp.learning.suggestion import Spot
    from segapp.qt.canvas.layers import Layer
    from segapp.values.document import Document
    from segapp.values.rasterize import Rectangle


class PictureView(QWidget):
    """Holds what is to be seen and repaints only what has changed."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setMinimumSize(160, 120)
        self.viewport = Viewport(self)
        self.viewport.changed.connect(self.update)
        self._image: Layer | None = None
        self._labelling: Sheet | None = None
        self._opacity = 0.5
        self._stroke_opacity = 0.85  # plain to see, and what is below still shows
        self._strokes: StrokeLayer | None = None
        self._strokes_shown = True
        self._labelling_hidden = False  # for good, by the command
        self._peeking = False  # as long as a key is held
        self._spot: Spot | None = None
        self._spot_name = ""
        self._selection: tuple[QLineF, ...] = ()
        self._chequer = chequerboard()

    def set_picture(self, layer: Layer) -> None:
        """Show another picture, whole, without labelling and strokes."""
        self._image = layer
        self._labelling = self._spot = None
        self._selection = ()
        height, width = layer.size
        self._strokes = StrokeLayer((height, width))
        self.viewport.show_whole(QSize(width, height))

    def show_anew(self, layer: Layer) -> None:
        """Show the same picture with other levels or channels, at the same zoom."""
        self._image = layer
        self.update()

    def set_document(self, document: Document) -> None:
        """Show the strokes of a document."""
        if self._strokes is not None:
            self._update_box(self._strokes.show(document))

    def set_labelling(self, sheet: Sheet | None) -> None:
        """Show the labelling over the picture or in its place; None withdraws it."""
        before, self._labelling = self._labelling, sheet
        box = sheet.changed_from(before) if sheet is not None and before is not None else None
        if box is None:
            self.update()
        else:
            self._update_box(box)

    def set_spot(self, spot: Spot | None, name: str = "") -> None:
        """Mark where a stroke would help most, and say so to those who do not know yet."""
        if (spot, name) != (self._spot, self._spot_name):
            self._spot, self._spot_name = spot, name
            self.update()

    def set_selection(self, lines: tuple[QLineF, ...]) -> None:
        """Outline what somebody has chosen, by lines in the picture; none at all ends it."""
        if lines != self._selection:
            self._selection = lines
            self.update()

    def set_opacity(self, opacity: float) -> None:
        """Set how strongly the labelling covers the picture, from 0 to 1."""
        self._opacity = opacity
        self.update()

    def set_stroke_opacity(self, opacity: float) -> None:
        """Set how strongly the strokes cover the picture, from 0 to 1."""
        self._stroke_opacity = opacity
        self.update()

    def set_labelling_hidden(self, hidden: bool) -> None:  # noqa: FBT001 - a Qt slot
        """Show the bare picture until the answer is wanted again."""
        if hidden != self._labelling_hidden:
            self._labelling_hidden = hidden
            self.update()

    def peek(self, *, on: bool) -> None:
        """Show the bare picture for a moment, and then what was shown before."""
        if on != self._peeking:
            self._peeking = on
            self.update()

    def set_strokes_shown(self, shown: bool) -> None:  # noqa: FBT001 - a Qt slot
        """Show or hide the strokes; one that is being drawn is always seen."""
        self._strokes_shown = shown
        self.update()

    def _update_box(self, box: Rectangle) -> None:
        """Repaint what shows a box of the picture."""
        left, top, right, bottom = box
        if left < right and top < bottom:
            rect = QRectF(left, top, right - left, bottom - top)
            self.update(self.viewport.view.pixels_covering(rect, 3))

    def _cursor(self) -> Cursor | None:
        """Return the brush's outline, if there is one."""
        return None

    def _is_drawing(self) -> bool:
        """Tell whether a stroke is in the making."""
        return False

    def _scene(self) -> Scene:
        hidden = self._labelling_hidden or self._peeking
        sheet = None if hidden else self._labelling
        bare = hidden or (sheet is not None and sheet.bare)
        shown = (self._strokes_shown and not bare) or self._is_drawing()
        see_through = sheet is not None and sheet.replaces_image
        return Scene(
            view=self.viewport.view,
            ground=self._ground(),
            image=self._image,
            sheet=sheet,
            opacity=self._opacity,
            strokes=self._strokes.layer if self._strokes is not None and shown else None,
            stroke_opacity=self._stroke_opacity,
            spot=None if bare else self._spot,
            spot_name=self._spot_name,
            selection=self._selection,
            cursor=self._cursor(),
            chequer=self._chequer if see_through else None,
            pixel_ratio=self.devicePixelRatioF(),
        )

    def _ground(self) -> QColor:
        """Return a shade darker than the window, from which a picture stands out."""
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
        """Keep the picture in sight."""
        super().resizeEvent(event)
        self.viewport.follow_widget()

    def sizeHint(self) -> QSize:
        """Ask for room, as the picture is what the window is for."""
        return QSize(900, 640)
