"""Image files as arrays: the one loader for the window, the commands and the tests."""

from __future__ import annotations

import hashlib
import io
import struct
import zlib
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import tifffile
from PIL import Image, ImageCms, ImageOps, UnidentifiedImageError

from segapp.files.display_depth import Decoded, on_white, show_deep, stretch, upright
from segapp.values.picture import Picture

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

IMAGE_SUFFIXES: tuple[str, ...] = (
    ".jpg",
    ".jpeg",
    ".png",
    ".bmp",
    ".tif",
    ".tiff",
    ".webp",
    ".gif",
)
LARGEST = 250_000_000  # pixels; three bytes each and as much again to work with

_FORMATS = ("JPEG", "PNG", "BMP", "TIFF", "WEBP", "GIF")
_WANTED = "JPEG, PNG, BMP, TIFF, WebP or GIF"
_DEEP_MODES = ("I", "F", "I;16", "I;16B", "I;16L", "I;16N")
# What decoders raise when they meet damage.
_DAMAGE = (
    OSError,
    EOFError,
    SyntaxError,
    ValueError,
    TypeError,
    LookupError,
    ArithmeticError,
    RuntimeError,
    AttributeError,
    struct.error,
    zlib.error,
)
# Pillow would warn at 89 and refuse at 179 megapixels, in words of its own; `_refuse_huge`
# looks at the size before any pixel is decoded.
Image.MAX_IMAGE_PIXELS = None


class ImageError(ValueError):
    """An image cannot be read; the message is one sentence that says why."""


def load_image(path: str | Path) -> Picture:
    """Read an image file.

    Raises
    ------
    ImageError
        When there is no such file or it cannot be decoded.
    """
    path = Path(path)
    data = read_bytes(path)
    with _in_one_sentence(path):
        rgb, alpha, note = _decode_tiff(path, data) or _decode(path, data)
    return Picture(rgb, alpha, path, hashlib.sha256(data).hexdigest(), note)


@dataclass(frozen=True, slots=True, eq=False)
class Indices:
    """The stored values of an image with one channel: no colours, no scaling.

    Parameters
    ----------
    values
        ``H x W``: the palette's index or the grey value of each pixel.
    palette
        RGB rows, or ``None`` for grey values.
    text
        The texts that a PNG carries, by their keywords.
    """

    values: NDArray[np.uint8]
    palette: NDArray[np.uint8] | None
    text: dict[str, str]


def load_indices(path: str | Path) -> Indices:
    """Read strokes or a truth from a PNG (or GIF, BMP, TIFF) with one channel of 8 bits."""
    path = Path(path)
    data = read_bytes(path)
    with _in_one_sentence(path), Image.open(io.BytesIO(data), formats=_FORMATS) as image:
        _refuse_huge(path, image.width, image.height)
        if image.mode not in ("P", "L", "1"):
            raise ImageError(
                f"{path.name}: wanted one channel of 8 bits (a palette or grey), got {image.mode}."
            )
        values = np.array(image.convert("L") if image.mode == "1" else image)
        colours = image.getpalette()
        text = {str(key): part for key, part in image.info.items() if isinstance(part, str)}
    palette = None if colours is None else np.array(colours, np.uint8).reshape(-1, 3)
    return Indices(values, palette, text)


@contextmanager
def _in_one_sentence(path: Path) -> Iterator[None]:
    """Turn whatever a decoder raises into an `ImageError`."""
    try:
        yield
    except ImageError:
        raise
    except UnidentifiedImageError as error:
        raise ImageError(f"{path.name} is not an image: wanted {_WANTED}.") from error
    except MemoryError as error:
        raise ImageError(f"{path.name} does not fit into the memory.") from error
    except _DAMAGE as error:
        raise ImageError(f"{path.name} is damaged and cannot be read: {error}.") from error


def read_bytes(path: Path) -> bytes:
    """Read a whole file that should hold an image; what is in the way becomes one sentence."""
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise ImageError(f"There is no file {path}.") from error
    except IsADirectoryError as error:
        raise ImageError(f"{path} is a folder: wanted an image file.") from error
    except OSError as error:
        if path.is_dir():  # Windows says "permission denied"
            raise ImageError(f"{path} is a folder: wanted an image file.") from error
        raise ImageError(f"{path} cannot be read: {error.strerror or error}.") from error
    if not data:
        raise ImageError(f"{path.name} is empty: wanted {_WANTED}.")
    return data


def _decode(path: Path, data: bytes) -> Decoded:
    with Image.open(io.BytesIO(data), formats=_FORMATS) as opened:
        _refuse_huge(path, opened.width, opened.height)
        deep_png = opened.format == "PNG" and data[24:25] == b"\x10"
        first = _first_of(_frames(opened))
        image = ImageOps.exif_transpose(opened)
        if image.mode in _DEEP_MODES:
            values = np.asarray(image)
            shown, note = stretch(values)
            return np.repeat(shown[:, :, np.newaxis], 3, axis=2), None, _joined(note, first)
        note = _joined("16-bit, shown with the upper 8 bits" if deep_png else "", first)
        if image.has_transparency_data:
            rgba = np.array(image.convert("RGBA"))
            return *on_white(rgba[:, :, :3], rgba[:, :, 3]), note
        return np.array(_in_srgb(image)), None, note


def _frames(image: Image.Image) -> int:
    """Count the pages or frames of formats that are made for several."""
    if image.format not in ("TIFF", "GIF", "WEBP"):
        return 1
    with suppress(*_DAMAGE):  # damage behind the first frame does not matter
        return int(getattr(image, "n_frames", 1))
    image.seek(0)
    return 1


def _first_of(count: int) -> str:
    return f"first of {count} pages" if count > 1 else ""


def _joined(*notes: str) -> str:
    return ", ".join(note for note in notes if note)


def _in_srgb(image: Image.Image) -> Image.Image:
    """Convert by the embedded colour profile where that works, plainly elsewhere."""
    profile = image.info.get("icc_profile")
    if profile and image.mode in ("RGB", "CMYK"):
        try:
            converted = ImageCms.profileToProfile(
                image,
                ImageCms.ImageCmsProfile(io.BytesIO(profile)),
                ImageCms.createProfile("sRGB"),
                outputMode="RGB",
            )
        except (ImageCms.PyCMSError, OSError):
            converted = None  # a broken profile is no reason to refuse the picture
        if converted is not None:
            return converted
    return image.convert("RGB")


def _decode_tiff(path: Path, data: bytes) -> Decoded | None:
    """Decode a TIFF with more than 8 bits a channel; ``None`` leaves the file to Pillow.

    Pillow keeps only the upper 8 bits of deep colour; tifffile in turn lacks the decoders of
    some compressions, so that each file goes to the one that can.
    """
    if data[:4] not in (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"):
        return None
    try:
        with tifffile.TiffFile(io.BytesIO(data)) as tiff:
            page = tiff.pages[0]
            if page.dtype is None or page.dtype.itemsize == 1:
                return None
            _refuse_huge(path, page.imagewidth, page.imagelength)
            values = page.asarray()
            axes, photometric = page.axes, int(page.photometric)
            has_alpha = any(int(kind) in (1, 2) for kind in page.extrasamples)
            turn = page.tags.valueof(274, 1)
            first = _first_of(len(tiff.pages))
    except ImageError:
        raise
    except _DAMAGE:
        return None
    values = np.moveaxis(values, axes.index("S"), -1) if "S" in axes else values[..., np.newaxis]
    if values.ndim != 3:
        raise ImageError(f"{path.name}: wanted a picture of two dimensions, got axes {axes}.")
    rgb, alpha, note = show_deep(
        upright(values, turn), has_alpha=has_alpha, inverted=photometric == 0
    )
    return rgb, alpha, _joined(note, first)


def _refuse_huge(path: Path, width: int, height: int) -> None:
    if width * height > LARGEST:
        raise ImageError(
            f"{path.name} has {width} x {height} pixels: "
            f"at most {LARGEST // 1_000_000} million can be worked on."
        )
