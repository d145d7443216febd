"""Clean-up of a labelling: small regions, holes and rough edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import ndimage
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from segapp.imaging.tiles import grow, relative, tiles_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from segapp.imaging.seeds import SeedMap
    from segapp.model.settings import CleanUp


# A labelling is a few runs of equal labels per row. Runs that touch from row to row and have one
# label are a component; where components touch, the length of their border is kept. All questions
# of the clean-up (area, enclosure, neighbours) are answered by this graph, and the pixels are not
# read again until the end.

_PIXELS_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Borders:
    """Pairs of components that touch, with the number of pixel pairs where they do.

    A pair may be listed more than once, in either order.
    """

    one: NDArray[np.intp]
    other: NDArray[np.intp]
    lengths: NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class ComponentGraph:
    """The connected components of all classes.

    Parameters
    ----------
    labels
        The class of each component.
    areas
        In pixels.
    seeded
        Whether any of its pixels is under a stroke.
    at_frame
        Whether it touches the image's edge.
    """

    labels: NDArray[np.uint8]
    areas: NDArray[np.intp]
    seeded: NDArray[np.bool_]
    at_frame: NDArray[np.bool_]
    borders: Borders

    def small(self, smallest_area: int) -> NDArray[np.bool_]:
        """Return which components have fewer pixels; one under a stroke is intended."""
        return (self.areas < smallest_area) & ~self.seeded

    def holes(self, background: int) -> NDArray[np.bool_]:
        """Return which are unseeded background enclosed by one single class."""
        beside = np.zeros((len(self.labels), int(self.labels.max()) + 1), dtype=bool)
        for here, there in self._both_directions():
            beside[here, self.labels[there]] = True
        enclosed = (np.count_nonzero(beside, axis=1) == 1) & ~self.at_frame
        return np.asarray(enclosed & ~self.seeded & (self.labels == background))

    def unseeded(self, background: int) -> NDArray[np.bool_]:
        """Return which touch no stroke of their class.

        An object may well divide the background, and users do not mark each piece of it.
        """
        return np.asarray(~self.seeded & (self.labels != background))

    def reassign_dropped(self, dropped: NDArray[np.bool_]) -> NDArray[np.uint8]:
        """Return the labels with dropped components in the class of their longest border.

        Dropped components that touch are reassigned together. If all are dropped, all labels
        stay.
        """
        if dropped.all() or not dropped.any():
            return self.labels
        both = dropped[self.borders.one] & dropped[self.borders.other]
        group = _connected(len(self.labels), self.borders.one[both], self.borders.other[both])
        n_classes = int(self.labels.max()) + 1
        length = np.zeros((int(group.max()) + 1, n_classes), dtype=np.intp)
        for here, there in self._both_directions():
            meets = dropped[here] & ~dropped[there]
            pairs = (group[here[meets]], self.labels[there[meets]])
            np.add.at(length, pairs, self.borders.lengths[meets])
        return np.where(dropped, length.argmax(axis=1)[group], self.labels).astype(np.uint8)

    def relabelled(self, labels: NDArray[np.uint8]) -> tuple[ComponentGraph, NDArray[np.intp]]:
        """Merge components that touch and share a new label; return their numbers."""
        one, other = self.borders.one, self.borders.other
        same = labels[one] == labels[other]
        number = _connected(len(self.labels), one[same], other[same])
        count = int(number.max()) + 1
        borders = Borders(number[one[~same]], number[other[~same]], self.borders.lengths[~same])
        merged = np.zeros(count, dtype=np.uint8)
        merged[number] = labels
        areas = np.zeros(count, dtype=np.intp)
        np.add.at(areas, number, self.areas)
        seeded, at_frame = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
        seeded[number[self.seeded]] = True
        at_frame[number[self.at_frame]] = True
        return ComponentGraph(merged, areas, seeded, at_frame, borders), number

    def _both_directions(self) -> tuple[tuple[NDArray[np.intp], NDArray[np.intp]], ...]:
        one, other = self.borders.one, self.borders.other
        return (one, other), (other, one)


@dataclass(frozen=True, slots=True, eq=False)
class LabelPatch:
    """A reversible change of labels, as runs of pixels.

    Parameters
    ----------
    starts, ends
        Of each run, numbered row by row from the image's corner.
    before, after
        The label of each run.
    """

    starts: NDArray[np.intp]
    ends: NDArray[np.intp]
    before: NDArray[np.uint8]
    after: NDArray[np.uint8]

    def apply(self, labels: NDArray[np.uint8]) -> None:
        """Write the new labels, in place."""
        self._write(labels, self.after)

    def revert(self, labels: NDArray[np.uint8]) -> None:
        """Write the previous labels, in place."""
        self._write(labels, self.before)

    def _write(self, labels: NDArray[np.uint8], of_run: NDArray[np.uint8]) -> None:
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
        Where each run starts, numbered row by row from the image's corner.
    labels
        Of each run.
    """

    shape: tuple[int, int]
    starts: NDArray[np.intp]
    labels: NDArray[np.uint8]

    @classmethod
    def of(cls, labels: NDArray[np.uint8]) -> Runs:
        """Encode a labelling."""
        height, width = labels.shape
        flat = np.ascontiguousarray(labels).reshape(-1)
        rows = max(1, _PIXELS_AT_ONCE // width)
        parts = []
        for top in range(0, height, rows):
            part = flat[top * width : (top + rows) * width]
            begins = np.empty(len(part), dtype=bool)
            np.not_equal(part[1:], part[:-1], out=begins[1:])
            begins[::width] = True
            parts.append(np.flatnonzero(begins) + top * width)
        starts = np.concatenate(parts)
        return cls((height, width), starts, flat[starts])

    def components(self, seeds: NDArray[np.intp]) -> tuple[ComponentGraph, NDArray[np.intp]]:
        """Return the connected components, and the component of each run.

        ``seeds`` has a pixel, numbered like ``starts``, of each run that is under a stroke.
        """
        size, width = self.shape[0] * self.shape[1], self.shape[1]
        ends = np.append(self.starts[1:], size)
        above, below, lengths = self._vertical_contacts()
        same = self.labels[above] == self.labels[below]
        number = _connected(len(self.starts), above[same], below[same])
        # Along a row a run borders on the next one, unless that starts another row.
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
        seeded, at_frame = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
        seeded[number[np.searchsorted(self.starts, seeds, side="right") - 1]] = True
        column = self.starts % width
        edge = (column == 0) | (ends % width == 0)
        edge |= (self.starts < width) | (self.starts >= size - width)
        at_frame[number[edge]] = True
        return ComponentGraph(labels, areas, seeded, at_frame, borders), number

    def _vertical_contacts(
        self,
    ) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
        """Return the pairs of runs that touch across rows, and for how many pixels."""
        size, width = self.shape[0] * self.shape[1], self.shape[1]
        upper = self.starts[: np.searchsorted(self.starts, size - width)] + width
        lower = self.starts[np.searchsorted(self.starts, width) :]
        starts = np.concatenate((upper, lower))
        starts.sort(kind="stable")  # two sorted halves, which it merges
        starts = starts[np.append(True, starts[1:] != starts[:-1])[: len(starts)]]
        above = np.searchsorted(self.starts, starts - width, side="right") - 1
        below = np.searchsorted(self.starts, starts, side="right") - 1
        return above, below, np.diff(starts, append=size)

    def patch_to(self, of_run: NDArray[np.uint8]) -> LabelPatch:
        """Return the change that gives the runs other labels."""
        changed = np.flatnonzero(of_run != self.labels)
        ends = np.append(self.starts[1:], self.shape[0] * self.shape[1])
        return LabelPatch(
            self.starts[changed], ends[changed], self.labels[changed], of_run[changed]
        )


def _connected(count: int, one: NDArray[np.intp], other: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the connected component of each of ``count`` nodes."""
    if not len(one):
        return np.arange(count)
    ones = np.ones(len(one))  # the number type that SciPy computes with
    graph = coo_array((ones, (one, other)), shape=(count, count))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.intp)


_SIDE = 128  # pixels of the tiles that are smoothed one by one


def clean_up(
    labels: NDArray[np.uint8], marked: SeedMap, options: CleanUp, background: int
) -> NDArray[np.uint8]:
    """Smooth, then drop small components, holes and unseeded components.

    ``background`` is the class whose holes are filled, and whose components need no stroke.
    Marked pixels must have their class in ``labels``, which stay as they are; without a change,
    they are returned.
    """
    if options.smoothing:
        labels = smoothed(labels, options.smoothing)
        marked.pin(labels)
    patch = clean_up_patch(labels, marked, options, background)
    if patch is None or not len(patch.starts):
        return labels
    cleaned = np.array(labels, order="C")
    patch.apply(cleaned)
    return cleaned


def clean_up_patch(
    labels: NDArray[np.uint8], marked: SeedMap, options: CleanUp, background: int
) -> LabelPatch | None:
    """Return the changes of `clean_up` after smoothing, or ``None``."""
    steps: list[Callable[[ComponentGraph], NDArray[np.bool_]]] = []
    if options.smallest_area > 1:
        steps.append(lambda graph: graph.small(options.smallest_area))
    if options.fill_holes:
        steps.append(lambda graph: graph.holes(background))
    if options.keep_touching:
        steps.append(lambda graph: graph.unseeded(background))
    if not steps:
        return None
    runs = Runs.of(labels)
    graph, component_of_run = runs.components(marked.run_starts())
    for dropped_by in steps:
        dropped = dropped_by(graph)
        if dropped.any() and not dropped.all():
            graph, number = graph.relabelled(graph.reassign_dropped(dropped))
            component_of_run = number[component_of_run]
    return runs.patch_to(graph.labels[component_of_run])


def smoothed(labels: NDArray[np.uint8], radius: int) -> NDArray[np.uint8]:
    """Return the most frequent class around each pixel, the lowest on a tie."""
    best = np.array(labels, dtype=np.uint8, order="C")
    height, width = labels.shape
    for _, box in tiles_of((slice(0, height), slice(0, width)), _SIDE):
        around = grow(box, radius, labels.shape)
        part = labels[around]
        if (part != part[0, 0]).any():  # most of a large image is far from all boundaries
            best[box] = _mode_filter(part, radius)[relative(box, around)]
    return best


def _mode_filter(labels: NDArray[np.uint8], radius: int) -> NDArray[np.uint8]:
    best = np.zeros(labels.shape, dtype=np.uint8)
    votes = np.full(labels.shape, -1.0, dtype=np.float32)
    for label in np.unique(labels):
        # Rounding makes equal shares equal, whatever was summed before.
        share = ndimage.uniform_filter((labels == label).astype(np.float32), 2 * radius + 1)
        share = np.rint(share * (2 * radius + 1) ** 2)
        wins = share > votes
        best[wins], votes[wins] = label, share[wins]
    return best
