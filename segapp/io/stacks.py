"""Stacks: pages along the axes T and Z as one value, read one at a time.

Multi-page TIFF, ImageJ hyperstacks, OME-TIFF, GIF and WebP, OME-Zarr, films, and folders of
numbered frames. Channels belong to a page, as they do in any image.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from segapp.io.films import is_film, is_zarr, open_film, open_zarr
from segapp.io.images import IMAGE_SUFFIXES, load_image
from segapp.io.pages import (
    DAMAGE,
    ImageError,
    count_directories,
    list_pages,
    open_image_file,
    open_tiff,
    page_file,
    parse_page,
    read_metadata,
    with_page,
)
from segapp.model.validation import reason, sanitize

if TYPE_CHECKING:
    from collections.abc import Sequence

    import tifffile

    from segapp.model.display import DisplaySettings
    from segapp.model.picture import Picture


@dataclass(frozen=True, slots=True)
class StackAxes:
    """Lengths of the axes of a stack, and the sizes of a step.

    Parameters
    ----------
    times, slices
        Lengths of T and Z; there are ``times x slices`` pages, Z the faster.
    channel_names
        Empty where the file names none.
    pixel_size, slice_distance, unit
        Lengths of a pixel's side and between two slices; 1 where they are unknown.
    frame_rate
        Points of time a second; 0 where it is unknown.
    """

    times: int = 1
    slices: int = 1
    channel_names: tuple[str, ...] = ()
    pixel_size: float = 1.0
    slice_distance: float = 1.0
    unit: str = "px"
    frame_rate: float = 0.0

    def __len__(self) -> int:
        return self.times * self.slices

    def place(self, page: int) -> tuple[int, int]:
        """Return T and Z of a page, from 0."""
        return divmod(page, self.slices)

    def page(self, time: int, depth: int) -> int:
        """Return the page at T and Z."""
        return time * self.slices + depth

    def neighbours(self, page: int) -> list[int]:
        """Return the pages one step away along T or Z."""
        time, depth = self.place(page)
        steps = ((time, depth - 1), (time, depth + 1), (time - 1, depth), (time + 1, depth))
        return [self.page(t, z) for t, z in steps if 0 <= t < self.times and 0 <= z < self.slices]


@runtime_checkable
class PageSource(Protocol):
    """Pages of a stack, which are read when they are asked for."""

    @property
    def axes(self) -> StackAxes:
        """Lengths of the axes."""

    @property
    def path(self) -> Path:
        """Of the file or folder."""

    @property
    def paths(self) -> Sequence[Path]:
        """The path of each page, by which projects know it."""

    def read(self, page: int, display: DisplaySettings) -> Picture:
        """Read one page."""


@dataclass(frozen=True, slots=True)
class StackFile:
    """A stack in a file, or in a folder of frames."""

    path: Path
    paths: tuple[Path, ...]
    axes: StackAxes

    def read(self, page: int, display: DisplaySettings) -> Picture:
        """Read one page; all have the size of the first."""
        return load_image(self.paths[page], display)


def open_stack(path: str | Path) -> StackFile:
    """Find the pages of a stack, and read none.

    Raises
    ------
    ImageError
        When there is no such file, or it has a single page.
    """
    path = Path(path)
    if path.is_dir() and not is_zarr(path):
        stack = _frames(path)
    elif is_film(path):
        film = open_film(path)
        axes = StackAxes(times=len(film), frame_rate=film.rate)
        stack = StackFile(path, _numbered(path, len(film)), axes)
    elif is_zarr(path):
        stack = StackFile(path, _numbered(path, len(open_zarr(path))), _zarr_axes(path))
    elif path.suffix.lower() in (".tif", ".tiff"):
        stack = _tiff(path)
    else:
        pages = tuple(list_pages(page_file(path)))
        stack = StackFile(path, pages, StackAxes(times=len(pages)))
    if len(stack.paths) < 2:
        raise ImageError("{} has a single page: wanted a stack of several.", sanitize(path.name))
    return stack


def has_pages(path: Path) -> bool:
    """Tell quickly whether a path may be a stack of its own: no folder of frames."""
    if is_zarr(path):
        return path.is_dir()
    if is_film(path) or path.suffix.lower() in (".gif", ".webp"):
        return path.is_file()
    if path.suffix.lower() not in (".tif", ".tiff"):
        return False
    try:
        with open_image_file(path) as file:
            return count_directories(file, 2) > 1
    except (*DAMAGE, ImageError):
        return False


def frames_of(folder: Path, images: Sequence[Path]) -> StackFile | None:
    """Return a folder's images as a stack if they are numbered frames.

    Their names differ in one number alone, which has no gaps.
    """
    if len(images) < _FEWEST_FRAMES or any(parse_page(path)[1] for path in images):
        return None
    stems = {_NUMBER.sub("", path.stem) for path in images}
    rows = [[int(part) for part in _NUMBER.findall(path.stem)] for path in images]
    if len(stems) > 1 or not all(rows) or len({len(row) for row in rows}) > 1:
        return None
    varying = [place for place in zip(*rows, strict=True) if len(set(place)) > 1]
    if len(varying) != 1 or max(varying[0]) - min(varying[0]) + 1 != len(images):
        return None
    ordered = sorted(zip(varying[0], images, strict=True))
    return StackFile(folder, tuple(path for _, path in ordered), StackAxes(times=len(images)))


def _numbered(path: Path, count: int) -> tuple[Path, ...]:
    return tuple(with_page(path, number) for number in range(1, count + 1))


def _zarr_axes(path: Path) -> StackAxes:
    image = open_zarr(path)
    return StackAxes(
        image.length("T"),
        image.length("Z"),
        image.channel_names,
        image.scale["X"],
        image.scale.get("Z", 1.0),
        {"micrometer": "µm"}.get(image.units["X"], image.units["X"]) or "px",
    )


# Folders ----------------------------------------------------------------------------------------

_FEWEST_FRAMES = 5
_NUMBER = re.compile(r"\d+")
_AXIS = re.compile(r"(?:^|[_\-. ])([tz])(\d+)", re.IGNORECASE)


def _frames(folder: Path) -> StackFile:
    """Order the frames of a folder by their numbers.

    The last number of a name counts; names with ``t`` and ``z`` before their numbers, as those
    of microscopes, span both axes.
    """
    try:
        found = [
            path
            for path in folder.iterdir()
            if path.suffix.lower() in IMAGE_SUFFIXES
            and not path.name.startswith(".")
            and _NUMBER.search(path.stem)
            and path.is_file()
        ]
    except OSError as error:
        raise ImageError("{} cannot be read: {}.", sanitize(folder), reason(error)) from error
    named = [{key.lower(): int(value) for key, value in _AXIS.findall(p.stem)} for p in found]
    if found and all(each.keys() == {"t", "z"} for each in named):
        places = {(each["t"], each["z"]): path for each, path in zip(named, found, strict=True)}
        times, slices = ({place[axis] for place in places} for axis in (0, 1))
        if len(places) == len(found) == len(times) * len(slices):
            ordered = tuple(places[place] for place in sorted(places))
            return StackFile(folder, ordered, StackAxes(len(times), len(slices)))
    found.sort(key=lambda path: ([int(part) for part in _NUMBER.findall(path.stem)], path.name))
    axes = StackAxes(times=len(found))
    if found and all(each.keys() == {"z"} for each in named):
        axes = StackAxes(slices=len(found))
    return StackFile(folder, tuple(found), axes)


# TIFF -------------------------------------------------------------------------------------------


def _tiff(path: Path) -> StackFile:
    pages = tuple(list_pages(page_file(path)))
    axes = StackAxes(slices=len(pages))
    if len(pages) > 1:
        name = page_file(path)
        try:
            with open_image_file(name) as file, open_tiff(file, name) as tiff:
                found = _tiff_axes(tiff)
        except DAMAGE as error:
            raise ImageError(
                "{} is damaged and cannot be read: {}.", sanitize(path.name), reason(error)
            ) from error
        if found is not None and len(found[0]) == len(pages):
            axes, z_is_faster = found
            if not z_is_faster:  # pages are ordered by T, then by Z
                places = (axes.place(page) for page in range(len(axes)))
                pages = tuple(pages[z * axes.times + t] for t, z in places)
    return StackFile(path, pages, axes)


def _tiff_axes(tiff: tifffile.TiffFile) -> tuple[StackAxes, bool] | None:
    """Return the axes of a hyperstack, and whether Z comes after T in the file."""
    series = tiff.series[0]
    lengths = dict(zip(series.axes, series.shape, strict=True))
    if not (tiff.is_imagej or tiff.is_ome) or len(tiff.series) != 1:
        return None
    told = read_metadata(tiff)
    axes = StackAxes(
        int(lengths.get("T", 1)),
        int(lengths.get("Z", 1)),
        told.names,
        told.scale.pixel if told.scale else 1.0,
        told.slice_distance or 1.0,
        told.scale.unit if told.scale else "px",
        1 / told.interval if told.interval else 0.0,
    )
    return axes, [axis for axis in series.axes if axis in "TZ"] != ["Z", "T"]
