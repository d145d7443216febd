"""The icons of `assets/icons`, drawn in the palette's colours."""

from __future__ import annotations

from functools import cache, lru_cache

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QColor, QIcon, QImage, QPainter, QPalette, QPixmap
from PySide6.QtSvg import QSvgRenderer

from segapp.files.resources import ASSETS

# Of menus and tool bars, on screens of scale 1 and 2: Qt need not stretch any of them.
_SIZES = (16, 20, 32, 40)


@cache
def _source(name: str) -> str:
    return (ASSETS / "icons" / f"{name}.svg").read_text(encoding="utf-8")


def icon(name: str, palette: QPalette) -> QIcon:
    """Return an icon whose lines have the text's colour, faded when disabled."""
    made = QIcon()
    for mode, group in (
        (QIcon.Mode.Normal, QPalette.ColorGroup.Normal),
        (QIcon.Mode.Disabled, QPalette.ColorGroup.Disabled),
    ):
        colour = palette.color(group, QPalette.ColorRole.ButtonText)
        for size in _SIZES:
            made.addPixmap(pixmap(name, size, colour), mode)
    return made


def pixmap(name: str, size: int, colour: QColor) -> QPixmap:
    """Draw one icon in one size and colour."""
    return QPixmap.fromImage(_image(name, size, colour.name()))


@lru_cache(maxsize=1)  # for one size after the other
def _renderer(name: str, colour: str) -> QSvgRenderer:
    source = _source(name).replace("currentColor", colour)
    return QSvgRenderer(QByteArray(source.encode("utf-8")))


@cache
def _image(name: str, size: int, colour: str) -> QImage:
    drawn = QImage(size, size, QImage.Format.Format_ARGB32_Premultiplied)
    drawn.fill(Qt.GlobalColor.transparent)
    painter = QPainter(drawn)
    _renderer(name, colour).render(painter, QRectF(0, 0, size, size))
    painter.end()
    return drawn


def application_icon() -> QIcon:
    """Return the program's own sign."""
    made = QIcon()
    for size in (16, 24, 32, 48, 64, 128, 256):
        made.addPixmap(pixmap("../icon", size, QColor()))
    return made
