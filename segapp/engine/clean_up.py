"""Clean-up of a labelling: small regions, holes and rough edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import ndimage
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from segapp.imaging.seeds import SeedMap
    from segapp.model.settings import CleanUp


# A labelling is a few runs of equal labels a row. Runs that touch from row to row and have one
# label are a part; where parts touch, the length of their border is kept. All that tidying asks
# (how large is a part, who encloses it, who is its neighbour) is answered by this graph, and the
# pixels are touched no more until the end.

_PIXELS_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Borders:
    """Pairs of parts that touch, and how many pairs of pixels meet there.

    A pair may be listed more than once, in either order.
    """

    one: NDArray[np.intp]
    other: NDArray[np.intp]
    lengths: NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class ComponentGraph:
    """The connected parts of all classes.

    Parameters
    ----------
    labels
        The class of each part.
    areas
        In pixels.
    held
        Whether any of its pixels is under a stroke.
    at_frame
        Whether it reaches the picture's edge.
    """

    labels: NDArray[np.uint8]
    areas: NDArray[np.intp]
    held: NDArray[np.bool_]
    at_frame: NDArray[np.bool_]
    borders: Borders

    def __len__(self) -> int:
        return len(self.labels)

    def small(self, smallest_area: int) -> NDArray[np.bool_]:
        """Tell which have fewer pixels; a part under a stroke is meant, and stays."""
        return (self.areas < smallest_area) & ~self.held

    def holes(self, background: int) -> NDArray[np.bool_]:
        """Tell which are background, without a stroke, and enclosed by one single class."""
        beside = np.zeros((len(self), int(self.labels.max()) + 1), dtype=bool)
        for here, there in self._both_ways():
            beside[here, self.labels[there]] = True
        enclosed = (np.count_nonzero(beside, axis=1) == 1) & ~self.at_frame
        return np.asarray(enclosed & ~self.held & (self.labels == background))

    def loose(self, background: int) -> NDArray[np.bool_]:
        """Tell which touch no stroke of their class.

        The background is what is left over: an object may well divide it, and nobody marks
        each piece.
        """
        return np.asarray(~self.held & (self.labels != background))

    def heirs(self, dropped: NDArray[np.bool_]) -> NDArray[np.uint8]:
        """Return the labels when parts go to the class with which they share the longest border.

        Dropped parts that touch go together. Where everything is dropped there is nobody to
        take over, and all stays as it is.
        """
        if dropped.all() or not dropped.any():
            return self.labels
        both = dropped[self.borders.one] & dropped[self.borders.other]
        group = _joined(len(self), self.borders.one[both], self.borders.other[both])
        n_classes = int(self.labels.max()) + 1
        length = np.zeros((int(group.max()) + 1, n_classes), dtype=np.intp)
        for here, there in self._both_ways():
            meets = dropped[here] & ~dropped[there]
            place = (group[here[meets]], self.labels[there[meets]])
            np.add.at(length, place, self.borders.lengths[meets])
        return np.where(dropped, length.argmax(axis=1)[group], self.labels).astype(np.uint8)

    def relabelled(self, labels: NDArray[np.uint8]) -> tuple[ComponentGraph, NDArray[np.intp]]:
        """Join parts that touch and now have one label; return the new part of each as well."""
        one, other = self.borders.one, self.borders.other
        same = labels[one] == labels[other]
        number = _joined(len(self), one[same], other[same])
        count = int(number.max()) + 1
        borders = Borders(number[one[~same]], number[other[~same]], self.borders.lengths[~same])
        joined = np.zeros(count, dtype=np.uint8)
        joined[number] = labels
        areas = np.zeros(count, dtype=np.intp)
        np.add.at(areas, number, self.areas)
        held, at_frame = (np.zeros(count, dtype=bool) for _ in range(2))
        held[number[self.held]] = True
        at_frame[number[self.at_frame]] = True
        return ComponentGraph(joined, areas, held, at_frame, borders), number

    def _both_ways(self) -> tuple[tuple[NDArray[np.intp], NDArray[np.intp]], ...]:
        one, other = self.borders.one, self.borders.other
        return (one, other), (other, one)


@dataclass(frozen=True, slots=True, eq=False)
class Rewriting:
    """Runs of pixels that get another label; it can be taken back.

    Parameters
    ----------
    starts, ends
        Of each run, numbered row by row from the picture's corner.
    before, after
        The label of each run.
    """

    starts: NDArray[np.intp]
    ends: NDArray[np.intp]
    before: NDArray[np.uint8]
    after: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.starts)

    def write(self, labels: NDArray[np.uint8]) -> None:
        """Give a labelling its new labels, in place."""
        self._put(labels, self.after)

    def take_back(self, labels: NDArray[np.uint8]) -> None:
        """Give a labelling the labels that it had, in place."""
        self._put(labels, self.before)

    def _put(self, labels: NDArray[np.uint8], of_run: NDArray[np.uint8]) -> None:
        flat = labels.reshape(-1)
        runs = zip(self.starts.tolist(), self.ends.tolist(), of_run.tolist(), strict=True)
        for start, end, label in runs:
            flat[start:end] = label


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """The rows of a labelling as runs of equal labels.

    Parameters
    ----------
    starts
        Where each run begins, numbered row by row from the picture's corner.
    labels
        Of each run.
    """

    shape: tuple[int, int]
    starts: NDArray[np.intp]
    labels: NDArray[np.uint8]

    @classmethod
    def of(cls, labels: NDArray[np.uint8]) -> Runs:
        """Find the runs of a labelling."""
        height, width = labels.shape
        flat = np.ascontiguousarray(labels).reshape(-1)
        rows = max(1, _PIXELS_AT_ONCE // width)
        found = []
        for top in range(0, height, rows):
            part = flat[top * width : (top + rows) * width]
            begins = np.empty(len(part), dtype=bool)
            np.not_equal(part[1:], part[:-1], out=begins[1:])
            begins[::width] = True
            found.append(np.flatnonzero(begins) + top * width)
        starts = np.concatenate(found)
        return cls((height, width), starts, flat[starts])

    def parts(self, held: NDArray[np.intp]) -> tuple[ComponentGraph, NDArray[np.intp]]:
        """Return the parts, and the part of each run.

        ``held`` has a pixel, numbered like ``starts``, of each run that is under a stroke.
        """
        size, width = self.shape[0] * self.shape[1], self.shape[1]
        ends = np.append(self.starts[1:], size)
        above, below, lengths = self._from_row_to_row()
        same = self.labels[above] == self.labels[below]
        number = _joined(len(self.starts), above[same], below[same])
        # Along a row a run borders on the next one, unless that begins another row.
        along = np.flatnonzero(self.starts[1:] % width != 0)
        borders = Borders(
            np.concatenate((number[above[~same]], number[along])),
            np.concatenate((number[below[~same]], number[along + 1])),
            np.concatenate((lengths[~same], np.ones(len(along), dtype=np.intp))),
        )
        count = int(number.max()) + 1
        labels = np.zeros(count, dtype=np.uint8)
        labels[number] = self.labels
        areas = np.zeros(count, dtype=np.intp)
        np.add.at(areas, number, ends - self.starts)
        is_held, at_frame = (np.zeros(count, dtype=bool) for _ in range(2))
        is_held[number[np.searchsorted(self.starts, held, side="right") - 1]] = True
        column = self.starts % width
        edge = (column == 0) | (ends % width == 0)
        edge |= (self.starts < width) | (self.starts >= size - width)
        at_frame[number[edge]] = True
        return ComponentGraph(labels, areas, is_held, at_frame, borders), number

    def _from_row_to_row(
        self,
    ) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
        """Return the runs that touch from above to below, and for how many pixels."""
        size, width = self.shape[0] * self.shape[1], self.shape[1]
        upper = self.starts[: np.searchsorted(self.starts, size - width)] + width
        lower = self.starts[np.searchsorted(self.starts, width) :]
        places = np.concatenate((upper, lower))
        places.sort(kind="stable")  # two sorted halves, which it merges
        places = places[np.append(True, places[1:] != places[:-1])[: len(places)]]
        above = np.searchsorted(self.starts, places - width, side="right") - 1
        below = np.searchsorted(self.starts, places, side="right") - 1
        return above, below, np.diff(places, append=size)

    def rewriting(self, of_run: NDArray[np.uint8]) -> Rewriting:
        """Return what has to be written for the runs to have other labels."""
        changed = np.flatnonzero(of_run != self.labels)
        ends = np.append(self.starts[1:], self.shape[0] * self.shape[1])
        return Rewriting(
            self.starts[changed], ends[changed], self.labels[changed], of_run[changed]
        )


def _joined(count: int, one: NDArray[np.intp], other: NDArray[np.intp]) -> NDArray[np.intp]:
    """Give each of ``count`` nodes the number of its connected group."""
    if not len(one):
        return np.arange(count)
    ones = np.ones(len(one))  # as SciPy wants them
    graph = coo_array((ones, (one, other)), shape=(count, count))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.intp)


_ROWS_AT_ONCE = 256


def clean_up(
    labels: NDArray[np.uint8], marked: SeedMap, wishes: CleanUp, background: int
) -> NDArray[np.uint8]:
    """Apply what is asked for, in the order smoothing, smallest area, holes, loose parts.

    ``background`` is the class in which holes are looked for, and whose parts need no stroke.
    Marked pixels have their class in ``labels``, which stay as they are; without a change, they
    are returned.
    """
    if wishes.smoothing:
        labels = smoothed(labels, wishes.smoothing)
        marked.pin(labels)
    tidying = parts_to_rewrite(labels, marked, wishes, background)
    if tidying is None or not len(tidying):
        return labels
    written = np.array(labels, order="C")
    tidying.write(written)
    return written


def parts_to_rewrite(
    labels: NDArray[np.uint8], marked: SeedMap, wishes: CleanUp, background: int
) -> Rewriting | None:
    """Return what `clean_up` writes after smoothing; None if nothing of that is asked for."""
    wanted = _wanted(wishes, background)
    if not wanted:
        return None
    runs = Runs.of(labels)
    parts, part_of_run = runs.parts(marked.run_starts())
    for dropped_of in wanted:
        dropped = dropped_of(parts)
        if dropped.any() and not dropped.all():
            parts, number = parts.relabelled(parts.heirs(dropped))
            part_of_run = number[part_of_run]
    return runs.rewriting(parts.labels[part_of_run])


def _wanted(
    wishes: CleanUp, background: int
) -> list[Callable[[ComponentGraph], NDArray[np.bool_]]]:
    """Return what tells the parts that shall go, step by step."""
    steps: list[Callable[[ComponentGraph], NDArray[np.bool_]]] = []
    if wishes.smallest_area > 1:
        steps.append(lambda parts: parts.small(wishes.smallest_area))
    if wishes.fill_holes:
        steps.append(lambda parts: parts.holes(background))
    if wishes.keep_touching:
        steps.append(lambda parts: parts.loose(background))
    return steps


def smoothed(labels: NDArray[np.uint8], radius: int) -> NDArray[np.uint8]:
    """Give each pixel the most frequent class of the square around it, the lowest on a tie."""
    best = np.zeros(labels.shape, dtype=np.uint8)
    for top in range(0, len(labels), _ROWS_AT_ONCE):
        bottom = min(top + _ROWS_AT_ONCE, len(labels))
        first, last = max(top - radius, 0), min(bottom + radius, len(labels))
        strip = _most_frequent(labels[first:last], radius)
        best[top:bottom] = strip[top - first : bottom - first]
    return best


def _most_frequent(labels: NDArray[np.uint8], radius: int) -> NDArray[np.uint8]:
    best = np.zeros(labels.shape, dtype=np.uint8)
    votes = np.full(labels.shape, -1.0, dtype=np.float32)
    for label in np.unique(labels):
        # Rounding makes equal shares equal, whatever was summed before.
        share = ndimage.uniform_filter((labels == label).astype(np.float32), 2 * radius + 1)
        share = np.rint(share * (2 * radius + 1) ** 2)
        wins = share > votes
        best[wins], votes[wins] = label, share[wins]
    return best
