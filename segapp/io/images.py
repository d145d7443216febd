"""Image files as arrays."""

from __future__ import annotations

import hashlib
import io
import logging
import os
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image, ImageCms, UnidentifiedImageError

from segapp.imaging.tiles import row_strips
from segapp.io.deep_images import (
    HEADER,
    DecodedImage,
    apply_orientation,
    blend_on_white,
    decode_deep_png,
    decode_deep_tiff,
    decode_medical,
    is_deep_png,
    render_raw,
    rerender,
)
from segapp.io.films import is_film, is_zarr, open_film, open_zarr, zarr_description
from segapp.io.folder_files import folder_scale
from segapp.io.pages import (
    DAMAGE,
    MEDICAL_SUFFIXES,
    TIFF_SIGNATURES,
    ImageError,
    check_page,
    check_plausible_size,
    check_size,
    count_frames,
    join_notes,
    open_image_file,
    open_tiff,
    page_file,
    page_note,
    parse_page,
    read_metadata,
)
from segapp.model.display import DEFAULT_DISPLAY, DisplaySettings
from segapp.model.picture import Picture, RawImage
from segapp.model.validation import Message, SegappError, reason, sanitize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from io import BufferedReader

    from numpy.typing import NDArray
    from PIL.ImageFile import ImageFile

    from segapp.model.picture import Scale


def to_srgb(image: Image.Image) -> tuple[NDArray[np.uint8], NDArray[np.uint8] | None]:
    """Convert a loaded image to sRGB, transparent parts blended with white.

    Alpha that hides nothing becomes ``None``.
    """
    shape = (image.height, image.width)
    rgb = np.empty((*shape, 3), np.uint8)
    alpha = np.empty(shape, np.uint8) if image.has_transparency_data else None
    convert = _plain if alpha is not None else _into_srgb(image)
    for rows in row_strips((*shape, 4)):
        strip = image.crop((0, rows.start, image.width, rows.stop))
        if alpha is None:
            rgb[rows] = np.asarray(convert(strip))
        else:
            rgba = np.asarray(strip.convert("RGBA"))
            rgb[rows], alpha[rows] = rgba[:, :, :3], rgba[:, :, 3]
            blend_on_white(rgb[rows], alpha[rows])
    if alpha is not None and (alpha == 255).all():
        alpha = None
    return rgb, alpha


def _plain(image: Image.Image) -> Image.Image:
    return image.convert("RGB")


def _into_srgb(image: Image.Image) -> Callable[[Image.Image], Image.Image]:
    """Return the conversion by the embedded colour profile if it works."""
    profile = image.info.get("icc_profile")
    if not profile or image.mode not in ("RGB", "CMYK"):
        return _plain
    try:
        transform = ImageCms.buildTransform(
            ImageCms.ImageCmsProfile(io.BytesIO(profile)),
            ImageCms.createProfile("sRGB"),
            image.mode,
            "RGB",
        )
        transform.apply(Image.new(image.mode, (1, 1)))
    except (ImageCms.PyCMSError, *DAMAGE):
        return _plain  # a broken profile is no reason to refuse the picture
    return transform.apply


__all__ = [
    "IMAGE_SUFFIXES",
    "ImageError",
    "IndexedImage",
    "content_digest",
    "load_image",
    "load_indices",
    "load_thumbnail",
    "open_validated",
]

IMAGE_SUFFIXES: tuple[str, ...] = (
    ".jpg",
    ".jpeg",
    ".png",
    ".bmp",
    ".tif",
    ".tiff",
    ".webp",
    ".gif",
    ".heic",
    ".heif",
    ".avif",
    ".jp2",
    ".j2k",
    ".ppm",
    ".pgm",
    ".pbm",
    ".pnm",
    ".tga",
    *MEDICAL_SUFFIXES,
)
_MOST_DIGESTED = 256 << 20
"""Bytes of a file up to which all of them count in its digest: a fifth of a second."""
_log = logging.getLogger(__name__)
_FORMATS = ("JPEG", "PNG", "BMP", "TIFF", "WEBP", "GIF", "AVIF", "JPEG2000", "PPM")
_HEIC_BRANDS = (b"heic", b"heix", b"mif1", b"msf1")
_WANTED = "JPEG, PNG, BMP, TIFF, WebP, GIF, AVIF, JPEG 2000, PPM or TGA"
_JPEG = b"\xff\xd8"
_ORIENTATION = 274  # the tag of TIFF and EXIF
_DEEP_MODES = ("I", "F", "I;16", "I;16B", "I;16L", "I;16N")
# Pillow would warn at 89 and refuse at 179 megapixels, in words of its own; `check_size`
# looks at the size before any pixel is decoded.
Image.MAX_IMAGE_PIXELS = None


def load_image(path: str | Path, display: DisplaySettings = DEFAULT_DISPLAY) -> Picture:
    """Read an image file, or one of its pages: see `segapp.io.pages`.

    Raises
    ------
    ImageError
        When there is no such file or page, or it cannot be decoded.
    """
    path, start = Path(path), time.perf_counter()
    name, page = parse_page(path)
    with _in_one_sentence(name):
        decoded = _decode_page(name, page, display)
        digest = content_digest(path)  # second, as another program may be writing the file
        picture = Picture(
            decoded.rgb,
            decoded.alpha,
            path,
            digest,
            decoded.note,
            decoded.raw,
            decoded.display,
            decoded.levels,
            folder_scale(path) or decoded.scale,
        )
        rendered = rerender(picture, display)
    height, width = rendered.size
    _log.info("read %s: %d x %d pixels, %.2f s", path, width, height, time.perf_counter() - start)
    return rendered


def _tiff_scale(path: Path, file: BufferedReader) -> Scale | None:
    """Return the pixel size of a TIFF that Pillow has read."""
    file.seek(0)
    if file.read(4) not in TIFF_SIGNATURES:
        return None
    with suppress(*DAMAGE), open_tiff(file, path) as tiff:
        return read_metadata(tiff).scale
    return None


def _decode_page(name: Path, page: int, display: DisplaySettings) -> DecodedImage:
    if is_film(name):
        film = open_film(name)
        return DecodedImage(film.frame(page), None, page_note(page, len(film)))
    if is_zarr(name):
        image = open_zarr(name)
        raw = RawImage(image.page(page), separate_channels=True)
        decoded = render_raw(raw, None, display)
        return replace(decoded, note=join_notes((decoded.note, page_note(page, len(image)))))
    with _opened(name) as file:
        for decode in (decode_deep_tiff, decode_medical):
            deep = decode(name, file, page, display)
            if deep is not None:
                return deep
        decoded = _decode(name, file, page, display)
        return decoded if decoded.scale else replace(decoded, scale=_tiff_scale(name, file))


def load_thumbnail(
    path: Path, longest: int, display: DisplaySettings = DEFAULT_DISPLAY
) -> NDArray[np.uint8]:
    """Read an image at most ``longest`` pixels wide and high, as ``H x W x 3``.

    A JPEG is decoded at an eighth, a quarter or half of its size, whatever suffices.
    """
    with _opened(page_file(path)) as file, _in_one_sentence(path):
        if display == DEFAULT_DISPLAY and file.read(2) == _JPEG:
            with _recognised(file) as image:
                image.draft("RGB", (longest, longest))
                check_size(path, image.width, image.height)
                image.load()
                turn, _ = _orientation(image)
                return _shrunk(_turned(np.asarray(image.convert("RGB")), turn), longest)
    return _shrunk(load_image(path, display).rgb, longest)


def _shrunk(rgb: NDArray[np.uint8], longest: int) -> NDArray[np.uint8]:
    image = Image.fromarray(rgb)
    image.thumbnail((longest, longest), Image.Resampling.BOX)
    return np.asarray(image)


def content_digest(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal, or raise `ImageError`.

    Of a very large file, a stack for instance, size, beginning and end count, and of an OME-Zarr
    image its description: its pages are opened one after the other, each as quickly as the first.
    """
    file_name = page_file(path)
    if is_zarr(file_name) and file_name.is_dir():
        return hashlib.sha256(zarr_description(file_name)).hexdigest()
    with _opened(file_name) as file, _in_one_sentence(path):
        size = _size_of(file)
        if size <= _MOST_DIGESTED:
            return hashlib.file_digest(file, "sha256").hexdigest()
        digest = hashlib.sha256(str(size).encode())
        digest.update(file.read(_MOST_DIGESTED // 16))
        file.seek(-_MOST_DIGESTED // 16, os.SEEK_END)
        digest.update(file.read())
        return digest.hexdigest()


@dataclass(frozen=True, slots=True, eq=False)
class IndexedImage:
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


def load_indices(path: str | Path) -> IndexedImage:
    """Read strokes or a truth from an image with one channel of 8 bits."""
    path = Path(path)
    with open_validated(path) as image:
        if image.mode not in ("P", "L", "1"):
            raise ImageError(
                "{}: wanted one channel of 8 bits (a palette or grey), got {}.",
                sanitize(path.name),
                image.mode,
            )
        values = np.array(image.convert("L") if image.mode == "1" else image)
        colours = image.getpalette()
        text = {str(key): part for key, part in image.info.items() if isinstance(part, str)}
        palette = None if colours is None else np.array(colours, np.uint8).reshape(-1, 3)
    return IndexedImage(values, palette, text)


@contextmanager
def open_validated(path: Path) -> Iterator[Image.Image]:
    """Open an image for its stored values, after checks of its size."""
    with _opened(path) as file, _in_one_sentence(path), _recognised(file) as image:
        check_size(path, image.width, image.height)
        check_plausible_size(path, image, _size_of(file))
        yield image


@contextmanager
def _in_one_sentence(path: Path) -> Iterator[None]:
    """Turn all exceptions of a decoder into an `ImageError`."""
    name = sanitize(path.name)
    try:
        yield
    except SegappError:
        raise
    except UnidentifiedImageError as error:
        raise ImageError("{} is not an image: wanted {}.", name, _WANTED) from error
    except MemoryError as error:
        raise ImageError("{} does not fit into the memory.", name) from error
    except DAMAGE as error:
        raise ImageError("{} is damaged and cannot be read: {}.", name, reason(error)) from error


@contextmanager
def _opened(path: Path) -> Iterator[BufferedReader]:
    """Open an image file, or raise `ImageError` with one sentence."""
    with open_image_file(path) as file:
        if not _size_of(file):
            raise ImageError("{} is empty: wanted {}.", sanitize(path.name), _WANTED)
        yield file


def _size_of(file: BufferedReader) -> int:
    return os.fstat(file.fileno()).st_size


def _recognised(file: BufferedReader) -> ImageFile:
    file.seek(0)
    header = file.read(12)
    file.seek(0)
    if header[4:8] != b"ftyp" or header[8:] not in _HEIC_BRANDS:
        # A TGA begins with nothing to know it by: its name has to tell.
        by_name = ("TGA",) if str(file.name).lower().endswith(".tga") else ()
        return Image.open(file, formats=by_name or _FORMATS)
    try:
        from pillow_heif import register_heif_opener
    except ImportError as error:
        raise ImageError('HEIC needs the extra heif: pip install "segapp[heif]".') from error
    register_heif_opener()
    return Image.open(file, formats=("HEIF",))


def _decode(path: Path, file: BufferedReader, page: int, display: DisplaySettings) -> DecodedImage:
    file.seek(0)
    header = file.read(HEADER)
    with _recognised(file) as image:
        check_size(path, image.width, image.height)
        check_plausible_size(path, image, _size_of(file))
        note = ""
        if is_deep_png(image, header) and image.mode not in _DEEP_MODES:
            deep = _decode_deep_png(file, display)
            if deep is not None:
                return deep
            image = _recognised(file)
            note = join_notes(("16-bit", Message("shown with the upper 8 bits")))
        count = _frames(image, file)
        check_page(path, page, count)
        if page:
            image.seek(page)
            check_size(path, image.width, image.height)
        image.load()
        turn, unsure = _orientation(image)
        if image.mode in _DEEP_MODES:
            values = apply_orientation(np.asarray(image)[:, :, np.newaxis], turn)
            decoded = render_raw(RawImage(values), None, display)
            return replace(
                decoded, note=join_notes((decoded.note, page_note(page, count), unsure))
            )
        rgb, alpha = to_srgb(image)
    turned = None if alpha is None else _turned(alpha, turn)
    return DecodedImage(
        _turned(rgb, turn), turned, join_notes((note, page_note(page, count), unsure))
    )


def _decode_deep_png(file: BufferedReader, display: DisplaySettings) -> DecodedImage | None:
    stored = decode_deep_png(lambda: _recognised(file))
    if stored is None:
        return None
    with _recognised(file) as image:
        turn, unsure = _orientation(image)
    values = apply_orientation(stored, turn)
    has_alpha = values.shape[2] in (2, 4)
    raw = RawImage(values[:, :, :-1] if has_alpha else values)
    decoded = render_raw(raw, values[:, :, -1] if has_alpha else None, display)
    return replace(decoded, note=join_notes((decoded.note, unsure)))


def _turned(values: NDArray[np.uint8], turn: int) -> NDArray[np.uint8]:
    return np.ascontiguousarray(apply_orientation(values, turn), dtype=np.uint8)


def _orientation(image: Image.Image) -> tuple[int, str]:
    """Return the EXIF orientation, and a note when it is damaged."""
    try:
        # Pillow may have met the damage before and kept quiet; another object tells it again.
        Image.Exif().load(image.info.get("exif", b""))
        turn = image.getexif().get(_ORIENTATION, 1)
    except DAMAGE:  # no reason to refuse pixels that are whole
        turn = None
    if isinstance(turn, int) and 0 <= turn <= 8:
        return turn, ""
    return 1, Message("shown unrotated, as its EXIF data are damaged")


def _frames(image: Image.Image, file: BufferedReader) -> int:
    with suppress(*DAMAGE):  # damage behind the first frame does not matter
        return count_frames(image, file)
    image.seek(0)
    return 1
