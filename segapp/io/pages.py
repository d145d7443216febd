"""Pages of multi-page files, size limits of image files, and pixel sizes of TIFF."""

from __future__ import annotations

import io
import lzma
import math
import os
import re
import stat
import struct
import zipfile
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import reduce
from io import BufferedReader
from typing import IO, TYPE_CHECKING
from xml.etree import ElementTree

from segapp.model.picture import Scale
from segapp.model.validation import Message, SegappError, reason, sanitize
from shlcore import model_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    import tifffile
    from _typeshed import WriteableBuffer
    from PIL import Image


MAX_PIXELS = 250_000_000  # pixels; three bytes each and some more to work with
MAX_DECODED_BYTES = 4 << 30  # bytes of all channels of a deep picture
MAX_FILE_BYTES = 64 << 30  # bytes; stacks have many pages
MEDICAL_SUFFIXES = (".dcm", ".nii", ".nii.gz")
_BUFFER = 1 << 17  # bytes

# How many bytes one byte of the file can become at the most, by format or TIFF's compression.
_GAINS: dict[str | int, int] = {
    "PNG": 1100,
    "BMP": 260,
    "GIF": 4000,
    "raw": 1,
    "packbits": 130,
    "tiff_lzw": 4000,
    "tiff_adobe_deflate": 1100,
    "tiff_deflate": 1100,
    1: 1,
    5: 4000,
    8: 1100,
    32773: 130,
    32946: 1100,
}
_SLACK = 1 << 16
# Others have no such bound, as WebP holds any flat colour in a hundred bytes; but larger
# pictures than these have more to show.
_OTHER_GAIN, _OTHER_SLACK = 5000, 32 << 20
_CHANNELS_OF = {"1": 1 / 8, "L": 1, "P": 1 / 8, "LA": 2, "RGBA": 4, "CMYK": 4, "I;16": 2, "F": 4}


class ImageError(SegappError):
    """An image cannot be read; the message is one sentence."""


class ReadingStopped(BaseException):
    """The work that reads a file was given up; no decoder may catch this."""


stop_requested: ContextVar[Callable[[], bool]] = ContextVar("stop", default=lambda: False)
"""Whether the work of this thread is not wanted any more."""


class _StoppableFile(io.FileIO):
    """A file whose reading ends when its work is not wanted any more."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._stop_requested = stop_requested.get()

    def readinto(self, buffer: WriteableBuffer) -> int | None:
        """Read bytes, unless the work has been given up."""
        if self._stop_requested():
            raise ReadingStopped
        return super().readinto(buffer)


def open_image_file(path: Path) -> BufferedReader:
    """Open a regular file of a bounded size, or raise `ImageError` with one sentence."""
    try:
        found = os.stat(path)
        if stat.S_ISREG(found.st_mode) and found.st_size <= MAX_FILE_BYTES:
            return io.BufferedReader(_StoppableFile(path), _BUFFER)
    except FileNotFoundError as error:
        raise ImageError("There is no file {}.", sanitize(path)) from error
    except OSError as error:
        message = sanitize(error.strerror) if error.strerror else reason(error)
        raise ImageError("{} cannot be read: {}.", sanitize(path), message) from error
    except ValueError as error:  # a zero byte in the name
        raise ImageError("{} cannot be read: {}.", sanitize(path), reason(error)) from error
    if stat.S_ISDIR(found.st_mode):
        raise ImageError("{} is a folder: wanted an image file.", sanitize(path))
    if not stat.S_ISREG(found.st_mode):
        raise ImageError("{} is a device or a pipe: wanted an image file.", sanitize(path))
    raise ImageError(
        "{} has {} GB: at most {} can be worked on.",
        sanitize(path.name),
        found.st_size >> 30,
        MAX_FILE_BYTES >> 30,
    )


def check_size(path: Path, width: int, height: int) -> None:
    """Refuse an image without pixels, or with too many."""
    if width < 1 or height < 1:
        raise ImageError("{} has {} x {} pixels: wanted some.", sanitize(path.name), width, height)
    if width * height > MAX_PIXELS:
        raise ImageError(
            "{} has {} x {} pixels: at most {} million can be worked on.",
            sanitize(path.name),
            width,
            height,
            MAX_PIXELS // 1_000_000,
        )


def check_plausible_size(path: Path, image: Image.Image, file_size: int) -> None:
    """Refuse an image whose file is too small for its declared size."""
    kind = image.info.get("compression") if image.format == "TIFF" else image.format
    wanted = int(image.width * image.height * _CHANNELS_OF.get(image.mode, 1))
    check_compression(path, kind, wanted, file_size)


def check_compression(path: Path, kind: str | int | None, wanted: int, stored: int) -> None:
    """Refuse ``wanted`` bytes of pixels where ``stored`` ones cannot become as many."""
    gain, slack = _OTHER_GAIN, _OTHER_SLACK
    if kind is not None and kind in _GAINS:
        gain, slack = _GAINS[kind], _SLACK
    if wanted > gain * stored + slack:
        raise ImageError(
            "{} is damaged: its {} bytes cannot hold the {} that its size asks for.",
            sanitize(path.name),
            stored,
            wanted,
        )


DAMAGE = (
    *model_file.READ_ERRORS,
    AssertionError,
    ImportError,  # of a decoder that is not installed
    lzma.LZMAError,
    zipfile.LargeZipFile,
)
"""Exceptions of shlcore's readers, and of decoders of images and archives."""


# The first page goes by the file's name, ``stack.tif``; the third is ``stack[3].tif``, unless
# there is a file that is really called so. Projects, exports and lists then know pages as they
# know files.

MAX_PAGES = 100_000
MAX_FRAMES = 10_000  # of a GIF, whose frames are only found one after the other
ZARR_SUFFIX = ".zarr"
"""Of OME-Zarr images, which are folders."""
TIFF_SIGNATURES = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
_NOTATION = re.compile(r"(.+)\[([1-9]\d{0,5})\]", re.DOTALL)
_TIFF, _OTHERS = (".tif", ".tiff"), (".gif", ".webp")
_REDUCED_OR_MASK = 1 | 4  # bits of the tag NewSubfileType


def parse_page(path: Path) -> tuple[Path, int]:
    """Return the file of a path and the page's index."""
    match = _NOTATION.fullmatch(path.stem)
    if match is None or os.path.lexists(path):
        return path, 0
    file = path.with_name(match[1] + path.suffix)
    is_there = os.path.isdir if path.suffix.lower() == ZARR_SUFFIX else os.path.isfile
    return (file, int(match[2]) - 1) if is_there(file) else (path, 0)


def page_file(path: Path) -> Path:
    """Return the file of a path, which may name a page of it."""
    return parse_page(path)[0]


def with_page(path: Path, number: int) -> Path:
    """Return the path of a page of a file, counted from 1."""
    return path if number == 1 else path.with_name(f"{path.stem}[{number}]{path.suffix}")


def _count_medical_pages(path: Path) -> int:
    """Count the frames of a DICOM file or the slices of a NIfTI one, by its header."""
    if path.name.lower().endswith(".dcm"):
        try:
            import pydicom
        except ImportError:
            return 1
        with open_image_file(path) as file:
            told = pydicom.dcmread(file, stop_before_pixels=True)
        return int(told.get("NumberOfFrames", 1) or 1)
    try:
        import nibabel
    except ImportError:
        return 1
    shape = nibabel.load(path).shape
    return math.prod(map(int, shape[2:])) or 1


def list_pages(path: Path) -> list[Path]:
    """List the pages of a file; a damaged one counts as a single page here."""
    suffix, count = path.suffix.lower(), 1
    try:
        if suffix in _TIFF:
            with open_image_file(path) as file:
                if count_directories(file, 2) > 1:
                    with open_tiff(file, path) as tiff:
                        count = len(known_groups(path, tiff))
        elif path.name.lower().endswith(MEDICAL_SUFFIXES):
            count = _count_medical_pages(path)
        elif suffix in _OTHERS:
            count = _count_animated_frames(path)
    except (ImageError, *DAMAGE):
        return [path]
    return [with_page(path, number) for number in range(1, min(count, MAX_PAGES) + 1)]


@contextmanager
def open_tiff(file: IO[bytes], path: Path) -> Iterator[tifffile.TiffFile]:
    """Open a TIFF with a bounded number of pages, and never another file."""
    if count_directories(file, MAX_PAGES + 1) > MAX_PAGES:
        raise ImageError("{} has more than {} pages.", sanitize(path.name), MAX_PAGES)
    import tifffile  # which most pictures and the window's start do without

    file.seek(0)
    with tifffile.TiffFile(file, _multifile=False) as tiff:
        yield tiff


def _count_animated_frames(path: Path) -> int:
    from PIL import Image  # which the public API's import does without

    with open_image_file(path) as file, Image.open(file, formats=("GIF", "WEBP")) as image:
        return count_frames(image, file)


def count_frames(image: Image.Image, file: IO[bytes]) -> int:
    """Count the pages or frames of formats that are made for several, up to a bound."""
    if image.format == "GIF":
        at = file.tell()
        try:
            return _count_gif_frames(file)
        finally:
            file.seek(at)
    return int(getattr(image, "n_frames", 1)) if image.format in ("TIFF", "WEBP") else 1


def _count_gif_frames(file: IO[bytes]) -> int:
    """Follow the blocks of a GIF without unpacking them, where Pillow takes seconds."""
    file.seek(0)
    header, count = file.read(13), 0
    _skip_colours(file, header[10])
    while count < MAX_FRAMES:
        kind = file.read(1)
        if kind == b",":
            count += 1
            _skip_colours(file, file.read(9)[8])
            file.seek(1, os.SEEK_CUR)
        elif kind == b"!":
            file.seek(1, os.SEEK_CUR)
        else:
            break
        while (size := file.read(1)) > b"\0":
            file.seek(size[0], os.SEEK_CUR)
    return max(count, 1)


def _skip_colours(file: IO[bytes], flags: int) -> None:
    if flags & 0x80:
        file.seek(3 * 2 ** ((flags & 7) + 1), os.SEEK_CUR)


_known: dict[tuple[str, int, int], list[tuple[int, ...]]] = {}
_KNOWN_FILES = 8


def known_groups(path: Path, tiff: tifffile.TiffFile) -> list[tuple[int, ...]]:
    """Return the groups of a file's pages, which are found once for each file.

    All pages of a file are looked at to find them: half a second for 2000.
    """
    seen = os.stat(path)
    key = os.path.abspath(path), seen.st_size, seen.st_mtime_ns
    groups = _known.get(key)
    if groups is None:
        while len(_known) >= _KNOWN_FILES:
            _known.pop(next(iter(_known)), None)
        groups = _known[key] = page_groups(tiff)
    return groups


def page_groups(tiff: tifffile.TiffFile) -> list[tuple[int, ...]]:
    """Return the pages of the file that make up each image.

    Usually that is one; in files of microscopes the channels of a picture are a page each.
    Thumbnails, smaller copies and masks are no pictures.
    """
    series = _series(tiff)
    if series is not None:
        channels = series.shape[series.axes.index("C")]
        after = series.axes[series.axes.index("C") + 1 :]
        step = 1
        for axis, length in zip(after, series.shape[-len(after) :], strict=True):
            step *= 1 if axis in "YXS" else length
        indices = [int(page.index) for page in series.pages]
        block = channels * step
        return [
            tuple(indices[first + offset + step * channel] for channel in range(channels))
            for first in range(0, len(indices), block)
            for offset in range(step)
        ]
    if len(tiff.pages) == 1:
        return [(0,)]
    kept: list[tuple[int, ...]] = [
        (index,)
        for index, page in enumerate(tiff.pages)
        if not int(getattr(page, "subfiletype", 0)) & _REDUCED_OR_MASK
    ]
    return kept or [(0,)]


def _series(tiff: tifffile.TiffFile) -> tifffile.TiffPageSeries | None:
    """Return the one series of a file whose channels are pages, if it is such a file."""
    if not (tiff.is_imagej or tiff.is_ome) or len(tiff.pages) == 1:
        return None
    series = tiff.series[0]
    if (
        len(tiff.series) != 1
        or "C" not in series.axes
        or any(page is None for page in series.pages)
    ):
        return None
    pages = 1
    for axis, length in zip(series.axes, series.shape, strict=True):
        pages *= 1 if axis in "YXS" else length
    return series if pages == len(series.pages) == len(tiff.pages) else None


def count_directories(file: IO[bytes], most: int) -> int:
    """Follow the chain of a TIFF's pages, a few bytes each, up to a number of them."""
    file.seek(0)
    head = file.read(16)
    if head[:4] not in TIFF_SIGNATURES:
        return 0
    order, big = "<" if head[:2] == b"II" else ">", head[2:4] in (b"+\0", b"\0+")
    place, count, entry = ("Q", "Q", 20) if big else ("I", "H", 12)
    size, short = struct.calcsize("<" + place), struct.calcsize("<" + count)
    (at,) = struct.unpack_from(order + place, head, 8 if big else 4)
    seen: set[int] = set()
    while at and at not in seen and len(seen) < most:
        seen.add(at)
        file.seek(at)
        (entries,) = struct.unpack(order + count, file.read(short))
        file.seek(entries * entry, os.SEEK_CUR)
        following = file.read(size)
        at = struct.unpack(order + place, following)[0] if len(following) == size else 0
    return len(seen)


def check_page(path: Path, page: int, count: int) -> None:
    """Refuse a page, counted from 0, that a file does not have."""
    if page >= count:
        raise ImageError(
            "{} has no page {}: the last one is page {}.", sanitize(path.name), page + 1, count
        )


def page_note(page: int, count: int) -> str:
    """Return a note on the page that is shown, empty if it is the only one."""
    if count <= 1:
        return ""
    if page:
        return Message("page {} of {}", page + 1, count)
    return Message("first of {} pages", count)


def join_notes(notes: Sequence[str]) -> str:
    """Join the notes that are not empty."""
    filled = [note for note in notes if note]
    return reduce(lambda first, second: Message("{}, {}", first, second), filled) if filled else ""


_MAX_XML = 16 << 20  # bytes; a plate of thousands of images has a few million
_MICROMETRES = frozenset({"um", "µm", "μm", "micron", "microns", "micrometer", "\\u00b5m"})
_MAX_NAME = 80
_PER_UNIT = {2: 25_400.0, 3: 10_000.0}  # micrometres of an inch and of a centimetre
_UNEVEN = 1e-3  # share by which the sides of a square pixel may differ


@dataclass(frozen=True, slots=True)
class TiffMetadata:
    """The size of a pixel and the names of the channels, as far as they are told.

    ``slice_distance`` is in the unit of the scale, ``interval`` in seconds; 0 where they are not
    told.
    """

    scale: Scale | None = None
    names: tuple[str, ...] = ()
    slice_distance: float = 0.0
    interval: float = 0.0


def read_metadata(tiff: tifffile.TiffFile) -> TiffMetadata:
    """Read the metadata of ImageJ or OME, or else the resolution of the first page.

    Damage counts as nothing told; pixels that are not square have no size.
    """
    try:
        if tiff.is_ome:
            return _of_ome(tiff.ome_metadata or "")
        if tiff.is_imagej:
            return _of_imagej(tiff)
        return TiffMetadata(_resolution(tiff, None, Message("TIFF resolution")))
    except (*DAMAGE, ElementTree.ParseError):
        return TiffMetadata()


def _of_ome(text: str) -> TiffMetadata:
    if len(text) > _MAX_XML or "<!DOCTYPE" in text or "<!ENTITY" in text:
        return TiffMetadata()
    root = ElementTree.fromstring(text)
    pixels = root.find("{*}Image/{*}Pixels")
    if pixels is None:
        return TiffMetadata()
    units = [_unit(pixels.get(f"PhysicalSize{side}Unit", "µm")) for side in "XY"]
    scale = None
    if units[0] == units[1]:
        sides = [pixels.get(f"PhysicalSize{side}") for side in "XY"]
        scale = _scale(sides[0], sides[1], units[0], "OME")
    names = [sanitize(channel.get("Name", ""))[:_MAX_NAME] for channel in pixels if _is(channel)]
    steps = (_length(pixels.get(name)) for name in ("PhysicalSizeZ", "TimeIncrement"))
    return TiffMetadata(scale, tuple(names), *steps)


def _is(element: ElementTree.Element) -> bool:
    """Return whether an element describes a channel."""
    return element.tag.rpartition("}")[2] == "Channel"


def _of_imagej(tiff: tifffile.TiffFile) -> TiffMetadata:
    told = tiff.imagej_metadata or {}
    unit = _unit(str(told.get("unit", "")))
    scale = None
    if unit not in ("", "px", "pixel", "pixels"):
        scale = _resolution(tiff, unit, "ImageJ")
    labels = told.get("Labels", told.get("labels", []))
    labels = [labels] if isinstance(labels, str) else list(labels)
    n_channels = int(told.get("channels", 1))
    names = [sanitize(str(label))[:_MAX_NAME] for label in labels[:n_channels]]
    steps = (_length(told.get(name)) for name in ("spacing", "finterval"))
    return TiffMetadata(scale, tuple(names) if len(names) == n_channels else (), *steps)


def _length(told: object) -> float:
    """Return a length that is told, 0 where there is none."""
    length = float(str(told)) if told is not None else 0.0
    return length if math.isfinite(length) and length > 0 else 0.0


def _resolution(tiff: tifffile.TiffFile, unit: str | None, source: str) -> Scale | None:
    """Return the scale of the tags; ``None`` is inch or centimetre, as they tell."""
    tags = tiff.pages.first.tags
    sides = []
    for name in ("XResolution", "YResolution"):
        above, below = tags.valueof(name, (0, 0))
        sides.append(below / above if above else 0.0)
    if unit is not None:
        return _scale(sides[0], sides[1], unit, source)
    per_unit = _PER_UNIT.get(int(tags.valueof("ResolutionUnit", 1)))
    if per_unit is None:
        return None
    return _scale(sides[0] * per_unit, sides[1] * per_unit, "µm", source)


def _scale(x: object, y: object, unit: str, source: str) -> Scale | None:
    width, height = (float(str(side)) if side is not None else 0.0 for side in (x, y))
    if not (math.isfinite(width) and width > 0 and abs(height / width - 1) < _UNEVEN):
        return None
    return Scale(float(f"{width:.9g}"), unit, source)


def _unit(told: str) -> str:
    """Return a unit as it is written here."""
    name = sanitize(told.strip())[:_MAX_NAME]
    return "µm" if name.casefold() in _MICROMETRES else name
