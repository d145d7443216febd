"""Objects of a labelling, as pieces of classes that belong together, and shades."""

from __future__ import annotations

import colorsys
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING

import numpy as np
import scipy

from segapp.imaging.components import (
    in_reading_order,
    inner_edges,
    label_components,
    split_at_necks,
)
from segapp.imaging.rasterise import mark_patch
from segapp.model.classes import ObjectMap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from segapp.imaging.tiles import Box
    from segapp.model.classes import ClassInfo, Key
    from segapp.model.document import Document, Mark, Stroke
    from segapp.model.labelling import Labelling

    Divide = Callable[["SharedPiece"], NDArray[np.int32]]
    """From a piece with several objects to the object of each of its pixels."""


_EIGHT = np.ones((3, 3), bool)
_CUT_RADIUS = 0.75
"""Pixels: more than half a pixel's diagonal, so that no corner holds both sides together."""

# A class's pixels are severed along the cuts into components, and at their necks into smaller ones
# where the class asks for it: these are the pieces. A piece with marks or anchors of one object is
# part of it, wherever its other parts lie; one with several is divided among them; and one without
# any is an object of its own, with a free number.


@dataclass(frozen=True, slots=True, eq=False)
class SharedPiece:
    """A connected piece of a class with marks of several objects.

    Parameters
    ----------
    box
        Rows and columns of the image that it lies in.
    inside
        Its pixels within the box.
    seeds
        int32, the object that a pixel is marked with, counted from 1; 0 elsewhere.
    n_objects
        Number of the objects.
    """

    box: Box
    inside: NDArray[np.bool_]
    seeds: NDArray[np.int32]
    n_objects: int


def objects_of(
    labelling: Labelling, document: Document, rgb: NDArray[np.uint8] | None
) -> ObjectMap:
    """Return a labelling's own objects, or those that its pieces are in the image."""
    if labelling.objects is not None:
        return labelling.objects
    return find_objects(labelling.labels, document, rgb=rgb)


def find_objects(
    labels: NDArray[np.uint8],
    document: Document,
    divide: Divide | None = None,
    *,
    rgb: NDArray[np.uint8] | None = None,
) -> ObjectMap:
    """Return the objects of all classes but a background.

    That is one that is named or marked so. Objects without marks and anchors have free numbers of
    their class, in reading order. ``divide`` is `nearest_object` by default. Classes that split
    are cut at the necks of their contours and, with the image, at edges inside them.
    """
    index_map = np.zeros(labels.shape, np.int32)
    keys: list[Key] = []
    seeds, seed_keys = _seeds(document, labels.shape)
    severed = _painted_cuts(document, labels.shape)
    for label, info in enumerate(document.classes):
        region = labels == label
        if info.is_background or not region.any():
            continue
        pieces = _pieces(region, severed, rgb, split=info.split)
        numbers = _numbers(label, pieces, (seeds, seed_keys), divide or nearest_object)
        present = np.unique(numbers[region])
        index_map[region] = np.searchsorted(present, numbers[region]) + len(keys) + 1
        keys += [(label, number) for number in present.tolist()]
    return ObjectMap(index_map, tuple(keys))


def nearest_object(piece: SharedPiece) -> NDArray[np.int32]:
    """Give each pixel of a piece to the object whose marks are nearest within it."""
    return _grown(piece.seeds, piece.inside)


def connected_objects(piece: SharedPiece, found: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return a division in which each part of an object holds a mark of it.

    Other parts of ``found``, and pixels with 0, go to the nearest object.
    """
    kept = np.zeros_like(piece.seeds)
    for index in range(1, piece.n_objects + 1):
        numbered, _ = label_components((found == index) & piece.inside)
        marked = np.unique(numbered[piece.seeds == index])
        kept[np.isin(numbered, marked[marked > 0])] = index
    np.copyto(kept, piece.seeds, where=piece.seeds > 0)
    return _grown(kept, piece.inside)


def inner_point(mask: NDArray[np.bool_]) -> tuple[float, float]:
    """Return ``(x, y)`` of the centre of a pixel far inside a mask."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    top, left = int(rows[0]), int(columns[0])
    box = mask[top : rows[-1] + 1, left : columns[-1] + 1]
    depth = np.asarray(scipy.ndimage.distance_transform_edt(np.pad(box, 1)))[1:-1, 1:-1]
    y, x = np.unravel_index(int(depth.argmax()), depth.shape)
    return float(x) + left + 0.5, float(y) + top + 0.5


def touching_boundaries(found: ObjectMap) -> NDArray[np.bool_]:
    """Return the pixels with another object of their class to the right or below."""
    labels = np.array([-1, *(label for label, _ in found.keys)], np.int32)[found.index_map]
    edges = np.zeros(labels.shape, bool)
    for before, after in (
        ((slice(None), slice(None, -1)), (slice(None), slice(1, None))),
        ((slice(None, -1), slice(None)), (slice(1, None), slice(None))),
    ):
        same = (labels[before] == labels[after]) & (labels[before] >= 0)
        edges[before] |= same & (found.index_map[before] != found.index_map[after])
    return edges


def _numbers(
    label: int,
    pieces: NDArray[np.int32],
    seeds: tuple[NDArray[np.int32] | None, list[Key]],
    divide: Divide,
) -> NDArray[np.int32]:
    """Return the number of the object of each pixel of a class."""
    n_pieces = int(pieces.max())
    seed_map, keys = seeds
    taken = {number for own, number in keys if own == label}
    free = (number for number in count(1) if number not in taken)
    of_piece = np.zeros(n_pieces + 1, np.int32)
    shared: dict[int, list[int]] = {}
    if seed_map is not None and taken:
        own = np.array([False, *(key[0] == label for key in keys)])
        marked = (pieces > 0) & own[seed_map]
        pairs = np.unique(np.stack((pieces[marked], seed_map[marked])), axis=1).T.tolist()
        for piece, index in pairs:
            shared.setdefault(piece, []).append(index)
        for piece, indices in shared.items():
            of_piece[piece] = keys[indices[0] - 1][1]
    for piece in range(1, n_pieces + 1):
        of_piece[piece] = of_piece[piece] or next(free)
    numbers = of_piece[pieces]
    if seed_map is not None and any(len(indices) > 1 for indices in shared.values()):
        _divide(numbers, pieces, (seed_map, keys), shared, divide)
    return numbers


def _divide(
    numbers: NDArray[np.int32],
    pieces: NDArray[np.int32],
    seeds: tuple[NDArray[np.int32], list[Key]],
    shared: dict[int, list[int]],
    divide: Divide,
) -> None:
    """Write the numbers of pixels in pieces with several objects, in place."""
    seed_map, keys = seeds
    boxes = scipy.ndimage.find_objects(pieces)
    for piece, indices in shared.items():
        if len(indices) > 1:
            box = boxes[piece - 1]
            inside = pieces[box] == piece
            table = np.zeros(len(keys) + 1, np.int32)
            table[indices] = np.arange(1, len(indices) + 1)
            marked = np.where(inside, table[seed_map[box]], 0).astype(np.int32)
            found = divide(SharedPiece(box, inside, marked, len(indices)))
            own = np.array([0, *(keys[index - 1][1] for index in indices)], np.int32)
            numbers[box][inside] = own[found[inside]]


def _pieces(
    region: NDArray[np.bool_],
    severed: NDArray[np.bool_] | None,
    rgb: NDArray[np.uint8] | None,
    *,
    split: bool,
) -> NDArray[np.int32]:
    """Return the pieces of a class's pixels, numbered from 1 in reading order."""
    whole, n_whole = label_components(region)
    edges = inner_edges(rgb, whole) if split and rgb is not None else None
    if severed is None or not (severed & region).any():
        return split_at_necks(whole, edges) if split else whole
    pieces, n_pieces = label_components(region & ~severed)
    if split:
        pieces = split_at_necks(pieces, edges)
        n_pieces = int(pieces.max())
    covered = np.ones(n_whole + 1, bool)  # components that lie under a cut altogether
    covered[whole[pieces > 0]] = False
    covered[0] = False
    pieces = np.where(covered[whole], whole + n_pieces, pieces).astype(np.int32)
    return in_reading_order(_grown(pieces, region))


def _grown(seeds: NDArray[np.int32], inside: NDArray[np.bool_]) -> NDArray[np.int32]:
    from skimage.segmentation import watershed

    flat = np.zeros(inside.shape, np.uint8)
    return np.asarray(watershed(flat, seeds, mask=inside, connectivity=_EIGHT), np.int32)


def _seeds(
    document: Document, size: tuple[int, ...]
) -> tuple[NDArray[np.int32] | None, list[Key]]:
    """Paint the objects of marks and anchors, counted from 1, and return them too."""
    keys = sorted(document.object_keys())
    if not keys:
        return None, keys
    place = {key: index for index, key in enumerate(keys, start=1)}
    painted = np.zeros(size, np.int32)
    for mark in document.strokes:
        key = None if mark.label is None else (mark.label, mark.object_number)
        for box, inside in covered_pixels(mark, size):
            painted[box][inside] = place.get(key, 0) if key is not None else 0
    for info in document.objects:
        for x, y in info.anchors:
            if 0 <= x < size[1] and 0 <= y < size[0]:
                painted[int(y), int(x)] = place[info.key]
    return painted, keys


def severing_line(cut: Stroke) -> Stroke:
    """Return a cut that is wide enough to sever pixels that touch by a corner."""
    return replace(cut, radius=max(cut.radius, _CUT_RADIUS))


def _painted_cuts(document: Document, size: tuple[int, ...]) -> NDArray[np.bool_] | None:
    if not document.cuts:
        return None
    severed = np.zeros(size, bool)
    for cut in document.cuts:
        for box, inside in covered_pixels(severing_line(cut), size):
            severed[box] |= inside
    return severed


def covered_pixels(mark: Mark, size: tuple[int, ...]) -> Iterator[tuple[Box, NDArray[np.bool_]]]:
    """Yield a mark's pixels within the image, if there are any."""
    patch = mark_patch(mark, (size[0], size[1]))
    if patch is None:
        return
    left, top = max(patch.left, 0), max(patch.top, 0)
    right, bottom = (
        min(patch.left + patch.width, size[1]),
        min(patch.top + patch.height, size[0]),
    )
    if left < right and top < bottom:
        mask = patch.mask()
        yield (
            (slice(top, bottom), slice(left, right)),
            mask[top - patch.top : bottom - patch.top, left - patch.left : right - patch.left],
        )


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
