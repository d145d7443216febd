"""A table of measures read back from its file, drawn where it says the parts are."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPen

from segapp.files.export.measures import WHOLE
from segapp.qt.files.annotation_preview import small_picture
from segapp.values.wording import cell

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from segapp.values.document import Document
    from segapp.values.picture import Picture

    Row = Mapping[str, str]

# Of the drawing's longer side: a number is read where the dialog shows it, and a part that is
# smaller than its number has none.
_LETTER = 0.032


def measures_drawn(path: Path, document: Document, picture: Picture) -> tuple[QImage, str]:
    """Draw each part's box and number over the picture, and tell counts and areas."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    colours = {cell(info.name): QColor(*info.colour) for info in document.classes}
    image, scale = small_picture(picture)
    painter = QPainter(image)
    font = painter.font()
    font.setPixelSize(max(round(_LETTER * max(image.width(), image.height())), 7))
    font.setBold(True)
    painter.setFont(font)
    for row in rows:
        if row["part"] != WHOLE:
            _draw(painter, row, colours[row["class"]], scale)
    painter.end()
    return image, "\n".join(_told(row) for row in rows if row["part"] == WHOLE)


def _draw(painter: QPainter, row: Row, colour: QColor, scale: float) -> None:
    left, top, width, height = (float(row[n]) * scale for n in ("left", "top", "width", "height"))
    box = QRectF(left, top, width, height)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for pen in (QPen(QColor(0, 0, 0, 150), 3.0), QPen(colour, 1.5)):
        painter.setPen(pen)
        painter.drawRect(box)
    number = QRectF(painter.fontMetrics().boundingRect(row["part"])).adjusted(-4, -1, 4, 1)
    number.moveCenter(QPointF(float(row["x"]) * scale, float(row["y"]) * scale))
    if number.width() > width or number.height() > height:
        return
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(0, 0, 0, 170))
    painter.drawRoundedRect(number, 3, 3)
    painter.setPen(QColor(255, 255, 255))
    painter.drawText(number, Qt.AlignmentFlag.AlignCenter, row["part"])


def _told(row: Row) -> str:
    """Return how many parts a class has and how large they are, in the file's own unit."""
    column = [name for name in row if name.startswith("area_")][-1]
    unit = column.removeprefix("area_")
    area = f"{row[column]} {unit if unit == 'px' else unit.removesuffix('2') + '²'}"
    if row["count"] == "1":
        return _tr("{}: one part, {}").format(row["class"], area)
    return _tr("{}: {} parts, {} in all").format(row["class"], row["count"], area)


def _tr(text: str) -> str:
    return QCoreApplication.translate("MeasuresPreview", text)
