"""What an export would write, shown before it is written: the file itself, made elsewhere."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtGui import QBrush, QImage, QPainter, QPalette, QPixmap
from PySide6.QtWidgets import QWidget

from segapp.files.images import load_image
from segapp.qt.canvas.painting import chequerboard
from segapp.qt.canvas.qimage import qimage_over
from segapp.qt.canvas.screen_pixels import opaque
from segapp.qt.files.annotation_preview import annotations_drawn, labels_drawn
from segapp.qt.files.measures_preview import measures_drawn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from PySide6.QtGui import QPaintEvent

    from segapp.files.export import ExportFormat
    from segapp.values.document import Document
    from segapp.values.labelling import Labelling
    from segapp.values.picture import Picture

# Pixels of the longer side, and lines below a picture: what the dialog has room for.
_SIDE = 640
_CAPTION = 5


@dataclass(frozen=True, slots=True)
class FilePreview:
    """A picture of what the first file holds, what it counts, and the names of all files.

    ``content`` is the file itself where making it again would take long.
    """

    names: tuple[str, ...]
    size: int
    image: QImage | None = None
    text: str = ""
    content: bytes | None = None


class FilePreviewBox(QWidget):
    """A picture on a chequerboard with a caption, or text, fitted into the room there is."""

    def __init__(self) -> None:
        super().__init__()
        self._image: QImage | None = None
        self._text = ""
        self._ground = chequerboard()
        self.setMinimumSize(220, 160)
        self.setAccessibleName(self.tr("Preview of the file"))

    def sizeHint(self) -> QSize:
        """Ask for enough room to judge an outline."""
        return QSize(380, 280)

    def show_preview(self, image: QImage | None, text: str) -> None:
        """Show a picture with what is to be said about it, or text alone."""
        self._image, self._text = image, text
        self.setAccessibleDescription(text)
        self.update()

    def set_ground(self, ground: QBrush | None) -> None:
        """Show something else behind what is transparent; None is a chequerboard."""
        self._ground = ground or chequerboard()
        self.update()

    @property
    def image(self) -> QImage | None:
        """The picture that is shown."""
        return self._image

    @property
    def text(self) -> str:
        """The text that is shown."""
        return self._text

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw what there is."""
        del event
        painter = QPainter(self)
        painter.fillRect(self.rect(), self.palette().color(QPalette.ColorRole.Base))
        painter.setPen(self.palette().color(QPalette.ColorRole.Text))
        room = self.rect()
        if self._image is not None and not self._image.isNull():
            if self._text:
                room = self._draw_caption(painter)
            self._draw_image(painter, self._image, room)
        else:
            flags = Qt.TextFlag.TextWordWrap | Qt.AlignmentFlag.AlignLeft
            painter.drawText(room.adjusted(8, 8, -8, -8), int(flags), self._text)
        painter.end()

    def _draw_caption(self, painter: QPainter) -> QRect:
        """Write the text below, its first lines at least; return the room that is left."""
        metrics = self.fontMetrics()
        lines = self._text.splitlines()
        if len(lines) > _CAPTION:
            rest = len(lines) - _CAPTION + 1
            lines = [*lines[: _CAPTION - 1], self.tr("… and {} more").format(rest)]
        height = len(lines) * metrics.lineSpacing() + 10
        below = QRect(8, self.height() - height + 5, self.width() - 16, height - 10)
        shown = (
            metrics.elidedText(line, Qt.TextElideMode.ElideRight, below.width()) for line in lines
        )
        painter.drawText(below, int(Qt.AlignmentFlag.AlignLeft), "\n".join(shown))
        return self.rect().adjusted(0, 0, 0, -height)

    def _draw_image(self, painter: QPainter, image: QImage, room: QRect) -> None:
        ratio = self.devicePixelRatioF()
        fitted = QPixmap.fromImage(
            image.scaled(
                room.size() * ratio,
                Qt.AspectRatioMode.KeepAspectRatio,
                Qt.TransformationMode.SmoothTransformation,
            )
        )
        fitted.setDevicePixelRatio(ratio)
        size = fitted.deviceIndependentSize().toSize()
        place = QRect(QPoint(0, 0), size)
        place.moveCenter(room.center())
        painter.setBrushOrigin(place.topLeft())
        painter.fillRect(place, self._ground)
        painter.drawPixmap(place.topLeft(), fitted)


def file_previews(
    form: ExportFormat, stem: str, labelling: Labelling, document: Document, picture: Picture
) -> Iterator[float | FilePreview]:
    """Write to a folder that vanishes again, and look at what is there; yields how far it is."""
    with tempfile.TemporaryDirectory(prefix="segapp-preview-") as folder:
        target = Path(folder) / f"{stem}{form.suffix}"
        written = yield from form.writing(target, labelling, document, picture)
        size = sum(path.stat().st_size for path in written)
        names = tuple(path.name for path in written)
        image, text = _look_at(written[0], document, picture)
        content = written[0].read_bytes() if form.long is not None else None
        yield FilePreview(names, size, image, text, content)


def _look_at(path: Path, document: Document, picture: Picture) -> tuple[QImage | None, str]:
    match path.suffix.lower():
        case ".png":
            return _small(QImage(str(path))), ""
        case ".tif" | ".tiff":
            rgba = opaque(load_image(path).rgb)
            return _small(qimage_over(rgba)), ""
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
        case _:
            raise ValueError(f"There is no way to look at {path.name}.")


def _small(image: QImage) -> QImage:
    """Return a copy that fits the dialog and no longer depends on any array."""
    if max(image.width(), image.height()) <= _SIDE:
        return image.copy()
    return image.scaled(
        _SIDE,
        _SIDE,
        Qt.AspectRatioMode.KeepAspectRatio,
        Qt.TransformationMode.SmoothTransformation,
    )
