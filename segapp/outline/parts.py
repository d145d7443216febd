"""Connected parts of a labelling as a graph: few numbers, however many pixels there are.

A labelling is a few runs of equal labels a row. Runs that touch from row to row and have one
label are a part; where parts touch, the length of their border is kept. All that tidying asks
(how large is a part, who encloses it, who is its neighbour) is answered by this graph, and the
pixels are touched no more until the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
class Parts:
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

    def relabelled(self, labels: NDArray[np.uint8]) -> tuple[Parts, NDArray[np.intp]]:
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
        return Parts(joined, areas, held, at_frame, borders), number

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

    def parts(self, held: NDArray[np.intp]) -> tuple[Parts, NDArray[np.intp]]:
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
        return Parts(labels, areas, is_held, at_frame, borders), number

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
