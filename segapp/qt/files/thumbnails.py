"""Small pictures of files, read beside the window's thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QSize, Qt, Signal
from PySide6.QtGui import QImage, QImageReader

from segapp.files.project_file import PROJECT_SUFFIX, ProjectError, load_project
from segapp.qt.session.jobs import Jobs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SIZE = QSize(84, 64)
"""Of a thumbnail, in widget pixels."""


class Thumbnails(QObject):
    """Makes thumbnails of files one after the other; one that cannot be read has none."""

    made = Signal(object, object)  # Path, QImage

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._known: dict[Path, QImage] = {}
        self._jobs = Jobs("thumbnails", self)
        self._jobs.arrived.connect(self._take)

    def want(self, paths: list[Path], ratio: float) -> None:
        """Tell the thumbnails of these files, as they come; ``ratio`` is the screen's."""
        for path in paths:
            if path in self._known:
                self.made.emit(path, self._known[path])
        missing = [path for path in paths if path not in self._known]
        if missing:
            self._jobs.start(lambda: _read_all(missing, ratio))

    def close(self, timeout: float | None = None) -> bool:
        """Wait for the thread; say whether it has ended."""
        return self._jobs.close(timeout)

    def _take(self, ticket: int, item: tuple[Path, QImage]) -> None:
        del ticket
        path, image = item
        self._known[path] = image
        self.made.emit(path, image)


def _read_all(paths: list[Path], ratio: float) -> Iterator[tuple[Path, QImage]]:
    for path in paths:
        image = thumbnail(_picture_of(path), ratio)
        if not image.isNull():
            yield path, image


def _picture_of(path: Path) -> Path:
    if path.suffix.lower() != PROJECT_SUFFIX:
        return path
    try:
        return load_project(path).image_path
    except (ProjectError, OSError):
        return path


def thumbnail(path: Path, ratio: float) -> QImage:
    """Read a picture small, cut to the thumbnail's shape; a null image when it cannot be read."""
    reader = QImageReader(str(path))
    reader.setAutoTransform(True)
    wanted = SIZE * ratio
    expanding = Qt.AspectRatioMode.KeepAspectRatioByExpanding
    if reader.size().isValid():
        # A turned picture is scaled before it is turned: its longer side must do as well.
        side = max(wanted.width(), wanted.height())
        reader.setScaledSize(reader.size().scaled(side, side, expanding))
    image = reader.read()
    if image.isNull():
        return image
    smooth = Qt.TransformationMode.SmoothTransformation
    image = image.scaled(wanted, expanding, smooth)
    left = (image.width() - wanted.width()) // 2
    top = (image.height() - wanted.height()) // 2
    image = image.copy(left, top, wanted.width(), wanted.height())
    image.setDevicePixelRatio(ratio)
    return image
