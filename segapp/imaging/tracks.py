"""Objects that keep their number from page to page, and labels between two pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import ndimage
from scipy.optimize import linear_sum_assignment

from segapp.imaging.components import label_components, split_at_necks, split_at_walls

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray


_EIGHT = np.ones((3, 3), bool)
_HELD = 0.5
"""Share of an object's pixels that another page's piece must hold for the object to be in it."""
_CORE = 0.5
"""Depth, as a share of the greatest, from which on the pixels of an object divide a piece."""
_USUAL = (0.5, 99.5)
"""Per cent of a channel's values below its range and up to its end."""
_DAUGHTER = 0.3
"""Least area of a daughter against her sister: smaller parts are no division."""


@dataclass(frozen=True, slots=True)
class Track:
    """An object through the pages.

    Parameters
    ----------
    label, number
        Its class, and its number, which is no other object's.
    first, last
        The pages where it begins and ends.
    parent
        The number of the object that it comes from by a division; 0 for none.
    """

    label: int
    number: int
    first: int
    last: int
    parent: int = 0


class Tracker:
    """Numbers the objects of one page after the other.

    An object goes on in the piece that holds most of it, or else in a free piece within its own
    size. A piece that holds several objects is divided among them, as cells are that touch; an
    object that is held by several pieces of similar size has divided into these.

    Parameters
    ----------
    split
        The classes whose pieces are severed at their necks, or at walls where the contrast of
        the picture is known.
    """

    def __init__(self, classes: Iterable[int], split: Iterable[int] = ()) -> None:
        self._classes, self._split = tuple(classes), frozenset(split)
        self._tracks: dict[int, Track] = {}
        self._next = 1

    @property
    def tracks(self) -> tuple[Track, ...]:
        """All objects until now, by their numbers."""
        return tuple(self._tracks.values())

    def follow(
        self,
        page: int,
        labels: NDArray[np.uint8],
        before: NDArray[np.int32] | None,
        contrast: NDArray[np.float32] | None = None,
    ) -> NDArray[np.int32]:
        """Return the number of the object at each pixel, 0 for the background.

        ``before`` are the numbers on the neighbouring page; ``None`` where there is none.
        ``contrast`` is that of the picture, which tells objects apart that touch.
        """
        numbers = np.zeros(labels.shape, np.int32)
        for label in self._classes:
            region = labels == label
            pieces, count = label_components(region)
            if not count:
                continue
            if label in self._split and contrast is None:
                pieces = split_at_necks(pieces)
            elif label in self._split and contrast is not None:
                pieces = split_at_walls(pieces, contrast)
            self._number(page, label, pieces, before, numbers)
        return numbers

    def _number(
        self,
        page: int,
        label: int,
        pieces: NDArray[np.int32],
        before: NDArray[np.int32] | None,
        numbers: NDArray[np.int32],
    ) -> None:
        """Write the numbers of one class's pieces."""
        count = int(pieces.max())
        held: list[list[int]] = [[] for _ in range(count + 1)]
        homes: dict[int, list[int]] = {}
        if before is not None:
            own = np.array([n for n in np.unique(before) if self._is_of(n, label)], np.int64)
            overlaps, areas = _overlaps(pieces, before, own)
            for index, number in enumerate(own.tolist()):
                row = overlaps[1:, index]
                best = int(row.argmax()) + 1
                if row[best - 1] >= _HELD * areas[index]:
                    held[best].append(number)
                    homes[number] = [best]
                    continue
                parts = np.flatnonzero(row > 0) + 1
                if row.sum() >= _HELD * areas[index]:
                    homes[number] = parts.tolist()
            lost = [number for number in own.tolist() if number not in homes]
            free = [piece for piece in range(1, count + 1) if not held[piece]]
            free = [p for p in free if not any(p in parts for parts in homes.values())]
            for number, piece in _nearest(pieces, free, before, lost):
                held[piece].append(number)
                homes[number] = [piece]
        owners = self._divisions(page, label, pieces, held, homes)
        boxes = ndimage.find_objects(pieces)
        for piece in range(1, count + 1):
            box = boxes[piece - 1]
            inside = pieces[box] == piece
            if piece in owners:
                numbers[box][inside] = owners[piece]
            elif len(held[piece]) > 1 and before is not None:
                found = _shared(inside, before[box], held[piece])
                numbers[box][inside] = found[inside]
                for number in np.unique(found[inside]).tolist():
                    self._extend(number, page)
            else:
                number = held[piece][0] if held[piece] else self._born(page, label)
                numbers[box][inside] = number
                self._extend(number, page)

    def _divisions(
        self,
        page: int,
        label: int,
        pieces: NDArray[np.int32],
        held: list[list[int]],
        homes: dict[int, list[int]],
    ) -> dict[int, int]:
        """Return the new numbers of pieces that come from a divided object."""
        owners: dict[int, int] = {}
        sizes = np.bincount(pieces.ravel())
        for number, parts in homes.items():
            if len(parts) < 2:
                continue
            parts = sorted((p for p in parts if not held[p]), key=lambda p: -sizes[p])
            daughters = [p for p in parts if sizes[p] >= _DAUGHTER * sizes[parts[0]]]
            if len(daughters) == 1:
                held[daughters[0]].append(number)
            for piece in daughters if len(daughters) > 1 else ():
                owners[piece] = self._born(page, label, number)
        return owners

    def _is_of(self, number: int, label: int) -> bool:
        track = self._tracks.get(int(number))
        return track is not None and track.label == label

    def _born(self, page: int, label: int, parent: int = 0) -> int:
        number, self._next = self._next, self._next + 1
        self._tracks[number] = Track(label, number, page, page, parent)
        return number

    def _extend(self, number: int, page: int) -> None:
        track = self._tracks[number]
        self._tracks[number] = Track(
            track.label, number, min(track.first, page), max(track.last, page), track.parent
        )


def contrast_of(channels: NDArray[Any]) -> NDArray[np.float32]:
    """Return the change of all channels at each pixel, at the scale of single pixels.

    Each channel counts by its own range of values, however bright it is.
    """
    squares = np.zeros(channels.shape[:2], np.float32)
    for values in np.moveaxis(channels, -1, 0).astype(np.float32):
        low, high = np.percentile(values, _USUAL)
        change = ndimage.gaussian_gradient_magnitude(values, 1.0)
        squares += np.square(change / max(high - low, 1e-9))
    return np.sqrt(squares)


def _overlaps(
    pieces: NDArray[np.int32], before: NDArray[np.int32], own: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count common pixels, pieces x objects, and the pixels of the objects."""
    if not own.size:
        return np.zeros((int(pieces.max()) + 1, 0), np.int64), np.zeros(0, np.int64)
    place = np.searchsorted(own, before).clip(max=len(own) - 1)
    known = own[place] == before
    keys = pieces[known].astype(np.int64) * len(own) + place[known]
    counts = np.bincount(keys, minlength=(int(pieces.max()) + 1) * len(own))
    return counts.reshape(-1, len(own)), np.bincount(place[known], minlength=len(own))


def _nearest(
    pieces: NDArray[np.int32], free: list[int], before: NDArray[np.int32], lost: list[int]
) -> Iterator[tuple[int, int]]:
    """Pair lost objects with free pieces that are no farther away than their size."""
    if not free or not lost:
        return
    there = np.array(ndimage.center_of_mass(before > 0, before, lost))
    here = np.array(ndimage.center_of_mass(pieces > 0, pieces, free))
    sizes = np.sqrt(np.bincount(before.ravel())[lost])
    distances = np.hypot(*np.moveaxis(there[:, None] - here, -1, 0)) / sizes[:, None]
    for row, column in zip(*linear_sum_assignment(distances), strict=True):
        if distances[row, column] <= 1:
            yield lost[row], free[column]


def _shared(
    inside: NDArray[np.bool_], before: NDArray[np.int32], numbers: list[int]
) -> NDArray[np.int32]:
    """Divide a piece among the objects that it holds, by the cores of these."""
    from skimage.segmentation import watershed

    seeds = np.zeros(inside.shape, np.int32)
    for number in numbers:
        own = np.pad(before == number, 1)
        depth = np.asarray(ndimage.distance_transform_edt(own))[1:-1, 1:-1]
        seeds[(depth > _CORE * depth.max()) & inside] = number
    depth = np.asarray(ndimage.distance_transform_edt(np.pad(inside, 1)))[1:-1, 1:-1]
    return np.asarray(watershed(-depth, seeds, mask=inside, connectivity=_EIGHT), np.int32)


def signed_distance(mask: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the distance of each pixel to a mask's boundary, negative outside."""
    if mask.all() or not mask.any():
        return np.where(mask, 1.0, -1.0) * sum(mask.shape)
    inside = ndimage.distance_transform_edt(mask)
    outside = ndimage.distance_transform_edt(~mask)
    return np.asarray(np.where(mask, inside - 0.5, 0.5 - outside))


def interpolate_labels(
    first: NDArray[np.uint8], last: NDArray[np.uint8], share: float
) -> NDArray[np.uint8]:
    """Return labels between two pages, those of the last at a share of 1.

    Each pixel takes the class whose boundary it lies deepest in, by a mean of its distances on
    both pages.

    >>> first, last = np.ones((1, 9), np.uint8), np.ones((1, 9), np.uint8)
    >>> first[0, :3] = last[0, :7] = 0
    >>> interpolate_labels(first, last, 0.5)[0].tolist()
    [0, 0, 0, 0, 0, 1, 1, 1, 1]
    """
    classes = np.union1d(first, last)
    depths = [
        (1 - share) * signed_distance(first == label) + share * signed_distance(last == label)
        for label in classes
    ]
    return np.asarray(classes[np.argmax(depths, axis=0)], np.uint8)
