"""Small pictures for the list, made in a thread, the ones asked for last first."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QImage, QPixmap

from segapp.files.images import ImageError, load_thumbnail
from segapp.qt.language import worded
from segapp.qt.session.jobs import Jobs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LONGEST = 128  # pixels of a thumbnail, enough for screens of twice the resolution
# Kept ones, at most 50 kB each: many screenfuls, and never more than 20 MB.
_MOST_KEPT = 400
# Asked for and not yet made: what was scrolled past is not worth making.
_MOST_WAITING = 60


class Thumbnails(QObject):
    """Returns what is there, and makes what is not; memory does not grow with the folder."""

    arrived = Signal(object)  # Path
    unreadable = Signal(object, str)  # Path, and why

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._kept: OrderedDict[Path, QPixmap | None] = OrderedDict()
        self._waiting: OrderedDict[Path, None] = OrderedDict()
        self._closed = False
        self._jobs = Jobs("thumbnails", self)
        self._jobs.arrived.connect(self._take)
        self._jobs.ended.connect(self._go_on)

    def of(self, path: Path) -> QPixmap | None:
        """Return a picture's thumbnail; ``None`` while there is none, and `arrived` tells when."""
        if path in self._kept:
            self._kept.move_to_end(path)
            return self._kept[path]
        self._waiting[path] = None
        self._waiting.move_to_end(path)
        while len(self._waiting) > _MOST_WAITING:
            self._waiting.popitem(last=False)
        self._go_on()
        return None

    @property
    def n_kept(self) -> int:
        """How many there are, for those who watch the memory."""
        return len(self._kept)

    def _go_on(self) -> None:
        if self._waiting and not self._jobs.busy and not self._closed:
            path, _ = self._waiting.popitem()
            self._jobs.start(lambda: _made(path))

    def _take(self, ticket: int, made: tuple[Path, QImage | str]) -> None:
        del ticket
        path, found = made
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


def _made(path: Path) -> Iterator[tuple[Path, QImage | str]]:
    try:
        rgb = load_thumbnail(path, LONGEST)
    except ImageError as error:
        yield path, worded(error)
        return
    height, width, _ = rgb.shape
    image = QImage(rgb.tobytes(), width, height, 3 * width, QImage.Format.Format_RGB888)
    yield path, image.copy()  # which owns its bytes
