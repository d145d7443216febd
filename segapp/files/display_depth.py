"""Pixels of any depth as the 8 bits that are shown and learnt from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Decoded = tuple["NDArray[np.uint8]", "NDArray[np.uint8] | None", str]
"""RGB, alpha if there is one, and a note on what was done."""


def show_deep(values: NDArray[np.generic], *, has_alpha: bool, inverted: bool) -> Decoded:
    """Show ``H x W x channels`` of any number type: three colours, or the first as grey.

    ``inverted`` is for files in which 0 is white; alpha, if there is one, is the last channel.
    """
    channels = values.shape[2]
    colours = channels - has_alpha
    shown_channels = 3 if colours >= 3 else 1
    shown, note = stretch(values[:, :, :shown_channels])
    if colours != shown_channels:
        note += f", channels 1 to {shown_channels} of {colours}"
    if inverted:
        shown = np.uint8(255) - shown
    rgb = np.repeat(shown, 3, axis=2) if shown_channels == 1 else np.ascontiguousarray(shown)
    if not has_alpha:
        return rgb, None, note
    is_float = np.issubdtype(values.dtype, np.floating)
    full = 1.0 if is_float else 2.0 ** (8 * values.dtype.itemsize) - 1
    opacity = np.nan_to_num(values[:, :, -1].astype(np.float64) / full)
    return *on_white(rgb, np.rint(np.clip(opacity, 0, 1) * 255).astype(np.uint8)), note


def upright(values: NDArray[np.generic], orientation: int) -> NDArray[np.generic]:
    """Undo one of the eight orientations of the TIFF and EXIF tag 274."""
    if orientation in (5, 6, 7, 8):
        values = np.swapaxes(values, 0, 1)
    if orientation in (3, 4, 7, 8):
        values = values[::-1]
    if orientation in (2, 3, 6, 7):
        values = values[:, ::-1]
    return values


def _kind(values: NDArray[np.generic]) -> str:
    bits = values.dtype.itemsize * 8
    return f"{bits}-bit" + (" float" if np.issubdtype(values.dtype, np.floating) else "")


def stretch(values: NDArray[np.generic]) -> tuple[NDArray[np.uint8], str]:
    """Map the values between the 0.1 and 99.9 per cent points to 0..255, all channels alike."""
    kind = _kind(values)
    numbers = values.astype(np.float64)
    finite = np.isfinite(numbers)
    if not finite.any():
        return np.zeros(values.shape, np.uint8), f"{kind}, without a single number"
    low, high = np.percentile(numbers[finite], (0.1, 99.9))
    if low == high:
        low, high = numbers[finite].min(), numbers[finite].max()
    span = high - low if high > low else 1.0
    with np.errstate(invalid="ignore", over="ignore"):
        scaled = np.clip((numbers - low) / span, 0.0, 1.0)
    scaled[np.isnan(scaled)] = 0.0
    note = f"{kind}, shown from {low:.5g} to {high:.5g}"
    if not finite.all():
        note += f", {np.count_nonzero(~finite)} values are no numbers"
    return np.rint(scaled * 255).astype(np.uint8), note


def on_white(
    rgb: NDArray[np.uint8], alpha: NDArray[np.uint8]
) -> tuple[NDArray[np.uint8], NDArray[np.uint8] | None]:
    """Blend transparent parts with white; alpha that hides nothing becomes ``None``."""
    if (alpha == 255).all():
        return np.ascontiguousarray(rgb), None
    opacity = alpha[:, :, np.newaxis].astype(np.uint16)
    blended = (rgb * opacity + 255 * (255 - opacity) + 127) // 255
    return blended.astype(np.uint8), np.ascontiguousarray(alpha)
