"""Pages of films (extra ``video``) and of OME-Zarr images (extra ``zarr``)."""

from __future__ import annotations

import threading
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from segapp.io.pages import (
    DAMAGE,
    MAX_PAGES,
    ZARR_SUFFIX,
    ImageError,
    ReadingStopped,
    check_page,
    check_size,
    open_image_file,
    stop_requested,
)
from segapp.model.validation import SegappError, reason, sanitize

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray


FILM_SUFFIXES = (".mp4", ".m4v", ".mov", ".avi", ".mkv", ".webm")
# Others, as playlists, name further files.
_CONTAINERS = "mov,mp4,m4a,3gp,3g2,mj2,avi,matroska,webm"
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
        open_image_file(path).close()  # no pipe, and of a bounded size
        try:
            self._container = av.open(str(path), options={"format_whitelist": _CONTAINERS})
            if not self._container.streams.video:
                raise ImageError("{} has no frames: wanted a film.", sanitize(path.name))
            self._stream = self._container.streams.video[0]
            # In the order in which they are shown, which need not be that of the file.
            times = [
                packet.pts
                for packet in _stoppable(self._container.demux(self._stream))
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


def _stoppable(packets: Iterable[Any]) -> Iterator[Any]:
    """Yield the packets of a film, unless the work is not wanted any more."""
    is_stopped = stop_requested.get()
    for packet in packets:
        if is_stopped():
            raise ReadingStopped
        yield packet


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


_LEAST_SIDES = 2
_OPEN_IMAGES = 2


def is_zarr(path: Path) -> bool:
    """Tell an OME-Zarr image by its name; it is a folder."""
    return path.suffix.lower() == ZARR_SUFFIX


class ZarrImage:
    """An OME-Zarr image at full resolution, of which pages are read on demand.

    Parameters
    ----------
    path
        Of the folder.
    """

    def __init__(self, path: Path) -> None:
        try:
            import zarr
        except ImportError as error:
            raise ImageError(
                'OME-Zarr needs the extra zarr: pip install "segapp[zarr]".'
            ) from error
        self.path = path
        try:
            attributes: Any = dict(zarr.open_group(str(path), mode="r").attrs)
            attributes = attributes.get("ome", attributes)  # version 0.5 has a level more
            image = attributes["multiscales"][0]
            level = image["datasets"][0]
            place = path / level["path"]
            if not place.resolve().is_relative_to(path.resolve()):
                raise SegappError("its pixels are in another folder")
            self._array: Any = zarr.open_array(str(place), mode="r")
            axes = image.get("axes", list("tczyx")[-self._array.ndim :])
            self.axes = "".join(
                str(axis["name"] if isinstance(axis, dict) else axis)[:1].upper() for axis in axes
            )
            units = [axis.get("unit", "") if isinstance(axis, dict) else "" for axis in axes]
            scales = [
                part["scale"]
                for part in level.get("coordinateTransformations", [])
                if part.get("type") == "scale"
            ]
            scale = [float(part) for part in (scales or [[1.0] * len(axes)])[0]]
            channels = attributes.get("omero", {}).get("channels", [])
            self.channel_names = tuple(str(each.get("label", "")) for each in channels)
        except (*DAMAGE, AttributeError) as error:
            raise ImageError(
                "{} cannot be read as OME-Zarr: {}.", sanitize(path.name), reason(error)
            ) from error
        if len(self.axes) != self._array.ndim or self.axes[-_LEAST_SIDES:] != "YX":
            raise ImageError(
                "{}: wanted axes that end in y and x, got {}.", sanitize(path.name), self.axes
            )
        self.scale = dict(zip(self.axes, scale, strict=True))
        """Length of a step along each axis."""
        self.units = dict(zip(self.axes, map(str, units), strict=True))

    def length(self, axis: str) -> int:
        """Return the size along an axis, 1 where there is no such axis."""
        return int(self._array.shape[self.axes.index(axis)]) if axis in self.axes else 1

    def __len__(self) -> int:
        return self.length("T") * self.length("Z")

    def page(self, number: int) -> NDArray[np.generic]:
        """Read a page, ``H x W x channels``: T and Z in this order, Z the faster."""
        check_page(self.path, number, len(self))
        check_size(self.path, self.length("X"), self.length("Y"))
        place = dict(zip("TZ", divmod(number, self.length("Z")), strict=True))
        index = tuple(place[axis] if axis in place else slice(None) for axis in self.axes)
        try:
            values = np.asarray(self._array[index])
        except DAMAGE as error:
            raise ImageError(
                "{} is damaged and cannot be read: {}.", sanitize(self.path.name), reason(error)
            ) from error
        if values.dtype.kind not in "iuf":
            raise ImageError(
                "{}: wanted whole or floating-point numbers, got {}.",
                sanitize(self.path.name),
                values.dtype,
            )
        return np.moveaxis(values, 0, -1) if "C" in self.axes else values[..., np.newaxis]


@lru_cache(maxsize=_OPEN_IMAGES)
def open_zarr(path: Path) -> ZarrImage:
    """Return an image, which stays open while it is one of the last ones asked for."""
    return ZarrImage(path)


def zarr_description(path: Path) -> bytes:
    """Return the files that describe an image and its levels."""
    names = (".zattrs", ".zgroup", "zarr.json", "0/.zarray", "0/zarr.json")
    return b"".join((path / name).read_bytes() for name in names if (path / name).is_file())
