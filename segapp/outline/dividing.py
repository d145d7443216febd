"""Pixels that are to be cut: not too many at once, and what does not touch apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import ndimage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Places = tuple[NDArray[np.intp], NDArray[np.intp]]
    """Rows and columns of some pixels."""

_MOST_AT_ONCE = 6000
"""Pixels that are cut at once: SciPy holds the interpreter meanwhile, and the window waits."""
_ALONE = 1000
"""Pixels of a part that is cut alone although it might be cut with others."""


@dataclass(frozen=True, slots=True)
class Seam:
    """Where two pieces meet: before which row (axis 0) or column, and how far it goes."""

    axis: int
    at: int
    start: int
    stop: int


def pieces(places: Places, share: float, seams: list[Seam]) -> Iterator[Places]:
    """Divide pixels that are too many, across the longer side; ``seams`` tells where."""
    count = len(places[0])
    if count <= _MOST_AT_ONCE:
        if count:
            yield places
        return
    seam, halves = divided(places, share)
    seams.append(seam)
    for half in halves:
        yield from pieces(half, share, seams)


def divided(places: Places, share: float) -> tuple[Seam, tuple[Places, Places]]:
    """Divide pixels across the longer side, so that such a share of them goes into the first."""
    axis = int(np.ptp(places[1]) > np.ptp(places[0]))
    along, other = places[axis], places[1 - axis]
    first = int(share * len(along))
    at = max(int(np.partition(along, first)[first]), along.min() + 1)
    before, rows, columns = along < at, *places
    halves = (rows[before], columns[before]), (rows[~before], columns[~before])
    return Seam(axis, at, int(other.min()), int(other.max())), halves


def at_seam(seams: list[Seam], places: Places) -> NDArray[np.bool_]:
    """Tell which of some places are on either side of a seam."""
    at = np.zeros(len(places[0]), dtype=bool)
    for seam in seams:
        along, other = places[seam.axis], places[1 - seam.axis]
        beside = (along == seam.at) | (along == seam.at - 1)
        at |= beside & (other >= seam.start - 1) & (other <= seam.stop + 1)
    return at


def parts(places: Places) -> Iterator[Places]:
    """Divide pixels into large parts that do not touch, and the rest: each has its own answer.

    The solver goes over all of its network as often as the longest of its paths has nodes. So it
    takes less time for each part alone, unless its preparation takes more than it saves.
    """
    if len(places[0]) < 2 * _ALONE:
        yield places
        return
    rows, columns = (side - side.min() for side in places)
    window = np.zeros((rows.max() + 1, columns.max() + 1), dtype=bool)
    window[rows, columns] = True
    part = ndimage.label(window, np.ones((3, 3)))[0][rows, columns]
    large = np.bincount(part) >= _ALONE
    for number in np.flatnonzero(large):
        own = part == number
        yield places[0][own], places[1][own]
    rest = ~large.take(part)
    if rest.any():
        yield places[0][rest], places[1][rest]
