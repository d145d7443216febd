"""Annotations read back from the file that holds them, drawn over the picture and counted."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from PySide6.QtCore import QCoreApplication, QPointF, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPainterPath, QPen, QPolygonF

from segapp.qt.canvas.qimage import qimage_over
from segapp.qt.canvas.screen_pixels import opaque

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from segapp.values.document import Document
    from segapp.values.picture import Picture

# Pixels of the longer side: what a dialog has room for, on a fine screen.
_SIDE = 900
_FILLED = 95  # of 255: what is below still shows
_Colour = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class _Part:
    """What a file says about one class: polygons, or a mask and how many runs tell it."""

    name: str
    polygons: tuple[Sequence[Sequence[float]], ...] = ()
    mask: NDArray[np.bool_] | None = None
    runs: int = 0

    @property
    def told(self) -> str:
        """Return the counts in words."""
        if self.mask is not None:
            pixels = int(np.count_nonzero(self.mask))
            return _tr("{}: {} pixels in {} runs").format(self.name, pixels, self.runs)
        corners = sum(len(polygon) for polygon in self.polygons)
        if len(self.polygons) == 1:
            return _tr("{}: one polygon with {} corners").format(self.name, corners)
        return _tr("{}: {} polygons with {} corners").format(
            self.name, len(self.polygons), corners
        )


def annotations_drawn(path: Path, document: Document, picture: Picture) -> tuple[QImage, str]:
    """Draw what COCO's or LabelMe's JSON holds over the picture, and count it."""
    content = json.loads(path.read_text(encoding="utf-8"))
    parts = list(_coco(content) if "annotations" in content else _labelme(content))
    colours = {info.name: info.colour for info in document.classes}
    image, scale = small_picture(picture)
    painter = QPainter(image)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.scale(scale, scale)
    for part in parts:
        colour = colours.get(part.name, (255, 255, 255))
        if part.mask is not None:
            _draw_mask(painter, part.mask, colour)
        else:
            _draw_polygons(painter, part.polygons, colour, 1 / scale)
    painter.end()
    told = "\n".join(part.told for part in parts) or _tr("No annotation: no object has pixels.")
    return image, told


def labels_drawn(labels: NDArray[np.uint8], document: Document, picture: Picture) -> QImage:
    """Draw an array of class numbers over the picture."""
    image, scale = small_picture(picture)
    painter = QPainter(image)
    painter.scale(scale, scale)
    for index, info in enumerate(document.classes):
        _draw_mask(painter, labels == index, info.colour)
    painter.end()
    return image


def small_picture(picture: Picture) -> tuple[QImage, float]:
    """Return the picture in a size for a dialog, and its pixels an image pixel."""
    height, width = picture.rgb.shape[:2]
    step = max(max(height, width) // (2 * _SIDE), 1)  # a quick first halving, then a smooth one
    rough = qimage_over(opaque(np.ascontiguousarray(picture.rgb[::step, ::step])))
    scale = min(_SIDE / max(height, width), 1.0)
    image = rough.scaled(
        max(round(width * scale), 1),
        max(round(height * scale), 1),
        Qt.AspectRatioMode.IgnoreAspectRatio,
        Qt.TransformationMode.SmoothTransformation,
    )
    return image.convertToFormat(QImage.Format.Format_RGB32), scale


def _draw_polygons(
    painter: QPainter,
    polygons: Iterable[Sequence[Sequence[float]]],
    colour: _Colour,
    pixel: float,
) -> None:
    """Fill what the polygons enclose; the bridges to holes enclose nothing."""
    shape = QPainterPath()
    shape.setFillRule(Qt.FillRule.OddEvenFill)
    for polygon in polygons:
        shape.addPolygon(QPolygonF([QPointF(x, y) for x, y in polygon]))
        shape.closeSubpath()
    painter.setPen(QPen(QColor(0, 0, 0, 150), 2.6 * pixel))
    painter.setBrush(QColor(*colour, _FILLED))
    painter.drawPath(shape)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(QColor(*colour), 1.3 * pixel))
    painter.drawPath(shape)


def _draw_mask(painter: QPainter, mask: NDArray[np.bool_], colour: _Colour) -> None:
    rgba = np.zeros((*mask.shape, 4), dtype=np.uint8)
    rgba[mask] = (*(part * _FILLED // 255 for part in colour), _FILLED)
    painter.drawImage(QPointF(0, 0), qimage_over(rgba))


def _coco(content: dict[str, Any]) -> Iterable[_Part]:
    names = {category["id"]: category["name"] for category in content["categories"]}
    for annotation in content["annotations"]:
        name, told = names[annotation["category_id"]], annotation["segmentation"]
        if isinstance(told, dict):
            counts = expanded(told["counts"])
            yield _Part(name, mask=_mask(counts, told["size"]), runs=len(counts))
        else:
            pairs = (list(zip(flat[::2], flat[1::2], strict=True)) for flat in told)
            yield _Part(name, tuple(pairs))


def _labelme(content: dict[str, Any]) -> Iterable[_Part]:
    names = dict.fromkeys(shape["label"] for shape in content["shapes"])
    for name in names:
        shapes = (shape["points"] for shape in content["shapes"] if shape["label"] == name)
        yield _Part(name, tuple(shapes))


def expanded(text: str) -> list[int]:
    """Read COCO's text of run lengths: the way back from `run_length.compressed`.

    >>> from segapp.files.export.run_length import compressed
    >>> expanded(compressed([3, 100, 7, 2000, 1]))
    [3, 100, 7, 2000, 1]
    """
    counts: list[int] = []
    value = shift = 0
    for letter in text.encode("ascii"):
        bits = letter - 48
        value |= (bits & 0x1F) << shift
        shift += 5
        if not bits & 0x20:
            if bits & 0x10:
                value -= 1 << shift
            counts.append(value + counts[-2] if len(counts) > 2 else value)
            value = shift = 0
    return counts


def _mask(counts: list[int], size: Sequence[int]) -> NDArray[np.bool_]:
    ones = np.arange(len(counts)) % 2 == 1
    return np.ascontiguousarray(np.repeat(ones, counts).reshape(size[::-1]).T)


def _tr(text: str) -> str:
    return QCoreApplication.translate("AnnotationPreview", text)
