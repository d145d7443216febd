"""Connected components of masks, and their division at narrow necks and at walls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy

if TYPE_CHECKING:
    from numpy.typing import NDArray


_EIGHT = np.ones((3, 3), bool)
_MIN_NECK_DEPTH = 0.75
"""Pixels by which a neck must be narrower than both sides of it for a region to be split there."""
_EDGE_SHARE = 0.35
"""Of the contrast at a region's rim that counts as an edge inside it."""
_EDGE_NOISE = 2.5
"""Times the median contrast inside a region that an edge has at least."""
_MIN_EDGE = 6  # pixels in a row, or else it is noise
_MIN_PIECE = 0.15
"""Of the area of a region's largest piece: smaller ones are a part of the edge beside them."""
_WALL = 0.5
"""Contrast of a wall between two regions, as a share of that of the contours of all."""
_GAPS = 0.25
"""Share of a wall that may have less contrast: texture seldom makes a closed line."""
_CHAMBER = 0.2
"""Least depth of a region between walls, as a share of the depth to the contour around it."""


def label_components(mask: NDArray[np.bool_]) -> tuple[NDArray[np.int32], int]:
    """Label the connected components of a mask, in reading order, and count them.

    A pixel has eight neighbours here, and so in measures, in exports and for the window's tools.

    >>> label_components(np.eye(2, dtype=bool))[1]
    1
    """
    numbered, count = scipy.ndimage.label(mask, structure=_EIGHT)
    return numbered, int(count)


def component_at(labels: NDArray[np.uint8], x: int, y: int) -> NDArray[np.bool_]:
    """Return the mask of the connected component under a pixel, whatever its class."""
    numbered, _ = label_components(labels == labels[y, x])
    return np.asarray(numbered == numbered[y, x])


def split_at_necks(
    numbered: NDArray[np.int32], edges: NDArray[np.bool_] | None = None
) -> NDArray[np.int32]:
    """Split regions at necks, by a watershed of the distance to contour and edges.

    A peak counts as a region of its own when the way to any higher one leads through a neck that
    is narrower by more than the raggedness of pixels. ``edges`` are those of `inner_edges`.
    """
    from skimage.morphology import h_maxima

    inside = numbered > 0
    open_space = inside if edges is None else inside & ~edges
    depth = np.asarray(scipy.ndimage.distance_transform_edt(np.pad(open_space, 1)))[1:-1, 1:-1]
    peaks, _ = label_components(h_maxima(depth, _MIN_NECK_DEPTH).astype(bool) & open_space)
    divided = _filled(peaks, -depth, numbered)
    if edges is not None and edges.any():
        areas = np.bincount(divided.ravel())
        largest = np.zeros(int(numbered.max()) + 1, np.intp)
        np.maximum.at(largest, numbered, areas[divided])
        small = inside & (areas[divided] < _MIN_PIECE * largest[numbered])
        flat = np.zeros(inside.shape, np.uint8)
        divided = _filled(np.where(small, 0, divided), flat, divided)
    return in_reading_order(divided)


def _filled(
    seeds: NDArray[np.int32], height: NDArray[np.generic], numbered: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Grow seeds over numbered regions; one without a seed stays as it is."""
    from skimage.segmentation import relabel_sequential, watershed

    grown = watershed(height, seeds, mask=numbered > 0, connectivity=_EIGHT)
    lost = (numbered > 0) & (grown == 0)
    grown[lost] = numbered[lost] + grown.max()
    return np.asarray(relabel_sequential(grown)[0], np.int32)


def inner_edges(rgb: NDArray[np.uint8], numbered: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return the pixels in regions where an image changes as much as at their rim.

    In a noisy or rough region, that is much more than noise and roughness do. Each region is
    judged for itself, so that an edit of one changes no other.
    """
    contrast = np.zeros(numbered.shape, np.float32)
    for channel in range(rgb.shape[2]):
        plane = rgb[:, :, channel].astype(np.float32)
        np.maximum(contrast, scipy.ndimage.gaussian_gradient_magnitude(plane, 1.0), out=contrast)
    core = scipy.ndimage.binary_erosion(numbered > 0, _EIGHT)
    deep = scipy.ndimage.binary_erosion(core, _EIGHT)
    index = np.arange(int(numbered.max()) + 1)
    at_rim, inside = (
        np.nan_to_num(scipy.ndimage.median(contrast, np.where(part, numbered, -1), index))
        for part in (~core, deep)
    )
    least = np.maximum(_EDGE_SHARE * at_rim, _EDGE_NOISE * inside)
    edges, count = label_components((numbered > 0) & (contrast > least[numbered]))
    long = np.bincount(edges.ravel(), minlength=count + 1) >= _MIN_EDGE
    long[0] = False
    return np.asarray(long[edges])


def split_at_walls(
    numbered: NDArray[np.int32], contrast: NDArray[np.float32]
) -> NDArray[np.int32]:
    """Split regions at narrow necks and at walls, by a watershed.

    A wall is a line through a region along which the contrast of the picture is nearly that of
    the contours, as between cells that touch or overlap.
    """
    from skimage.morphology import h_maxima
    from skimage.segmentation import watershed

    inside = numbered > 0
    ridges = scipy.ndimage.maximum_filter(contrast, 3)
    contour = inside & ~scipy.ndimage.binary_erosion(inside, _EIGHT, border_value=1)
    wall = _WALL * float(np.median(ridges[contour])) if contour.any() else 0.0
    necks = split_at_necks(numbered)
    if wall <= 0:
        return necks
    depth, to_contour = (
        np.asarray(scipy.ndimage.distance_transform_edt(np.pad(mask, 1)))[1:-1, 1:-1]
        for mask in (inside & (contrast < wall), inside)
    )
    peaks, count = label_components(h_maxima(depth, _MIN_NECK_DEPTH).astype(bool))
    places = np.arange(count + 1)
    deepest = scipy.ndimage.maximum(to_contour, necks, np.arange(int(necks.max()) + 1))
    neck_of = scipy.ndimage.maximum(necks, peaks, places).astype(np.intp)
    chambers = scipy.ndimage.maximum(depth, peaks, places) >= _CHAMBER * deepest[neck_of]
    chambers[0] = False
    landscape = contrast / wall - depth / np.maximum(deepest, 1)[necks]
    divided = watershed(landscape, np.where(chambers[peaks], peaks, 0), mask=inside)
    lost = inside & (divided == 0)
    divided[lost] = numbered[lost] + count
    neck_of = np.append(neck_of, np.zeros(int(numbered.max()), np.intp))
    return in_reading_order(_without_gaps(divided, ridges < wall, neck_of))


def _without_gaps(
    divided: NDArray[np.integer], gaps: NDArray[np.bool_], neck_of: NDArray[np.intp]
) -> NDArray[np.int32]:
    """Join neighbours again without a neck or a wall between them."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    size = len(neck_of)
    keys, without = [], []
    for first, second in ((np.s_[:, 1:], np.s_[:, :-1]), (np.s_[1:], np.s_[:-1])):
        one, other = divided[first].astype(np.int64), divided[second].astype(np.int64)
        meets = (one != other) & (one > 0) & (other > 0)
        one, other = one[meets], other[meets]
        keys.append(np.minimum(one, other) * size + np.maximum(one, other))
        without.append((gaps[first] & gaps[second])[meets])
    pairs, line = np.unique(np.concatenate(keys), return_inverse=True)
    share = np.bincount(line, np.concatenate(without)) / np.bincount(line)
    u, v = np.divmod(pairs, size)
    joined = (share > _GAPS) & (neck_of[u] == neck_of[v])
    links = coo_array((np.ones(joined.sum(), bool), (u[joined], v[joined])), (size, size))
    numbers: NDArray[np.int32] = np.asarray(connected_components(links, directed=False)[1])
    return numbers.take(divided)


def in_reading_order(numbered: NDArray[np.int32]) -> NDArray[np.int32]:
    """Renumber regions without gaps by their first pixels."""
    values, first = np.unique(numbered, return_index=True)
    order = np.zeros(int(values.max()) + 1, np.int32)
    present = values > 0
    order[values[present][np.argsort(first[present])]] = np.arange(1, present.sum() + 1)
    return order[numbered]
