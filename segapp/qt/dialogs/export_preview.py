"""Previews of exported files, read back from disk."""

from __future__ import annotations

import csv
import json
import tempfile
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PySide6.QtCore import QCoreApplication, QPointF, QRect, QRectF, QSize, QSizeF, Qt
from PySide6.QtGui import (
    QColor,
    QImage,
    QPainter,
    QPainterPath,
    QPalette,
    QPen,
    QPixmap,
    QPolygonF,
)
from PySide6.QtWidgets import QWidget

from segapp.imaging.matting import default_band_width, soft_edge
from segapp.imaging.overlay import premultiplied
from segapp.imaging.rasterise import rasterize_marks
from segapp.io.export.rasters import (
    backdrop_pixels,
    before_backdrop,
    object_pixels,
    run_to_end,
    straight_cutout,
)
from segapp.io.export.tables import WHOLE
from segapp.io.images import load_image
from segapp.model.validation import csv_cell
from segapp.qt.canvas.layers import add_alpha, qimage_view
from segapp.qt.canvas.painting import chequerboard

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray
    from PySide6.QtGui import QMouseEvent, QPaintEvent, QWheelEvent

    from segapp.io.export.formats import ExportChoices, ExportFormat
    from segapp.model.document import Document
    from segapp.model.labelling import Labelling
    from segapp.model.picture import Picture


# Pixels of the longer side of a drawn preview, on a screen of high resolution.
_ANNOTATION_SIDE = 900
_FILL_ALPHA = 95  # of 255
_Colour = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class _Part:
    """Annotation of a class: polygons, or a mask and the number of its runs."""

    name: str
    polygons: tuple[Sequence[Sequence[float]], ...] = ()
    mask: NDArray[np.bool_] | None = None
    runs: int = 0

    @property
    def summary(self) -> str:
        """The counts in words."""
        if self.mask is not None:
            pixels = int(np.count_nonzero(self.mask))
            return _tr_annotations("{}: {} pixels in {} runs").format(self.name, pixels, self.runs)
        corners = sum(len(polygon) for polygon in self.polygons)
        if len(self.polygons) == 1:
            return _tr_annotations("{}: one polygon with {} corners").format(self.name, corners)
        return _tr_annotations("{}: {} polygons with {} corners").format(
            self.name, len(self.polygons), corners
        )


def annotations_drawn(path: Path, document: Document, picture: Picture) -> tuple[QImage, str]:
    """Draw the annotations of a COCO or LabelMe file over the picture; count them."""
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
    summary = "\n".join(part.summary for part in parts) or _tr_annotations(
        "No annotation: no object has pixels."
    )
    return image, summary


def labels_drawn(labels: NDArray[np.uint8], document: Document, picture: Picture) -> QImage:
    """Draw a label array over the picture."""
    image, scale = small_picture(picture)
    painter = QPainter(image)
    painter.scale(scale, scale)
    for index, info in enumerate(document.classes):
        _draw_mask(painter, labels == index, info.colour)
    painter.end()
    return image


def small_picture(picture: Picture) -> tuple[QImage, float]:
    """Return the picture in a size for a dialog, and the factor of its size."""
    height, width = picture.rgb.shape[:2]
    step = max(
        max(height, width) // (2 * _ANNOTATION_SIDE), 1
    )  # a quick first halving, then a smooth one
    rough = qimage_view(add_alpha(np.ascontiguousarray(picture.rgb[::step, ::step])))
    scale = min(_ANNOTATION_SIDE / max(height, width), 1.0)
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
    """Fill and outline polygons, by the odd-even rule."""
    shape = QPainterPath()
    shape.setFillRule(Qt.FillRule.OddEvenFill)
    for polygon in polygons:
        shape.addPolygon(QPolygonF([QPointF(x, y) for x, y in polygon]))
        shape.closeSubpath()
    painter.setPen(QPen(QColor(0, 0, 0, 150), 2.6 * pixel))
    painter.setBrush(QColor(*colour, _FILL_ALPHA))
    painter.drawPath(shape)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(QColor(*colour), 1.3 * pixel))
    painter.drawPath(shape)


def _draw_mask(painter: QPainter, mask: NDArray[np.bool_], colour: _Colour) -> None:
    rgba = np.zeros((*mask.shape, 4), dtype=np.uint8)
    rgba[mask] = (*(part * _FILL_ALPHA // 255 for part in colour), _FILL_ALPHA)
    painter.drawImage(QPointF(0, 0), qimage_view(rgba))


def _coco(content: dict[str, Any]) -> Iterable[_Part]:
    """Yield the annotations of each class as one part."""
    names = {category["id"]: category["name"] for category in content["categories"]}
    for number, name in names.items():
        own = [each for each in content["annotations"] if each["category_id"] == number]
        told = [each["segmentation"] for each in own]
        counts = [(expanded(each["counts"]), each["size"]) for each in told if "counts" in each]
        if counts:
            mask = np.any([_mask(runs, size) for runs, size in counts], axis=0)
            yield _Part(name, mask=mask, runs=sum(len(runs) for runs, _ in counts))
        flats = [flat for each in told if isinstance(each, list) for flat in each]
        if flats:
            pairs = (list(zip(flat[::2], flat[1::2], strict=True)) for flat in flats)
            yield _Part(name, tuple(pairs))


def _labelme(content: dict[str, Any]) -> Iterable[_Part]:
    names = dict.fromkeys(shape["label"] for shape in content["shapes"])
    for name in names:
        shapes = (shape["points"] for shape in content["shapes"] if shape["label"] == name)
        yield _Part(name, tuple(shapes))


def expanded(text: str) -> list[int]:
    """Read COCO's text of run lengths: the way back from `run_length.compressed`.

    >>> from segapp.imaging.rle import compressed
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


def _tr_annotations(text: str) -> str:
    return QCoreApplication.translate("AnnotationPreview", text)


if TYPE_CHECKING:
    Row = Mapping[str, str]

# Height of a region's number, of the drawing's longer side.
_LETTER = 0.032
_LISTED = 12  # names of a set of regions


def measures_drawn(path: Path, document: Document, picture: Picture) -> tuple[QImage, str]:
    """Draw box and number of each region over the picture; return counts and areas."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    colours = {csv_cell(info.name): QColor(*info.colour) for info in document.classes}
    image, scale = small_picture(picture)
    painter = QPainter(image)
    font = painter.font()
    font.setPixelSize(max(round(_LETTER * max(image.width(), image.height())), 7))
    font.setBold(True)
    painter.setFont(font)
    for row in rows:
        if row["object"] != WHOLE:
            _draw(painter, row, colours[row["class"]], scale)
    painter.end()
    return image, "\n".join(_summary(row) for row in rows if row["object"] == WHOLE)


def _draw(painter: QPainter, row: Row, colour: QColor, scale: float) -> None:
    left, top, width, height = (float(row[n]) * scale for n in ("left", "top", "width", "height"))
    box = QRectF(left, top, width, height)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for pen in (QPen(QColor(0, 0, 0, 150), 3.0), QPen(colour, 1.5)):
        painter.setPen(pen)
        painter.drawRect(box)
    number = QRectF(painter.fontMetrics().boundingRect(row["object"])).adjusted(-4, -1, 4, 1)
    number.moveCenter(QPointF(float(row["x"]) * scale, float(row["y"]) * scale))
    if number.width() > width or number.height() > height:
        return
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(0, 0, 0, 170))
    painter.drawRoundedRect(number, 3, 3)
    painter.setPen(QColor(255, 255, 255))
    painter.drawText(number, Qt.AlignmentFlag.AlignCenter, row["object"])


def _summary(row: Row) -> str:
    """Return number and area of a class's regions, in the file's unit."""
    column = [name for name in row if name.startswith("area_")][-1]  # the unit, if there is one
    unit = column.removeprefix("area_")
    area = f"{row[column]} {unit if unit == 'px' else unit.removesuffix('2') + '²'}"
    if row["objects"] == "1":
        return _tr_measures("{}: one object, {}").format(row["class"], area)
    return _tr_measures("{}: {} objects, {} in all").format(row["class"], row["objects"], area)


def _tr_measures(text: str) -> str:
    return QCoreApplication.translate("MeasuresPreview", text)


# Pixels of the longer side that can be zoomed into, and lines of the caption.
_SIDE = 4096
_CAPTION = 5
_COARSE_SIDE = 480
_WHEEL_NOTCH = 120.0  # eighths of a degree
_ZOOM_STEP, _MOST_ZOOM = 1.25, 32.0


@dataclass(frozen=True, slots=True)
class FilePreview:
    """Preview of the first file, with its summary and the names of all files.

    ``content`` is the file itself if it takes long to write.
    """

    names: tuple[str, ...]
    size: int
    image: QImage | None = None
    text: str = ""
    content: bytes | None = None


class FilePreviewBox(QWidget):
    """Widget with a picture on a chequerboard and a caption, or with text.

    The wheel zooms at the pointer, dragging moves the picture, a double click fits it again.
    """

    def __init__(self) -> None:
        super().__init__()
        self._image: QImage | None = None
        self._text = ""
        self._zoom = 1.0  # times the size that fits
        self._centre = QPointF(0.5, 0.5)  # of the view, as shares of the picture
        self._dragged_from: QPointF | None = None
        self._fitted: tuple[object, QPixmap] | None = None
        self._chequer = chequerboard()
        self.setMinimumSize(220, 160)
        self.setAccessibleName(self.tr("Preview of the file"))
        self.setToolTip(self.tr("The wheel zooms, dragging moves, a double click shows all"))

    def sizeHint(self) -> QSize:
        """Return the preferred size."""
        return QSize(380, 280)

    def show_preview(self, image: QImage | None, text: str) -> None:
        """Show a picture with a caption, or text alone; the same part stays in view."""
        self._image, self._text = image, text
        self.setAccessibleDescription(text)
        self.update()

    @property
    def image(self) -> QImage | None:
        """The shown picture."""
        return self._image

    @property
    def text(self) -> str:
        """The shown text."""
        return self._text

    @property
    def zoom(self) -> float:
        """The magnification of the picture that fits."""
        return self._zoom

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom, and keep the point under the pointer in place."""
        if self._image is None:
            return
        before = self._share_at(event.position())
        steps = event.angleDelta().y() / _WHEEL_NOTCH
        self._zoom = min(max(self._zoom * _ZOOM_STEP**steps, 1.0), _MOST_ZOOM)
        self._move(before - self._share_at(event.position()))
        event.accept()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Begin to move the picture."""
        self._dragged_from = event.position()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Move the picture along with the pointer."""
        if self._dragged_from is not None and self._image is not None:
            by = self._share_at(self._dragged_from) - self._share_at(event.position())
            self._dragged_from = event.position()
            self._move(by)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """End moving the picture."""
        del event
        self._dragged_from = None

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Fit the picture again."""
        del event
        self._zoom = 1.0
        self._move(QPointF())

    def _move(self, by: QPointF) -> None:
        """Move the view by shares of the picture, as far as there is picture."""
        half = 0.5 / self._zoom
        x, y = self._centre.x() + by.x(), self._centre.y() + by.y()
        self._centre = QPointF(min(max(x, half), 1 - half), min(max(y, half), 1 - half))
        self.update()

    def _place(self, image: QImage, room: QRect) -> QRectF:
        """Return the rectangle of the whole picture, of which the room shows a part."""
        fitted = QSizeF(image.size()).scaled(
            QSizeF(room.size()), Qt.AspectRatioMode.KeepAspectRatio
        )
        size = fitted * self._zoom
        centre = QPointF(self._centre.x() * size.width(), self._centre.y() * size.height())
        return QRectF(QRectF(room).center() - centre, size)

    def _share_at(self, position: QPointF) -> QPointF:
        """Return a position of the widget in shares of the picture."""
        if self._image is None:
            return QPointF()
        place = self._place(self._image, self._room())
        at = position - place.topLeft()
        return QPointF(at.x() / place.width(), at.y() / place.height())

    def _room(self) -> QRect:
        """Return the rectangle above the caption."""
        return self.rect().adjusted(0, 0, 0, -self._caption_height())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw picture and caption, or the text."""
        del event
        painter = QPainter(self)
        painter.fillRect(self.rect(), self.palette().color(QPalette.ColorRole.Base))
        painter.setPen(self.palette().color(QPalette.ColorRole.Text))
        if self._image is not None and not self._image.isNull():
            self._draw_caption(painter)
            self._draw_image(painter, self._image, self._room())
        else:
            flags = Qt.TextFlag.TextWordWrap | Qt.AlignmentFlag.AlignLeft
            painter.drawText(self.rect().adjusted(8, 8, -8, -8), int(flags), self._text)
        painter.end()

    def _caption_lines(self) -> list[str]:
        lines = self._text.splitlines()
        if len(lines) > _CAPTION:
            rest = len(lines) - _CAPTION + 1
            lines = [*lines[: _CAPTION - 1], self.tr("… and {} more").format(rest)]
        return lines

    def _caption_height(self) -> int:
        lines = self._caption_lines()
        return len(lines) * self.fontMetrics().lineSpacing() + 10 if lines else 0

    def _draw_caption(self, painter: QPainter) -> None:
        """Draw the first lines of the text at the bottom."""
        metrics, height = self.fontMetrics(), self._caption_height()
        below = QRect(8, self.height() - height + 5, self.width() - 16, height - 10)
        shown = (
            metrics.elidedText(line, Qt.TextElideMode.ElideRight, below.width())
            for line in self._caption_lines()
        )
        painter.drawText(below, int(Qt.AlignmentFlag.AlignLeft), "\n".join(shown))

    def _draw_image(self, painter: QPainter, image: QImage, room: QRect) -> None:
        place = self._place(image, room)
        painter.setClipRect(room)
        painter.setBrushOrigin(place.topLeft())
        painter.fillRect(place, self._chequer)
        if self._zoom > 1:
            ratio = self.devicePixelRatioF()
            smooth = place.width() * ratio < 2 * image.width()
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, smooth)
            painter.drawImage(place, image)
        else:
            painter.drawPixmap(place.topLeft(), self._fit(image, place))

    def _fit(self, image: QImage, place: QRectF) -> QPixmap:
        """Return the picture in the size that fits, made once."""
        ratio = self.devicePixelRatioF()
        size = (place.size() * ratio).toSize()
        made_for = image.cacheKey(), size
        if self._fitted is None or self._fitted[0] != made_for:
            small = image.scaled(
                size,
                Qt.AspectRatioMode.IgnoreAspectRatio,
                Qt.TransformationMode.SmoothTransformation,
            )
            fitted = QPixmap.fromImage(small)
            fitted.setDevicePixelRatio(ratio)
            self._fitted = made_for, fitted
        return self._fitted[1]


def coarse_preview(
    form: str,
    choices: ExportChoices,
    labelling: Labelling,
    document: Document,
    picture: Picture,
) -> QImage:
    """Draw a cut-out or its alpha at a small size, to be seen at once."""
    height, width = picture.size
    step = -(-max(height, width) // _COARSE_SIDE)
    rows = slice(None, None, step)
    small = replace(
        picture,
        rgb=np.ascontiguousarray(picture.rgb[rows, rows]),
        alpha=None if picture.alpha is None else np.ascontiguousarray(picture.alpha[rows, rows]),
        raw=None,
    )
    inside = object_pixels(labelling, document, choices.only)[rows, rows]
    edge = default_band_width(picture.size) if choices.edge is None else choices.edge
    painted = rasterize_marks(document.hair, picture.size)[rows, rows] >= 0
    matte = run_to_end(soft_edge(small.rgb, np.ascontiguousarray(inside), edge / step, painted))
    if form == "alpha":
        return qimage_view(add_alpha(np.repeat(matte.alpha[..., np.newaxis], 3, axis=2))).copy()
    backdrop = choices.backdrop
    ground = None if backdrop is None else backdrop_pixels(backdrop, small.size)
    pixels = before_backdrop(straight_cutout(matte, small), ground)
    return qimage_view(premultiplied(pixels)).copy()


def file_previews(
    form: ExportFormat, stem: str, labelling: Labelling, document: Document, picture: Picture
) -> Iterator[float | FilePreview]:
    """Write to a temporary folder and preview the first file; yield the progress."""
    with tempfile.TemporaryDirectory(prefix="segapp-preview-") as folder:
        target = Path(folder) / f"{stem}{form.suffix}"
        written = yield from form.steps(target, labelling, document, picture)
        size = sum(path.stat().st_size for path in written)
        names = tuple(path.name for path in written)
        image, text = _preview_of(written[0], document, picture)
        content = written[0].read_bytes() if form.write_steps is not None else None
        yield FilePreview(names, size, image, text, content)


def _preview_of(path: Path, document: Document, picture: Picture) -> tuple[QImage | None, str]:
    match path.suffix.lower():
        case ".png":
            return _small(QImage(str(path))), ""
        case ".tif" | ".tiff":
            rgba = add_alpha(load_image(path).rgb)
            return _small(qimage_view(rgba)), ""
        case ".npz":
            with np.load(path) as arrays:
                lines = [
                    f"{name}: {array.dtype}, {' × '.join(map(str, array.shape))}"
                    for name, array in arrays.items()
                ]
                image = labels_drawn(arrays["labels"], document, picture)
            return image, "\n".join(lines)
        case ".json":
            return annotations_drawn(path, document, picture)
        case ".csv":
            return measures_drawn(path, document, picture)
        case ".zip":
            return None, _regions_listed(path)
        case _:
            raise ValueError(f"no preview of {path.suffix} files")


def _regions_listed(path: Path) -> str:
    """Return the names of a set's regions, as many as there is room for."""
    with zipfile.ZipFile(path) as archive:
        names = [Path(name).stem for name in archive.namelist()]
    more = ["…"] if len(names) > _LISTED else []
    return "\n".join([*names[:_LISTED], *more])


def _small(image: QImage) -> QImage:
    """Return a copy that fits the dialog and owns its pixels."""
    if max(image.width(), image.height()) <= _SIDE:
        return image.copy()
    return image.scaled(
        _SIDE,
        _SIDE,
        Qt.AspectRatioMode.KeepAspectRatio,
        Qt.TransformationMode.SmoothTransformation,
    )
