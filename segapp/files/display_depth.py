"""Pixels of any depth as the 8 bits that are shown and learnt from.

Everything goes a few rows at a time: a deep picture is large, and floating-point copies of all
of it would be many times larger.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from segapp.files.order_statistics import percentiles
from segapp.files.row_strips import row_strips

if TYPE_CHECKING:
    from numpy.typing import NDArray

Decoded = tuple["NDArray[np.uint8]", "NDArray[np.uint8] | None", str]
"""RGB, alpha if there is one, and a note on what was done."""

_SHOWN_SHARE = (0.1, 99.9)  # per cent; what is darker or brighter is cut


def show_deep(values: NDArray[np.generic], *, has_alpha: bool, inverted: bool) -> Decoded:
    """Show ``H x W x channels`` of any number type: three colours, or the first as grey.

    ``inverted`` is for files in which 0 is white; alpha, if there is one, is the last channel.
    """
    channels = values.shape[2]
    colours = channels - has_alpha
    shown_channels = 3 if colours >= 3 else 1
    shown = values[:, :, :shown_channels]
    scale = Scale.of(shown)
    note = scale.note
    if colours != shown_channels:
        note += f", channels 1 to {shown_channels} of {colours}"
    rgb = np.empty((*values.shape[:2], 3), np.uint8)
    alpha = np.empty(values.shape[:2], np.uint8) if has_alpha else None
    for rows in row_strips(values.shape):
        strip = scale.apply(shown[rows])
        rgb[rows] = np.uint8(255) - strip if inverted else strip
        if alpha is not None:
            alpha[rows] = _opacity(values[rows, :, -1])
            lay_on_white(rgb[rows], alpha[rows])
    return rgb, _useful(alpha), note


def upright(values: NDArray[np.generic], orientation: int) -> NDArray[np.generic]:
    """Undo one of the eight orientations of the TIFF and EXIF tag 274."""
    if orientation in (5, 6, 7, 8):
        values = np.swapaxes(values, 0, 1)
    if orientation in (3, 4, 7, 8):
        values = values[::-1]
    if orientation in (2, 3, 6, 7):
        values = values[:, ::-1]
    return values


@dataclass(frozen=True, slots=True)
class Scale:
    """Which values become 0 and 255, all channels alike: the 0.1 and 99.9 per cent points."""

    low: float
    high: float
    note: str

    @classmethod
    def of(cls, values: NDArray[np.generic]) -> Scale:
        """Look at all values, as far as they are finite numbers."""
        kind = _kind(values)
        found = percentiles(values, _SHOWN_SHARE)
        if found is None:
            return cls(np.inf, np.inf, f"{kind}, without a single number")
        low, high = found.values
        if low == high:
            low, high = found.least, found.largest
        note = f"{kind}, shown from {low:.5g} to {high:.5g}"
        if found.not_finite:
            note += f", {found.not_finite} values are no numbers"
        return cls(low, high, note)

    def apply(self, values: NDArray[np.generic]) -> NDArray[np.uint8]:
        """Map values to 0..255; what is no number becomes 0."""
        # Halves, since the whole way from the least to the largest may be no finite number.
        low, high = self.low / 2, self.high / 2
        with np.errstate(invalid="ignore", over="ignore"):
            scaled = values.astype(np.float64)
            scaled /= 2
            scaled -= low
            scaled /= high - low if high > low else 1.0
        np.clip(scaled, 0.0, 1.0, out=scaled)
        scaled[np.isnan(scaled)] = 0.0
        scaled *= 255
        return np.rint(scaled, out=scaled).astype(np.uint8)


def lay_on_white(rgb: NDArray[np.uint8], alpha: NDArray[np.uint8]) -> None:
    """Blend transparent parts with white, in place."""
    opacity = alpha[:, :, np.newaxis].astype(np.uint16)
    rgb[...] = (rgb * opacity + 255 * (255 - opacity) + 127) // 255


def _useful(alpha: NDArray[np.uint8] | None) -> NDArray[np.uint8] | None:
    """Drop alpha that hides nothing."""
    return None if alpha is None or bool((alpha == 255).all()) else alpha


def _kind(values: NDArray[np.generic]) -> str:
    bits = values.dtype.itemsize * 8
    return f"{bits}-bit" + (" float" if np.issubdtype(values.dtype, np.floating) else "")


def _opacity(values: NDArray[np.generic]) -> NDArray[np.uint8]:
    is_float = np.issubdtype(values.dtype, np.floating)
    full = 1.0 if is_float else 2.0 ** (8 * values.dtype.itemsize) - 1
    opacity = np.nan_to_num(values.astype(np.float64) / full)
    return np.rint(np.clip(opacity, 0, 1) * 255).astype(np.uint8)
