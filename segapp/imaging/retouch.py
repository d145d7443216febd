"""Edits by hand: retouched pixels, and objects that are cut and joined."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from segapp.imaging.components import component_at, label_components
from segapp.imaging.objects import covered_pixels, inner_point, severing_line
from segapp.imaging.rasterise import UNMARKED
from segapp.model.answer import Answer
from segapp.model.document import Marks, Patch

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from numpy.typing import NDArray

    from segapp.imaging.seeds import SeedMap
    from segapp.model.answer import Report, Update
    from segapp.model.classes import Key, ObjectMap
    from segapp.model.document import Document, Mark, Stroke
    from segapp.model.labelling import Labelling


def retouch_updates(updates: Iterable[Update], retouches: SeedMap) -> Iterator[Update]:
    """Paint a document's retouches over each preview and over the answer."""
    for update in updates:
        if isinstance(update, Answer):
            yield replace(update, labelling=retouch(update.labelling, retouches))
        else:
            yield retouch_report(update, retouches)


def retouch_report(report: Report, retouches: SeedMap) -> Report:
    """Return a report whose preview, if it has one, shows the retouches."""
    preview = report.preview
    if preview is None:
        return report
    labelling = retouch(preview.labelling, retouches, preview.times)
    return replace(report, preview=replace(preview, labelling=labelling))


def retouch(labelling: Labelling, retouches: SeedMap, times: int = 1) -> Labelling:
    """Return a labelling with retouches painted over its labels.

    Each of its pixels stands for ``times`` x ``times`` of the image's.
    """
    if not retouches.tiles:
        return labelling
    labels = labelling.labels.copy()
    if times == 1:
        retouches.pin(labels)
    else:
        painted = retouches[::times, ::times]
        np.copyto(labels, painted, where=painted != UNMARKED, casting="unsafe")
    return replace(labelling, labels=labels, objects=None)


def class_lock(labels: NDArray[np.uint8], index: int) -> Patch:
    """Return a patch that keeps a class's pixels as they are."""
    return Patch.of_mask(labels == index, index)


def component_lock(labels: NDArray[np.uint8], x: int, y: int) -> Patch:
    """Return a patch that keeps the component under a pixel as it is."""
    return Patch.of_mask(component_at(labels, x, y), int(labels[y, x]))


def component_fill(labels: NDArray[np.uint8], x: int, y: int, class_index: int | None) -> Patch:
    """Return a patch that gives the component under a pixel to a class."""
    return Patch.of_mask(component_at(labels, x, y), class_index)


# All edits take the objects that are found in the present answer, and return another document.
# What an object is made of is held by its marks and, where it has none, by an anchor.


def with_numbers(document: Document, found: ObjectMap, label: int) -> Document:
    """Give marks of a class that have no object the number of the one they lie in.

    So that the next object is another one, wherever it touches them.
    """
    strokes = []
    for mark in document.strokes:
        key = None
        if mark.label == label and not mark.object_number:
            key = _most_frequent(mark, found, label)
        strokes.append(mark if key is None else replace(mark, object_number=key[1]))
    return replace(document, strokes=Marks.of(strokes))


def object_under(mark: Mark, found: ObjectMap, label: int) -> Key | None:
    """Return the object that most of a mark lies in, if it is one of a class."""
    key = _most_frequent(mark, found, None)
    return key if key is not None and key[0] == label else None


def with_anchor(document: Document, found: ObjectMap, key: Key) -> Document:
    """Hold an object that nothing holds yet by an anchor."""
    if key in document.object_keys() or key not in found.keys:
        return document
    info = document.object_info(key)
    return document.with_object(replace(info, anchors=(inner_point(found.pixels(key)),)))


def with_accepted(document: Document, found: ObjectMap, label: int) -> Document:
    """Hold all objects of a class, so that each keeps its number."""
    for key in found.keys:
        if key[0] == label:
            document = with_anchor(document, found, key)
    return document


def with_joined(document: Document, found: ObjectMap, keys: Collection[Key]) -> Document:
    """Join objects of one class to the lowest number that is held already."""
    held = document.object_keys()
    target = min(keys, key=lambda key: (key not in held, key[1]))
    for key in sorted(keys):
        document = with_anchor(document, found, key)
    for key in sorted(keys):
        document = document.with_object_moved(key, target)
    return document


def keys_along(line: Stroke, found: ObjectMap) -> list[Key]:
    """Return the objects that a line touches."""
    indices: set[int] = set()
    for box, inside in covered_pixels(severing_line(line), found.index_map.shape):
        indices |= set(np.unique(found.index_map[box][inside]).tolist())
    return [found.keys[index - 1] for index in sorted(indices - {0})]


def with_cut(document: Document, found: ObjectMap, line: Stroke) -> Document:
    """Sever objects along a line; of each, the largest piece keeps the number.

    Marks that lie on both sides belong to no particular object from then on.
    """
    severed = replace(document, cuts=(*document.cuts, line))
    held = document.object_keys()
    for key in keys_along(line, found):
        if key in held:
            severed = _divided(severed, found, key, line)
    return severed


def _divided(document: Document, found: ObjectMap, key: Key, line: Stroke) -> Document:
    mask = found.pixels(key)
    before, _ = label_components(mask)
    rest = mask.copy()
    for box, inside in covered_pixels(severing_line(line), mask.shape):
        rest[box] &= ~inside
    pieces, n_pieces = label_components(rest)
    areas = np.bincount(pieces.ravel(), minlength=n_pieces + 1)
    new = []
    for component in np.unique(before[rest]).tolist():
        own = np.unique(pieces[(before == component) & rest]).tolist()
        own.sort(key=lambda piece: -areas[piece])
        new += own[1:]
    if not new:
        return document
    number, owner = document.next_object(key[0]), np.zeros(n_pieces + 1, np.int64)
    owner[1:] = key[1]
    for piece in new:
        owner[piece], number = number, number + 1
    document = _with_sides(document, key, pieces, owner)
    for piece in range(1, n_pieces + 1):
        info = document.object_info((key[0], int(owner[piece])))
        anchor = inner_point(pieces == piece)
        document = document.with_object(replace(info, anchors=(*info.anchors, anchor)))
    return document


def _with_sides(
    document: Document, key: Key, pieces: NDArray[np.int32], owner: NDArray[np.int64]
) -> Document:
    """Give an object's marks to the owner of the piece that they lie in."""
    strokes = []
    for mark in document.strokes:
        if (mark.label, mark.object_number) == key:
            owners = {int(owner[piece]) for piece in _values_under(mark, pieces)}
            mark = replace(mark, object_number=owners.pop() if len(owners) == 1 else 0)
        strokes.append(mark)
    info = document.object_info(key)
    return replace(document, strokes=Marks.of(strokes)).with_object(replace(info, anchors=()))


def _values_under(mark: Mark, pieces: NDArray[np.int32]) -> set[int]:
    values: set[int] = set()
    for box, inside in covered_pixels(mark, pieces.shape):
        values |= set(np.unique(pieces[box][inside]).tolist())
    return values - {0}


def with_moved(document: Document, found: ObjectMap, key: Key, label: int) -> Document:
    """Give an object with its marks to another class, and retouch its pixels.

    A retouch teaches nothing, so that objects that look alike stay in their class.
    """
    target, mask = (label, document.next_object(label)), found.pixels(key)
    moved = document.with_object_moved(key, target).with_retouch(Patch.of_mask(mask, label))
    info = moved.object_info(target)
    return moved.with_object(replace(info, anchors=(*info.anchors, inner_point(mask))))


def without_objects(document: Document, found: ObjectMap, keys: Collection[Key]) -> Document:
    """Delete objects with their marks, and retouch their pixels as background.

    A retouch teaches nothing, so that objects that look alike stay.
    """
    for key in keys:
        document = document.without_object(key)
    mask = found.pixels(*keys)
    if not mask.any():
        return document
    return document.with_retouch(Patch.of_mask(mask, document.background))


def _most_frequent(mark: Mark, found: ObjectMap, label: int | None) -> Key | None:
    """Return the object with most of a mark's pixels, of one class or of any."""
    counts = np.zeros(len(found.keys) + 1, np.intp)
    for box, inside in covered_pixels(mark, found.index_map.shape):
        counts += np.bincount(found.index_map[box][inside], minlength=len(counts))
    if label is not None:
        counts[1:][[key[0] != label for key in found.keys]] = 0
        counts[0] = 0
    index = int(counts.argmax())
    return found.keys[index - 1] if index and counts[index] else None
