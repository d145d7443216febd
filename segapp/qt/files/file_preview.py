"""What an export would write, shown before it is written: the file itself, made elsewhere."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QImage, QPainter, QPalette, QPixmap
from PySide6.QtWidgets import QWidget

from segapp.files.images import load_image
from segapp.qt.canvas.layers import opaque
from segapp.qt.canvas.painting import chequerboard
from segapp.qt.canvas.qimage import qimage_over

if TYPE_CHECKING:
    from collections.abc import Iterator

    from PySide6.QtGui import QPaintEvent

    from segapp.files.export import ExportFormat
    from segapp.values.document import Document
    from segapp.values.labelling import Labelling
    from segapp.values.picture import Picture

# Pixels of the longer side, and letters: about what the dialog has room for.
_SIDE = 640
_TEXT = 1500


@dataclass(frozen=True, slots=True)
class FilePreview:
    """A picture of the first file or the beginning of its text, and the names of all."""

    names: tuple[str, ...]
    size: int
    image: QImage | None = None
    text: str = ""


class FilePreviewBox(QWidget):
    """A picture on a chequerboard, or text, fitted into the room there is."""

    def __init__(self) -> None:
        super().__init__()
        self._image: QImage | None = None
        self._text = ""
        self._chequer = chequerboard()
        self.setMinimumSize(220, 160)
        self.setAccessibleName(self.tr("Preview of the file"))

    def sizeHint(self) -> QSize:
        """Ask for enough room to judge an outline."""
        return QSize(380, 280)

    def show_preview(self, image: QImage | None, text: str) -> None:
        """Show a picture, or text when there is none."""
        self._image, self._text = image, text
        self.update()

    @property
    def image(self) -> QImage | None:
        """The picture that is shown."""
        return self._image

    @property
    def text(self) -> str:
        """The text that is shown when there is no picture."""
        return self._text

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw what there is."""
        del event
        painter = QPainter(self)
        painter.fillRect(self.rect(), self.palette().color(QPalette.ColorRole.Base))
        if self._image is not None and not self._image.isNull():
            ratio = self.devicePixelRatioF()
            fitted = QPixmap.fromImage(
                self._image.scaled(
                    self.size() * ratio,
                    Qt.AspectRatioMode.KeepAspectRatio,
                    Qt.TransformationMode.SmoothTransformation,
                )
            )
            fitted.setDevicePixelRatio(ratio)
            room = fitted.deviceIndependentSize()
            left, top = (self.width() - room.width()) / 2, (self.height() - room.height()) / 2
            painter.setBrushOrigin(int(left), int(top))
            painter.fillRect(
                int(left), int(top), int(room.width()), int(room.height()), self._chequer
            )
            painter.drawPixmap(int(left), int(top), fitted)
        else:
            painter.setPen(self.palette().color(QPalette.ColorRole.Text))
            flags = Qt.TextFlag.TextWrapAnywhere | Qt.AlignmentFlag.AlignLeft
            painter.drawText(self.rect().adjusted(8, 8, -8, -8), int(flags), self._text)
        painter.end()


def file_previews(
    form: ExportFormat, stem: str, labelling: Labelling, document: Document, picture: Picture
) -> Iterator[FilePreview]:
    """Write to a folder that vanishes again, and look at what is there."""
    with tempfile.TemporaryDirectory(prefix="segapp-preview-") as folder:
        target = Path(folder) / f"{stem}{form.suffix}"
        written = form.write(target, labelling, document, picture)
        size = sum(path.stat().st_size for path in written)
        names = tuple(path.name for path in written)
        image, text = _look_at(written[0])
        yield FilePreview(names, size, image, text)


def _look_at(path: Path) -> tuple[QImage | None, str]:
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
            return None, "\n".join(lines)
        case _:
            return None, path.read_text(encoding="utf-8")[:_TEXT]


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
