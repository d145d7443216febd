"""The neighbours of the open picture, read before they are asked for."""

from __future__ import annotations

import threading
from collections import OrderedDict
from contextlib import suppress
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from segapp.files.images import ImageError
from segapp.files.pages import file_of
from segapp.qt.files.opening import prepare
from segapp.qt.session.jobs import Jobs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from segapp.qt.files.opening import Ready
    from segapp.values.picture import Picture
    from segapp.values.showing import Showing

# Pixels of all pictures that are kept, at some 9 bytes each: three of 12 megapixels, which are
# the open one and its neighbours.
_MOST_PIXELS, _BYTES = 37_000_000, 9

_Stamp = tuple[int, int]


class Prefetch(QObject):
    """Keeps a few decoded pictures; a file that has changed since counts as absent."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._kept: OrderedDict[Path, tuple[_Stamp, Ready]] = OrderedDict()
        self._lock = threading.Lock()
        self._jobs = Jobs("prefetch", self)

    def take(self, path: Path) -> Ready | None:
        """Return a picture that is ready; any thread may ask."""
        with self._lock:
            kept = self._kept.get(path)
            if kept is None or kept[0] != _stamp(path):
                return None
            self._kept.move_to_end(path)
            return kept[1]

    def add(self, path: Path, ready: Ready) -> None:
        """Keep a picture that was read otherwise."""
        stamp = _stamp(path)
        if stamp is None:
            return
        with self._lock:
            self._kept[path] = stamp, ready
            self._kept.move_to_end(path)
            while len(self._kept) > 1 and self._pixels() > _MOST_PIXELS:
                self._kept.popitem(last=False)

    def _pixels(self) -> int:
        return sum(_pixels_of(ready[0]) for _, ready in self._kept.values())

    def look_ahead(self, paths: list[Path], showing: Showing) -> None:
        """Read these pictures, in this order, instead of what was looked for before."""

        def work() -> Iterator[object]:
            for path in paths:
                if self.take(path) is None:
                    with suppress(ImageError):  # told when it is opened
                        self.add(path, prepare(path, showing))
                yield path

        self._jobs.start(work)

    def clear(self) -> None:
        """Forget all pictures: another folder is worked through."""
        self._jobs.cancel()
        with self._lock:
            self._kept.clear()

    def close(self, timeout: float | None = None) -> bool:
        """Stop reading and wait for the thread; say whether it has ended."""
        return self._jobs.close(timeout)


def _pixels_of(picture: Picture) -> int:
    """Return a picture's pixels, with what was measured as if it were more of them."""
    measured = 0 if picture.original is None else picture.original.values.nbytes
    return picture.rgb[..., 0].size + measured // _BYTES


def _stamp(path: Path) -> _Stamp | None:
    try:
        seen = file_of(path).stat()
    except OSError:
        return None
    return seen.st_size, seen.st_mtime_ns
