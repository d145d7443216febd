"""Small pictures of files, made in a thread, the ones asked for last first.

They look as the window shows the file: upright, of the page that is meant, with the levels and
channels of its project or of its folder.
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
from segapp.qt.i18n import translate
from segapp.qt.session.jobs import Jobs, unexpected

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from segapp.model.display import DisplaySettings


SIZE = QSize(84, 64)
"""Of a thumbnail that fills a frame, in widget pixels."""
LONGEST = 192  # pixels of a thumbnail, enough for screens of twice the resolution
# Kept ones, at most 100 kB each: many screenfuls, and never more than 20 MB.
_MOST_KEPT = 200
# Asked for and not yet made: what was scrolled past is not worth making.
_MOST_WAITING = 60


class Thumbnails(QObject):
    """Returns what is there, and makes what is not; memory does not grow with the folder."""

    arrived = Signal(object)  # Path
    forgotten = Signal()  # all look different now
    unreadable = Signal(object, str)  # Path, and why

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._kept: OrderedDict[Path, QPixmap | None] = OrderedDict()
        self._waiting: OrderedDict[Path, None] = OrderedDict()
        self._told: dict[Path, DisplaySettings] = {}
        self._place: Path | None = None
        self._closed = False
        self._looks = 0  # how often it was told that pictures look different
        self._jobs = Jobs("thumbnails", self)

    def of(self, path: Path) -> QPixmap | None:
        """Return a file's thumbnail; ``None`` while there is none, and `arrived` tells when."""
        if path in self._kept:
            self._kept.move_to_end(path)
            return self._kept[path]
        self._waiting[path] = None
        self._waiting.move_to_end(path)
        while len(self._waiting) > _MOST_WAITING:
            self._waiting.popitem(last=False)
        self._go_on()
        return None

    def begin(self, place: Path | None) -> None:
        """Make all anew, with projects and the folder's view from there."""
        self._place, self._looks = place, self._looks + 1
        self._told.clear()
        self._kept.clear()
        self._waiting.clear()
        self.forgotten.emit()

    def show_as(self, path: Path, display: DisplaySettings) -> None:
        """Show one picture as it is worked on, which its project may not tell yet."""
        self._told[path], self._looks = display, self._looks + 1
        self._kept.pop(path, None)
        self.arrived.emit(path)  # to be asked for again

    @property
    def n_kept(self) -> int:
        """How many there are, for those who watch the memory."""
        return len(self._kept)

    def _go_on(self) -> None:
        if self._waiting and not self._jobs.busy and not self._closed:
            path, _ = self._waiting.popitem()
            place, told, looks = self._place, self._told.get(path), self._looks
            self._jobs.run(
                lambda: ((looks, *each) for each in _made(path, place, told)),
                self._take,
                unexpected,
                self._go_on,
            )

    def _take(self, made: tuple[int, Path, QImage | str]) -> None:
        looks, path, found = made
        if looks != self._looks:  # perhaps as it looked before: who sees it asks again
            self.arrived.emit(path)
            return
        self._kept[path] = None if isinstance(found, str) else QPixmap.fromImage(found)
        while len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)
        if isinstance(found, str):
            self.unreadable.emit(path, found)
        self.arrived.emit(path)

    def close(self, timeout: float | None = None) -> bool:
        """Stop, and wait for the thread; say whether it has ended."""
        self._closed = True
        return self._jobs.close(timeout)


def thumbnail(path: Path) -> QImage:
    """Read a picture small, at once; a null image when it cannot be read."""
    ((_, made),) = _made(path, None, DEFAULT_DISPLAY)
    return QImage() if isinstance(made, str) else made


def filling(image: QImage, ratio: float) -> QPixmap:
    """Cut a thumbnail to the shape of `SIZE`; ``ratio`` is the screen's."""
    wanted = SIZE * ratio
    image = image.scaled(
        wanted,
        Qt.AspectRatioMode.KeepAspectRatioByExpanding,
        Qt.TransformationMode.SmoothTransformation,
    )
    left = (image.width() - wanted.width()) // 2
    top = (image.height() - wanted.height()) // 2
    cut = QPixmap.fromImage(image.copy(left, top, wanted.width(), wanted.height()))
    cut.setDevicePixelRatio(ratio)
    return cut


def _made(
    path: Path, place: Path | None, told: DisplaySettings | None
) -> Iterator[tuple[Path, QImage | str]]:
    try:
        image, display = _picture_of(path, place)
        rgb = load_thumbnail(image, LONGEST, told or display)
    except ImageError as error:
        yield path, translate(error)
        return
    height, width, _ = rgb.shape
    drawn = QImage(rgb.tobytes(), width, height, 3 * width, QImage.Format.Format_RGB888)
    yield path, drawn.copy()  # which owns its bytes


def _picture_of(path: Path, place: Path | None) -> tuple[Path, DisplaySettings]:
    """Return the image that a file is or names, and how it is shown as far as that is known."""
    try:
        if path.suffix.lower() == PROJECT_SUFFIX:
            project = load_project(path)
            return project.image_path, project.document.display
        found = find_project(path, place or path.parent)
        if found is not None:
            return path, found.require().document.display
        return path, read_display(place or path.parent)
    except (ValueError, OSError):  # told when somebody opens it
        return path, DEFAULT_DISPLAY
