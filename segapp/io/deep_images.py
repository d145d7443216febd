"""Images with more than 8 bits: PNG, TIFF, DICOM and NIfTI (extra ``medical``)."""

from __future__ import annotations

import gzip
from dataclasses import dataclass, replace
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from segapp.imaging.tiles import row_strips
from segapp.io.pages import (
    DAMAGE,
    MAX_DECODED_BYTES,
    TIFF_SIGNATURES,
    ImageError,
    check_compression,
    check_page,
    check_size,
    join_notes,
    known_groups,
    open_tiff,
    page_note,
    read_metadata,
)
from segapp.model.display import DEFAULT_DISPLAY, ColourMap, DisplaySettings, Levels, colour_table
from segapp.model.picture import RawImage, Scale
from segapp.model.validation import Message, reason, sanitize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    import tifffile
    from numpy.typing import NDArray
    from PIL import Image
    from PIL.ImageFile import ImageFile

    from segapp.model.picture import Picture


# Pillow keeps only the upper bytes of these. It can be told which byte of a pair is the upper one,
# though: decoded once as it should be and once as if the bytes were swapped, both are there.

_UPPER_AND_LOWER = {"RGB": ("RGB;16B", "RGB;16L"), "RGBA": ("RGBA;16B", "RGBA;16L")}
_GREY_AND_ALPHA = "LA;16B"
_BITS_AT = 24  # where a PNG tells how many bits a channel has
HEADER = _BITS_AT + 1


def is_deep_png(image: Image.Image, header: bytes) -> bool:
    """Tell whether Pillow would cut an image, not yet loaded, to 8 bits."""
    return image.format == "PNG" and header[_BITS_AT:HEADER] == b"\x10"


def decode_deep_png(opened: Callable[[], ImageFile]) -> NDArray[np.uint16] | None:
    """Return all channels of a deep PNG; ``None`` leaves it to Pillow.

    That is for colours with a profile, which are a photograph's and become sRGB there, for a
    colour that stands for transparency, and for kinds that are not known.

    Parameters
    ----------
    opened
        Opens the file once more, nothing decoded.
    """
    with opened() as image:
        # Four bytes a pixel: grey and alpha, the upper one first.
        if _raw_mode(image) == _GREY_AND_ALPHA:
            raw = _decoded(image, "RGBA", "RGBA").astype(np.uint16)
            return (raw[:, :, ::2] << np.uint16(8)) | raw[:, :, 1::2]
        mode = image.mode
        if _raw_mode(image) not in _UPPER_AND_LOWER.get(
            mode, ()
        ) or not image.info.keys().isdisjoint(("icc_profile", "transparency")):
            return None
        values = _decoded(image, mode, _UPPER_AND_LOWER[mode][0]).astype(np.uint16)
    values <<= np.uint16(8)
    with opened() as image:
        values |= _decoded(image, mode, _UPPER_AND_LOWER[mode][1])
    return values


def _raw_mode(image: ImageFile) -> str:
    """Return Pillow's raw mode of an image."""
    return str(image.tile[0][3])


def _decoded(image: ImageFile, mode: str, raw: str) -> NDArray[np.uint8]:
    """Decode an image in another raw mode."""
    image._mode = mode  # as plugins set it; a tile cannot say it
    # A plain tuple: Pillow 10 has no other kind.
    image.tile = [(*image.tile[0][:3], raw)]  # type: ignore[list-item]
    image.load()
    return np.asarray(image)


_DIGIT = 16  # bits that are counted at a time


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Percentiles, the extremes, and the count of non-finite values."""

    values: tuple[float, ...]
    least: float
    largest: float
    not_finite: int


def percentiles(values: NDArray[np.generic], shares: Sequence[float]) -> Percentiles | None:
    """Return percentiles as `numpy.percentile` does; ``None`` when no value is finite.

    The numbers are looked at as unsigned integers of the same order and counted by their upper
    bits, then by the next ones within the bin that is meant: a handful of passes, each of which
    holds one strip.
    """
    first = _counts(values, 0, 0)
    total = int(first.sum())
    if not total:
        return None
    places = [share / 100 * (total - 1) for share in shares]
    ranks = {0, total - 1} | {int(place) for place in places}
    ranks |= {min(int(place) + 1, total - 1) for place in places}
    at = {rank: _ranked(values, rank, first) for rank in sorted(ranks)}
    found = tuple(
        _between(at[int(place)], at[min(int(place) + 1, total - 1)], place % 1) for place in places
    )
    return Percentiles(found, at[0], at[total - 1], int(values.size) - total)


def _between(low: float, high: float, share: float) -> float:
    """Interpolate as numpy does, so that both ends are exact."""
    step = high - low
    if step == np.inf:
        return low * (1 - share) + high * share
    return high - step * (1 - share) if share >= 0.5 else low + step * share


def _ranked(values: NDArray[np.generic], rank: int, first: NDArray[np.int64]) -> float:
    """Return the value that has ``rank`` smaller or equal ones before it."""
    bits = 8 * values.dtype.itemsize
    prefix, known, counts = 0, 0, first
    while True:
        below = np.cumsum(counts)
        digit = int(np.searchsorted(below, rank, side="right"))
        rank -= int(below[digit - 1]) if digit else 0
        width = min(_DIGIT, bits - known)
        prefix = (prefix << width) | digit
        known += width
        if known == bits:
            return _number(prefix, values.dtype)
        counts = _counts(values, prefix, known)


def _counts(values: NDArray[np.generic], prefix: int, known: int) -> NDArray[np.int64]:
    """Count the next bits of the values whose first ``known`` bits are ``prefix``."""
    bits = 8 * values.dtype.itemsize
    width = min(_DIGIT, bits - known)
    counts = np.zeros(1 << width, np.int64)
    for keys in _ordered(values):
        chosen = keys[keys >> (bits - known) == prefix] if known else keys
        digits = (chosen >> (bits - known - width)) & ((1 << width) - 1)
        counts += np.bincount(digits.astype(np.intp), minlength=1 << width)
    return counts


def _ordered(values: NDArray[np.generic]) -> Iterator[NDArray[Any]]:
    """Yield the finite values, strip by strip, as unsigned integers of the same order."""
    kind, size = values.dtype.kind, values.dtype.itemsize
    unsigned = np.dtype(f"u{size}")
    top = unsigned.type(1 << (8 * size - 1))
    for rows in row_strips(values.shape):
        strip = np.ascontiguousarray(values[rows], dtype=values.dtype.newbyteorder("=")).ravel()
        if kind == "u":
            yield strip
        elif kind == "i":
            yield strip.view(unsigned) ^ top
        else:
            keys = strip[np.isfinite(strip)].view(unsigned)
            yield np.where(keys & top, ~keys, keys | top)


def _number(key: int, dtype: np.dtype[Any]) -> float:
    """Return the number for an integer of the same order."""
    size = dtype.itemsize
    top = 1 << (8 * size - 1)
    if dtype.kind == "u":
        return float(key)
    if dtype.kind == "i":
        return float(key - top)
    bits = key ^ top if key & top else ~key & (2 * top - 1)
    return float(np.array([bits], f"u{size}").view(f"f{size}")[0])


# Conversion goes a few rows at a time: a deep image is large, and floating-point copies of all
# of it would be many times larger.

DISPLAY_PERCENTILES = (0.1, 99.9)  # per cent; what is darker or brighter is cut


@dataclass(frozen=True, slots=True, eq=False)
class DecodedImage:
    """A decoded file, with the fields of `segapp.model.picture.Picture`."""

    rgb: NDArray[np.uint8]
    alpha: NDArray[np.uint8] | None
    note: str
    raw: RawImage | None = None
    display: DisplaySettings = DEFAULT_DISPLAY
    levels: tuple[Levels | None, ...] = ()
    scale: Scale | None = None


def render_raw(
    raw: RawImage,
    opacity: NDArray[np.generic] | None,
    display: DisplaySettings = DEFAULT_DISPLAY,
) -> DecodedImage:
    """Convert numbers of any type for display: three colours, or the first as grey."""
    alpha = None if opacity is None else _opacity_of(opacity)
    return _shown(raw, _useful(alpha), display)


def rerender(picture: Picture, display: DisplaySettings) -> Picture:
    """Return an image with its raw values converted by other settings."""
    if display == picture.display:
        return picture
    converted = _shown(picture.raw_image, picture.alpha, display)
    return replace(
        picture,
        rgb=converted.rgb,
        note=converted.note,
        raw=converted.raw,
        display=display,
        levels=converted.levels,
    )


def automatic_levels(raw: RawImage, channels: tuple[int, ...]) -> tuple[Levels, int]:
    """Return common levels of channels, and their count of non-finite values.

    They are the 0.1 and 99.9 per cent points; bytes are shown as they are.
    """
    if raw.values.dtype == np.uint8:
        return Levels(0, 255), 0
    values = raw.values
    wanted = slice(channels[0], channels[-1] + 1)  # a view, as neighbours are asked for
    found = percentiles(values[:, :, wanted], DISPLAY_PERCENTILES)
    if found is None:
        return Levels(np.inf, np.inf), values[:, :, wanted].size
    low, high = found.values
    if low == high:
        low, high = found.least, found.largest
    return Levels(low, high), found.not_finite


def _shown(
    raw: RawImage, alpha: NDArray[np.uint8] | None, display: DisplaySettings
) -> DecodedImage:
    channels = display.visible_channels(raw.n_channels, raw.default_channels)
    levels, note = _levels(raw, channels, display)
    values = raw.values
    mappings = [None if one is None else one.mapping(values.dtype) for one in levels]
    table = colour_table(display.colour_map)
    rgb = np.empty((*values.shape[:2], 3), np.uint8)
    for rows in row_strips(values.shape):
        strip = rgb[rows]
        for place, (channel, mapping) in enumerate(zip(channels, mappings, strict=True)):
            part: NDArray[np.uint8] | int = 0
            if channel is not None and mapping is not None:
                part = mapping(values[rows, :, channel])
                part = np.uint8(255) - part if raw.inverted else part
            if len(channels) == 3:
                strip[:, :, place] = part
            elif display.colour_map is ColourMap.GREY:
                strip[...] = np.asarray(part)[:, :, np.newaxis]
            else:
                strip[...] = table[part]
        if alpha is not None and not raw.on_white:
            blend_on_white(strip, alpha[rows])
    return DecodedImage(rgb, alpha, note, raw, display, levels)


def _levels(
    raw: RawImage, channels: tuple[int | None, ...], display: DisplaySettings
) -> tuple[tuple[Levels | None, ...], str]:
    """Return the levels of the shown channels, and a note about them."""
    own = [None if channel is None else display.levels_of(channel) for channel in channels]
    if channels == raw.default_channels and not any(own):
        together, not_finite = automatic_levels(raw, raw.default_channels)
        return (together,) * len(channels), _note(raw, together, not_finite)
    found: dict[int, Levels] = {}
    for channel, chosen in zip(channels, own, strict=True):
        if channel is not None and channel not in found:
            alike = raw.default_channels if channels == raw.default_channels else (channel,)
            found[channel] = chosen or automatic_levels(raw, alike)[0]
    notes = [
        Message("channel {} from {:.5g} to {:.5g}", channel + 1, one.black, one.white)
        for channel, one in sorted(found.items())
    ]
    levels = tuple(None if channel is None else found[channel] for channel in channels)
    return levels, join_notes([raw.dtype_text, *notes])


def _note(raw: RawImage, levels: Levels, not_finite: int) -> str:
    notes = [raw.dtype_text]
    if np.isinf(levels.black):
        notes.append(Message("without a single number"))
    else:
        notes.append(Message("shown from {:.5g} to {:.5g}", levels.black, levels.white))
        if not_finite:
            notes.append(Message("{} values are not numbers", not_finite))
    count = len(raw.default_channels)
    if raw.n_channels != count:
        notes.append(Message("channels 1 to {} of {}", count, raw.n_channels))
    return join_notes(notes)


def apply_orientation(values: NDArray[np.generic], orientation: int) -> NDArray[np.generic]:
    """Undo one of the eight orientations of the TIFF and EXIF tag 274."""
    if orientation in (5, 6, 7, 8):
        values = np.swapaxes(values, 0, 1)
    if orientation in (3, 4, 7, 8):
        values = values[::-1]
    if orientation in (2, 3, 6, 7):
        values = values[:, ::-1]
    return values


def blend_on_white(rgb: NDArray[np.uint8], alpha: NDArray[np.uint8]) -> None:
    """Blend transparent parts with white, in place."""
    opacity = alpha[:, :, np.newaxis].astype(np.uint16)
    rgb[...] = (rgb * opacity + 255 * (255 - opacity) + 127) // 255


def _useful(alpha: NDArray[np.uint8] | None) -> NDArray[np.uint8] | None:
    """Drop alpha that hides nothing."""
    return None if alpha is None or bool((alpha == 255).all()) else alpha


def _opacity_of(values: NDArray[np.generic]) -> NDArray[np.uint8]:
    alpha = np.empty(values.shape, np.uint8)
    for rows in row_strips(values.shape):
        alpha[rows] = _opacity(values[rows])
    return alpha


def _opacity(values: NDArray[np.generic]) -> NDArray[np.uint8]:
    is_float = np.issubdtype(values.dtype, np.floating)
    full = 1.0 if is_float else 2.0 ** (8 * values.dtype.itemsize) - 1
    opacity = np.nan_to_num(values.astype(np.float64) / full)
    return np.rint(np.clip(opacity, 0, 1) * 255).astype(np.uint8)


_ALPHA = (1, 2)  # values of the tag ExtraSamples
_GREY = (0, 1)  # values of the tag PhotometricInterpretation
_MOST_COLOURS = 4  # that Pillow reads


def decode_deep_tiff(
    path: Path, file: IO[bytes], page: int, display: DisplaySettings
) -> DecodedImage | None:
    """Decode a deep or many-channel TIFF; ``None`` leaves the file to Pillow.

    Pillow keeps only the upper 8 bits of deep colour; tifffile in turn lacks the decoders of
    some compressions, so that each file goes to the one that can.
    """
    file.seek(0)
    if file.read(4) not in TIFF_SIGNATURES:
        return None
    try:
        with open_tiff(file, path) as tiff:
            pictures = known_groups(path, tiff)
            check_page(path, page, len(pictures))
            planes = [tiff.pages[index] for index in pictures[page]]
            first = planes[0].keyframe
            if first.dtype is None or _is_left_to_pillow(planes, len(pictures)):
                return None
            values = _values(path, planes)
            inverted = int(first.photometric) == 0
            has_alpha = any(int(kind) in _ALPHA for kind in first.extrasamples)
            turn = first.tags.valueof(274, 1)
            metadata = read_metadata(tiff)
    except ImageError:
        raise
    except DAMAGE:
        return None
    has_alpha = has_alpha and values.shape[2] > 1 and len(planes) == 1
    values = apply_orientation(values, turn if isinstance(turn, int) else 1)
    colours = values[:, :, :-1] if has_alpha else values
    names = metadata.names if len(metadata.names) == colours.shape[2] else ()
    raw = RawImage(colours, inverted, separate_channels=len(planes) > 1, names=names)
    decoded = render_raw(raw, values[:, :, -1] if has_alpha else None, display)
    note = join_notes((decoded.note, page_note(page, len(pictures))))
    return replace(decoded, note=note, scale=metadata.scale)


_UNPACKED = (1, 8, 32946)
"""Compressions that tifffile decodes without another library: none, and deflate."""


def _is_left_to_pillow(planes: list[tifffile.TiffPage], n_pictures: int) -> bool:
    first = planes[0].keyframe
    if first.dtype.itemsize > 1:
        return False
    if first.dtype != np.uint8:
        return True
    is_grey = int(first.photometric) == _GREY[1]
    if n_pictures > 1 and is_grey and int(first.compression) in _UNPACKED:
        return False  # of which Pillow would read all pages before
    several = len(planes) > 1 and int(first.photometric) in _GREY
    return not several and first.samplesperpixel <= _MOST_COLOURS


def _values(path: Path, planes: list[tifffile.TiffPage]) -> NDArray[np.generic]:
    """Decode one page, or the pages of one picture's channels."""
    first = planes[0].keyframe
    for plane in planes:
        _check(path, plane, len(planes))
    if len(planes) == 1:
        return _channels_last(path, planes[0].asarray(), first.axes)
    values = np.empty((first.imagelength, first.imagewidth, len(planes)), first.dtype)
    for channel, plane in enumerate(planes):
        values[:, :, channel] = plane.asarray()
    return _channels_last(path, values, "YXS")


def _check(path: Path, page: tifffile.TiffPage, count: int) -> None:
    key = page.keyframe  # which pages like it refer to
    check_size(path, key.imagewidth, key.imagelength)
    if key.nbytes * count > MAX_DECODED_BYTES:
        raise ImageError(
            "{} is too large: its channels take {} MB, and {} MB can be worked on.",
            sanitize(path.name),
            key.nbytes * count >> 20,
            MAX_DECODED_BYTES >> 20,
        )
    stored = min(sum(page.databytecounts), page.parent.filehandle.size)
    check_compression(path, int(key.compression), key.nbytes, stored)


def _channels_last(path: Path, values: NDArray[np.generic], axes: str) -> NDArray[np.generic]:
    name = sanitize(path.name)
    if values.dtype.kind not in "iuf" or values.dtype.itemsize > 8:
        raise ImageError("{}: wanted whole or floating-point numbers, got {}.", name, values.dtype)
    values = np.moveaxis(values, axes.index("S"), -1) if "S" in axes else values[..., np.newaxis]
    if values.ndim != 3 or not values.size:
        raise ImageError("{}: wanted an image of two dimensions, got axes {}.", name, axes)
    return values


_DICOM_AT, _DICOM = 128, b"DICM"
_UNEVEN = 1e-3  # share by which the sides of a square pixel may differ
_UNITS = {"micron": "µm", "meter": "m"}


def decode_medical(
    path: Path, file: IO[bytes], page: int, display: DisplaySettings
) -> DecodedImage | None:
    """Decode a frame of DICOM or a slice of NIfTI; ``None`` for other files."""
    file.seek(0)
    header = file.read(_DICOM_AT + len(_DICOM))
    if header[_DICOM_AT:] == _DICOM:
        return _decode_dicom(path, file, page, display)
    if path.name.lower().endswith((".nii", ".nii.gz")):
        return _decode_nifti(path, file, page, display)
    return None


def _decode_dicom(
    path: Path, file: IO[bytes], page: int, display: DisplaySettings
) -> DecodedImage:
    try:
        import pydicom
    except ImportError as error:
        raise _missing("DICOM") from error

    name = sanitize(path.name)
    file.seek(0)
    try:
        told = pydicom.dcmread(file)
        height, width = int(told.Rows), int(told.Columns)
        count = int(told.get("NumberOfFrames", 1) or 1)
    except Exception as error:  # pydicom raises whatever it meets in a damaged file
        raise ImageError("{} is damaged and cannot be read: {}.", name, reason(error)) from error
    check_size(path, width, height)
    check_page(path, page, count)
    _check_bytes(path, height * width * count * int(told.get("SamplesPerPixel", 1)) * 2)
    try:
        pixels = np.asarray(told.pixel_array)
    except Exception as error:  # of a compression that needs another library, for instance
        raise ImageError("{} cannot be decoded: {}.", name, reason(error)) from error
    frame = pixels[page] if count > 1 else pixels
    slope = float(told.get("RescaleSlope", 1) or 1)
    intercept = float(told.get("RescaleIntercept", 0) or 0)
    if (slope, intercept) != (1.0, 0.0):
        frame = (frame * slope + intercept).astype(np.float32)
    kind = str(told.get("PhotometricInterpretation", ""))
    if kind.startswith("YBR") and frame.ndim == 3:
        from pydicom.pixels import convert_color_space

        frame = convert_color_space(frame, kind, "RGB")
    values = frame if frame.ndim == 3 else frame[:, :, np.newaxis]
    raw = RawImage(np.ascontiguousarray(values), inverted=kind == "MONOCHROME1")
    spacing = told.get("PixelSpacing") or told.get("ImagerPixelSpacing") or ()
    decoded = render_raw(raw, None, display)
    note = join_notes((decoded.note, page_note(page, count)))
    return replace(decoded, note=note, scale=_scale(spacing, "mm", "DICOM"))


def _decode_nifti(
    path: Path, file: IO[bytes], page: int, display: DisplaySettings
) -> DecodedImage:
    try:
        import nibabel
    except ImportError as error:
        raise _missing("NIfTI") from error

    name = sanitize(path.name)
    try:
        image: Any = nibabel.as_closest_canonical(_open_nifti(path, file))
        shape = tuple(int(side) for side in image.shape)
    except Exception as error:  # nibabel raises whatever it meets in a damaged file
        raise ImageError("{} is damaged and cannot be read: {}.", name, reason(error)) from error
    if len(shape) < 2:
        raise ImageError("{}: wanted an image of two dimensions, got axes {}.", name, len(shape))
    check_size(path, shape[0], shape[1])
    count = int(np.prod(shape[2:], dtype=np.int64))
    check_page(path, page, count)
    _check_bytes(path, shape[0] * shape[1] * 8)
    place = np.unravel_index(page, shape[2:], order="F") if shape[2:] else ()
    try:
        values = np.asarray(image.dataobj[(slice(None), slice(None), *map(int, place))])
    except Exception as error:
        raise ImageError("{} is damaged and cannot be read: {}.", name, reason(error)) from error
    # From left to right and from the back to the front: rows go down, so that they are turned.
    upright = np.ascontiguousarray(values.T[::-1])
    if upright.dtype.kind not in "iuf":
        raise ImageError(
            "{}: wanted whole or floating-point numbers, got {}.", name, upright.dtype
        )
    if upright.dtype.itemsize == 8:
        upright = upright.astype(np.float32)
    decoded = render_raw(RawImage(upright[:, :, np.newaxis]), None, display)
    units = str(image.header.get_xyzt_units()[0])
    unit = _UNITS.get(units, units) if units != "unknown" else "mm"
    scale = _scale(image.header.get_zooms()[:2], unit, "NIfTI")
    note = join_notes((decoded.note, page_note(page, count)))
    return replace(decoded, note=note, scale=scale)


def _open_nifti(path: Path, file: IO[bytes]) -> object:
    """Open an image so that its reading can be stopped: a packed one may be endless."""
    import nibabel

    file.seek(0)
    stream: Any = gzip.GzipFile(fileobj=file) if path.suffix.lower() == ".gz" else file
    header = stream.read(nibabel.Nifti2Header.sizeof_hdr)
    stream.seek(0)
    is_first = nibabel.Nifti1Header.may_contain_header(header)
    kind: Any = nibabel.Nifti1Image if is_first else nibabel.Nifti2Image
    image: object = kind.from_stream(stream)
    return image


def _scale(spacing: Iterable[object], unit: str, source: str) -> Scale | None:
    sides = [float(str(side)) for side in spacing]
    if len(sides) != 2 or not min(sides) > 0 or abs(sides[1] / sides[0] - 1) > _UNEVEN:
        return None
    return Scale(float(f"{sides[0]:.9g}"), unit, source)


def _check_bytes(path: Path, n_bytes: int) -> None:
    if n_bytes > MAX_DECODED_BYTES:
        raise ImageError(
            "{} is too large: its channels take {} MB, and {} MB can be worked on.",
            sanitize(path.name),
            n_bytes >> 20,
            MAX_DECODED_BYTES >> 20,
        )


def _missing(kind: str) -> ImageError:
    if kind == "DICOM":
        return ImageError('DICOM needs the extra medical: pip install "segapp[medical]".')
    return ImageError('NIfTI needs the extra medical: pip install "segapp[medical]".')
