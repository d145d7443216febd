"""Pixels of any depth as the 8 bits that are shown and learnt from.

Everything goes a few rows at a time: a deep picture is large, and floating-point copies of all
of it would be many times larger.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from segapp.files.order_statistics import percentiles
from segapp.files.row_strips import row_strips
from segapp.values.colour_maps import ColourMap, colour_table
from segapp.values.levels import Levels
from segapp.values.showing import AS_IT_COMES, Showing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from segapp.values.original import Original
    from segapp.values.picture import Picture

SHOWN_SHARE = (0.1, 99.9)  # per cent; what is darker or brighter is cut


@dataclass(frozen=True, slots=True, eq=False)
class Decoded:
    """What becomes a `segapp.values.picture.Picture`: see there."""

    rgb: NDArray[np.uint8]
    alpha: NDArray[np.uint8] | None
    note: str
    original: Original | None = None
    showing: Showing = AS_IT_COMES
    levels: tuple[Levels | None, ...] = ()


def show_deep(
    original: Original, opacity: NDArray[np.generic] | None, showing: Showing = AS_IT_COMES
) -> Decoded:
    """Show numbers of any type: three colours, or the first as grey, unless others are chosen."""
    alpha = None if opacity is None else _opacity_of(opacity)
    return _shown(original, _useful(alpha), showing)


def shown_anew(picture: Picture, showing: Showing) -> Picture:
    """Show the same measurements in another way."""
    if showing == picture.showing:
        return picture
    told = _shown(picture.measured, picture.alpha, showing)
    return replace(
        picture,
        rgb=told.rgb,
        note=told.note,
        original=told.original,
        showing=showing,
        levels=told.levels,
    )


def automatic_levels(original: Original, channels: tuple[int, ...]) -> tuple[Levels, int]:
    """Return the levels of channels together, and how many of their values are no numbers.

    They are the 0.1 and 99.9 per cent points; bytes are shown as they are.
    """
    if original.values.dtype == np.uint8:
        return Levels(0, 255), 0
    values = original.values
    wanted = slice(channels[0], channels[-1] + 1)  # a view, as neighbours are asked for
    found = percentiles(values[:, :, wanted], SHOWN_SHARE)
    if found is None:
        return Levels(np.inf, np.inf), values[:, :, wanted].size
    low, high = found.values
    if low == high:
        low, high = found.least, found.largest
    return Levels(low, high), found.not_finite


def _shown(original: Original, alpha: NDArray[np.uint8] | None, showing: Showing) -> Decoded:
    channels = showing.shown(original.n_channels, original.usual)
    levels, note = _levels(original, channels, showing)
    values = original.values
    mappings = [None if one is None else one.mapping(values.dtype) for one in levels]
    table = colour_table(showing.colour_map)
    rgb = np.empty((*values.shape[:2], 3), np.uint8)
    for rows in row_strips(values.shape):
        strip = rgb[rows]
        for place, (channel, mapping) in enumerate(zip(channels, mappings, strict=True)):
            part: NDArray[np.uint8] | int = 0
            if channel is not None and mapping is not None:
                part = mapping(values[rows, :, channel])
                part = np.uint8(255) - part if original.inverted else part
            if len(channels) == 3:
                strip[:, :, place] = part
            elif showing.colour_map is ColourMap.GREY:
                strip[...] = np.asarray(part)[:, :, np.newaxis]
            else:
                strip[...] = table[part]
        if alpha is not None and not original.on_white:
            lay_on_white(strip, alpha[rows])
    return Decoded(rgb, alpha, note, original, showing, levels)


def _levels(
    original: Original, channels: tuple[int | None, ...], showing: Showing
) -> tuple[tuple[Levels | None, ...], str]:
    """Return the levels of the shown channels, and what is to be said about them."""
    own = [None if channel is None else showing.levels_of(channel) for channel in channels]
    if channels == original.usual and not any(own):
        together, not_finite = automatic_levels(original, original.usual)
        return (together,) * len(channels), _note(original, together, not_finite)
    found: dict[int, Levels] = {}
    for channel, chosen in zip(channels, own, strict=True):
        if channel is not None and channel not in found:
            alike = original.usual if channels == original.usual else (channel,)
            found[channel] = chosen or automatic_levels(original, alike)[0]
    told = ", ".join(f"channel {c + 1} from {_span(one)}" for c, one in sorted(found.items()))
    levels = tuple(None if channel is None else found[channel] for channel in channels)
    return levels, f"{original.kind}, {told}"


def _note(original: Original, levels: Levels, not_finite: int) -> str:
    count = len(original.usual)
    note = f"{original.kind}, shown from {_span(levels)}"
    if np.isinf(levels.black):
        note = f"{original.kind}, without a single number"
    elif not_finite:
        note += f", {not_finite} values are no numbers"
    if original.n_channels != count:
        note += f", channels 1 to {count} of {original.n_channels}"
    return note


def _span(levels: Levels) -> str:
    return f"{levels.black:.5g} to {levels.white:.5g}"


def upright(values: NDArray[np.generic], orientation: int) -> NDArray[np.generic]:
    """Undo one of the eight orientations of the TIFF and EXIF tag 274."""
    if orientation in (5, 6, 7, 8):
        values = np.swapaxes(values, 0, 1)
    if orientation in (3, 4, 7, 8):
        values = values[::-1]
    if orientation in (2, 3, 6, 7):
        values = values[:, ::-1]
    return values


def lay_on_white(rgb: NDArray[np.uint8], alpha: NDArray[np.uint8]) -> None:
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
