"""Frames of films, by PyAV (the extra ``video``)."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from segapp.io.pages import DAMAGE, MAX_PAGES, ImageError, check_page, check_size
from segapp.model.validation import sanitize

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from numpy.typing import NDArray


FILM_SUFFIXES = (".mp4", ".m4v", ".mov", ".avi", ".mkv", ".webm")
_OPEN = 2
"""Films that stay open: the next frame of one is decoded without those before it."""


class Film:
    """A film whose frames are read by number, quickest in their order."""

    def __init__(self, path: Path) -> None:
        try:
            import av
        except ImportError as error:
            raise ImageError('Films need the extra video: pip install "segapp[video]".') from error
        self.path, self._lock = path, threading.Lock()
        self._errors: tuple[type[BaseException], ...] = (*DAMAGE, av.FFmpegError)
        try:
            self._container = av.open(str(path))
            if not self._container.streams.video:
                raise ImageError("{} has no frames: wanted a film.", sanitize(path.name))
            self._stream = self._container.streams.video[0]
            # In the order in which they are shown, which need not be that of the file.
            times = [
                packet.pts
                for packet in self._container.demux(self._stream)
                if packet.pts is not None and packet.size
            ]
        except self._errors as error:
            raise _unreadable(path, error) from error
        self._times = sorted(set(times))[:MAX_PAGES]
        self._numbers = {time: number for number, time in enumerate(self._times)}
        rate = self._stream.average_rate
        self.rate = float(rate) if rate else 25.0
        """Frames a second."""
        self._frames: Any = iter(())
        self._next = -1

    def __len__(self) -> int:
        return len(self._times)

    def frame(self, number: int) -> NDArray[np.uint8]:
        """Return a frame, ``H x W x 3``, upright."""
        check_page(self.path, number, len(self))
        with self._lock:
            try:
                return self._decoded(number)
            except self._errors as error:
                self._next = -1
                raise _unreadable(self.path, error) from error

    def _decoded(self, number: int) -> NDArray[np.uint8]:
        context = self._stream.codec_context
        check_size(self.path, context.width, context.height)
        if number != self._next:
            self._container.seek(self._times[number], stream=self._stream)
            self._frames = self._container.decode(self._stream)
        for frame in self._frames:
            found = self._numbers.get(frame.pts, -1)
            if found >= number:
                # A damaged frame is left out by the decoder: the one after it stands for it.
                self._next = found + 1
                quarters = int(getattr(frame, "rotation", 0)) // 90  # counterclockwise
                return np.ascontiguousarray(np.rot90(frame.to_ndarray(format="rgb24"), quarters))
        self._next = -1
        raise ImageError(
            "{} is damaged: frame {} cannot be read.", sanitize(self.path.name), number + 1
        )

    def close(self) -> None:
        """Close the file."""
        with self._lock, suppress(*self._errors):
            self._container.close()


def _unreadable(path: Path, error: BaseException) -> ImageError:
    if isinstance(error, ImageError):
        return error
    return ImageError(
        "{} cannot be read as a film: {}.", sanitize(path.name), sanitize(str(error))
    )


_films: dict[tuple[Path, int, int], Film] = {}
_films_lock = threading.Lock()


def open_film(path: Path) -> Film:
    """Return a film, which stays open while it is one of the last ones asked for."""
    try:
        seen = path.stat()
    except OSError as error:
        raise ImageError("There is no file {}.", sanitize(path)) from error
    key = path.absolute(), seen.st_size, seen.st_mtime_ns
    with _films_lock:
        film = _films.pop(key, None)
        film = Film(path) if film is None else film
        _films[key] = film
        while len(_films) > _OPEN:
            _films.pop(next(iter(_films)))  # closed with the last reader of it
    return film


def is_film(path: Path) -> bool:
    """Tell a film by its name."""
    return path.suffix.lower() in FILM_SUFFIXES


def write_film(path: Path, frames: Iterable[NDArray[np.uint8]], rate: float) -> None:
    """Write frames, ``H x W x 3`` of uint8, as H.264 where PyAV has it, else MPEG-4."""
    import av

    with av.open(str(path), "w", format="mp4") as container:
        stream: Any = None
        for frame in frames:
            if stream is None:
                codec = "libx264" if "libx264" in av.codecs_available else "mpeg4"
                stream = container.add_stream(codec, rate=max(1, round(rate)))
                # Both sides are even in all films.
                stream.height, stream.width = (side - side % 2 for side in frame.shape[:2])
                stream.pix_fmt = "yuv420p"
            even = np.ascontiguousarray(frame[: stream.height, : stream.width])
            for packet in stream.encode(av.VideoFrame.from_ndarray(even, format="rgb24")):
                container.mux(packet)
        if stream is not None:
            for packet in stream.encode():
                container.mux(packet)
