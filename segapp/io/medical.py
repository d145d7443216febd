"""DICOM and NIfTI images, by the extra ``medical``."""

from __future__ import annotations

from dataclasses import replace
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from segapp.io.pages import (
    MAX_DECODED_BYTES,
    ImageError,
    check_page,
    check_size,
    join_notes,
    page_note,
)
from segapp.model.picture import RawImage, Scale
from segapp.model.validation import reason, sanitize

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from segapp.io.deep_images import DecodedImage
    from segapp.model.display import DisplaySettings

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
        return _decode_nifti(path, page, display)
    return None


def _decode_dicom(
    path: Path, file: IO[bytes], page: int, display: DisplaySettings
) -> DecodedImage:
    try:
        import pydicom
    except ImportError as error:
        raise _missing("DICOM") from error
    from segapp.io.deep_images import render_raw

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


def _decode_nifti(path: Path, page: int, display: DisplaySettings) -> DecodedImage:
    try:
        import nibabel
    except ImportError as error:
        raise _missing("NIfTI") from error
    from segapp.io.deep_images import render_raw

    name = sanitize(path.name)
    try:
        image: Any = nibabel.load(path)
        image = nibabel.as_closest_canonical(image)
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
