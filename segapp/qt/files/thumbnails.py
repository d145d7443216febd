"""Thumbnails of files, made in a thread, the latest request first.

They look as the window shows the file: upright, of the right page, with the levels and channels
of its project or of its folder.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QSize, Qt, Signal
from PySide6.QtGui import QImage, QPixmap

from segapp.app.project_files import find_project
from segapp.io.folder_files import read_display
from segapp.io.images import load_thumbnail
from segapp.io.pages import ImageError
from segapp.io.project import PROJECT_SUFFIX, load_project
from segapp.model.display import DEFAULT_DISPLAY
from segapp.model.validation import SegappError
from segapp.qt.i18n import translate
from segapp.qt.session.jobs import Jobs, unexpected

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from segapp.model.display import DisplaySettings


SIZE = QSize(84, 64)
"""The size of a thumbnail that fills a frame, in widget pixels."""
LONGEST = 192  # pixels of a thumbnail, enough for screens of twice the resolution
# Kept ones, at most 100 kB each: many screenfuls, and never more than 20 MB.
_MOST_KEPT = 200
# Requested and not yet made: thumbnails that were scrolled past are not worth making.
_MOST_WAITING = 60


class Thumbnails(QObject):
    """A bounded cache of thumbnails that makes missing ones in a thread."""

    arrived = Signal(object)  # Path
    forgotten = Signal()  # all look different now
    unreadable = Signal(object, str)  # Path and reason

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._kept: OrderedDict[Path, QPixmap | None] = OrderedDict()
        self._waiting: OrderedDict[Path, None] = OrderedDict()
        self._displays: dict[Path, DisplaySettings] = {}
        self._folder: Path | None = None
        self._closed = False
        self._version = 0  # of the display of all images
        self._jobs = Jobs("thumbnails", self)

    def of(self, path: Path) -> QPixmap | None:
        """Return a file's thumbnail; None while it is being made, until `arrived`."""
        if path in self._kept:
            self._kept.move_to_end(path)
            return self._kept[path]
        self._waiting[path] = None
        self._waiting.move_to_end(path)
        while len(self._waiting) > _MOST_WAITING:
            self._waiting.popitem(last=False)
        self._go_on()
        return None

    def begin(self, folder: Path | None) -> None:
        """Make all anew, with the projects and the display of a folder."""
        self._folder, self._version = folder, self._version + 1
        self._displays.clear()
        self._kept.clear()
        self._waiting.clear()
        self.forgotten.emit()

    def show_as(self, path: Path, display: DisplaySettings) -> None:
        """Show one image with a display that its project may not have yet."""
        self._displays[path], self._version = display, self._version + 1
        self._kept.pop(path, None)
        self.arrived.emit(path)  # to be requested again

    @property
    def n_kept(self) -> int:
        """The number of thumbnails in memory."""
        return len(self._kept)

    def _go_on(self) -> None:
        if self._waiting and not self._jobs.busy and not self._closed:
            path, _ = self._waiting.popitem()
            folder, display, version = self._folder, self._displays.get(path), self._version
            self._jobs.run(
                lambda: ((version, *each) for each in _made(path, folder, display)),
                self._take,
                unexpected,
                self._go_on,
            )

    def _take(self, made: tuple[int, Path, QImage | str]) -> None:
        version, path, found = made
        if version != self._version:  # with an old display, perhaps: a view requests it again
            self.arrived.emit(path)
            return
        self._kept[path] = None if isinstance(found, str) else QPixmap.fromImage(found)
        while len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)
        if isinstance(found, str):
            self.unreadable.emit(path, found)
        self.arrived.emit(path)

    def close(self, timeout: float | None = None) -> bool:
        """Stop, and wait for the thread; return whether it has ended."""
        self._closed = True
        return self._jobs.close(timeout)


def thumbnail(path: Path) -> QImage:
    """Read a thumbnail at once; a null image when the file cannot be read."""
    ((_, made),) = _made(path, None, DEFAULT_DISPLAY)
    return QImage() if isinstance(made, str) else made


def filling(image: QImage, ratio: float) -> QPixmap:
    """Cut a thumbnail to the shape of `SIZE`; ``ratio`` is the screen's."""
    size = SIZE * ratio
    image = image.scaled(
        size,
        Qt.AspectRatioMode.KeepAspectRatioByExpanding,
        Qt.TransformationMode.SmoothTransformation,
    )
    left = (image.width() - size.width()) // 2
    top = (image.height() - size.height()) // 2
    cut = QPixmap.fromImage(image.copy(left, top, size.width(), size.height()))
    cut.setDevicePixelRatio(ratio)
    return cut


def _made(
    path: Path, folder: Path | None, known: DisplaySettings | None
) -> Iterator[tuple[Path, QImage | str]]:
    try:
        image, display = _source(path, folder)
        rgb = load_thumbnail(image, LONGEST, known or display)
    except ImageError as error:
        yield path, translate(error)
        return
    height, width, _ = rgb.shape
    drawn = QImage(rgb.tobytes(), width, height, 3 * width, QImage.Format.Format_RGB888)
    yield path, drawn.copy()  # a copy, which owns its bytes


def _source(path: Path, folder: Path | None) -> tuple[Path, DisplaySettings]:
    """Return the image that a file is or names, with its display settings."""
    try:
        if path.suffix.lower() == PROJECT_SUFFIX:
            project = load_project(path)
            return project.image_path, project.document.display
        found = find_project(path, folder or path.parent)
        if found is not None:
            return path, found.require().document.display
        return path, read_display(folder or path.parent)
    except (SegappError, OSError):  # reported when the file is opened
        return path, DEFAULT_DISPLAY
