"""Shades of the classes' colours that tell touching objects apart."""

from __future__ import annotations

import colorsys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from segapp.model.classes import ClassInfo
    from segapp.model.objects import ObjectMap

_MOST_SHADES = 6
_LIGHTNESS = (0.0, 0.16, -0.14, 0.27, -0.24, 0.08)  # of the shades, beside that of the class
_HUES = (0.0, 0.035, -0.035, -0.02, 0.02, 0.06)


@dataclass(frozen=True, slots=True, eq=False)
class ShadedLabels:
    """Labels in which objects that touch differ, with a class for each shade.

    Parameters
    ----------
    labels
        uint8, the shade of each pixel.
    classes
        The document's classes, and behind them their other shades.
    shades
        The class of each object, by its place in the object map.
    """

    labels: NDArray[np.uint8]
    classes: tuple[ClassInfo, ...]
    shades: tuple[int, ...]


def shaded_labels(
    labels: NDArray[np.uint8], found: ObjectMap, classes: Sequence[ClassInfo]
) -> ShadedLabels:
    """Give each object a shade of its class that no touching one has, if possible."""
    per_class = max(min(_MOST_SHADES, 256 // max(len(classes), 1)), 1)
    beside: dict[int, set[int]] = {}
    for one, other in touching_pairs(found.index_map):
        beside.setdefault(max(one, other), set()).add(min(one, other))
    chosen = np.zeros(len(found.keys) + 1, np.intp)
    for place, (_, number) in enumerate(found.keys, start=1):
        taken = {int(chosen[other]) for other in beside.get(place, ())}
        wanted = [(number - 1 + step) % per_class for step in range(per_class)]
        free = [shade for shade in wanted if shade not in taken]
        chosen[place] = (free or wanted)[0]
    table = np.zeros(len(found.keys) + 1, np.uint8)
    own = [key[0] for key in found.keys]
    table[1:] = [
        label if not shade else len(classes) + label * (per_class - 1) + shade - 1
        for label, shade in zip(own, chosen[1:].tolist(), strict=True)
    ]
    others = [
        replace(info, colour=shade_of(info.colour, shade))
        for info in classes
        for shade in range(1, per_class)
    ]
    shown = np.where(found.index_map > 0, table[found.index_map], labels).astype(np.uint8)
    return ShadedLabels(shown, (*classes, *others), tuple(table[1:].tolist()))


def shade_of(colour: tuple[int, int, int], shade: int) -> tuple[int, int, int]:
    """Return a colour near that of a class; shade 0 is the class's own."""
    if not shade:
        return colour
    hue, lightness, saturation = colorsys.rgb_to_hls(*(part / 255 for part in colour))
    step = _LIGHTNESS[shade]
    if not 0.12 <= lightness + step <= 0.88:
        step = -step
    lightness = min(max(lightness + step, 0.1), 0.9)
    red, green, blue = colorsys.hls_to_rgb((hue + _HUES[shade]) % 1, lightness, saturation)
    return round(255 * red), round(255 * green), round(255 * blue)


def touching_pairs(index_map: NDArray[np.int32]) -> set[tuple[int, int]]:
    """Return the places of objects that touch; a pixel has eight neighbours."""
    pairs: set[tuple[int, int]] = set()
    whole, first, last = slice(None), slice(1, None), slice(None, -1)
    for one, other in (
        ((whole, last), (whole, first)),
        ((last, whole), (first, whole)),
        ((last, last), (first, first)),
        ((last, first), (first, last)),
    ):
        here, there = index_map[one], index_map[other]
        touching = (here != there) & (here > 0) & (there > 0)
        ends = np.sort(np.stack((here[touching], there[touching])), axis=0)
        pairs |= {(int(a), int(b)) for a, b in np.unique(ends, axis=1).T}
    return pairs
