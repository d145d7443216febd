"""Masks that other programs made: black and white, numbers of classes, COCO, LabelMe."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import scipy

from segapp.files.raster_mask import WHITE, StoredValues, stored_values
from segapp.files.shape_masks import MaskError, Shape, check_size, coco_shapes, labelme_shapes
from segapp.values.checked import fields, from_json
from segapp.values.colours import unused_colour
from segapp.values.document import MOST_CLASSES, ClassInfo, Document, Patch
from segapp.values.shapes import polygon_mask
from segapp.values.wording import reason, shown

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

_LARGEST = 256 << 20  # bytes; a COCO file of five thousand annotated photographs has a tenth
_OBJECT = "foreground"
"""What the object of a mask without names is called."""
_NOTHING = -1
_BLACK = (0, 0, 0)
_DEPTH = 0.35  # of the way from a part's outline to its middle, which is left out of its marks


@dataclass(frozen=True, slots=True, eq=False)
class Mask:
    """The class of each pixel, by name.

    Parameters
    ----------
    labels
        int16: place of the class in ``names``, -1 where the file says nothing.
    names
        Of the classes; an empty one is the background.
    colours
        Of the classes, where the file tells them.
    numbered
        Whether the names are only numbers: a class of the document that has the colour, or else
        the place, is meant.
    """

    labels: NDArray[np.int16]
    names: tuple[str, ...]
    colours: tuple[tuple[int, int, int], ...] = ()
    numbered: bool = False


def load_mask(path: Path, image: Path, size: tuple[int, int]) -> Mask:
    """Read a mask for a picture of ``size`` (height, width).

    In black and white, white is the object. Other values are classes: those of the document
    that have the palette's colours, or else 0 is the background, the others are the objects in
    their order, and 255 is nothing. Of a COCO file the image of this name is meant, or the only
    one there is.
    """
    name = shown(path.name)
    try:
        if path.suffix.lower() != ".json":
            return _of_values(stored_values(path), size)
        content = fields(from_json(_content(path), name), name)
        if "shapes" in content:
            return _of_shapes(labelme_shapes(content, size), size)
        if "annotations" in content:
            return _of_shapes(coco_shapes(content, image.name, size), size)
    except MaskError as error:
        raise MaskError(f"{name}: {reason(error)}.") from error
    except ValueError as error:
        raise MaskError(f"{name} cannot be read as a mask: {reason(error)}.") from error
    raise MaskError(f"{name}: wanted a mask by COCO or LabelMe, got another kind of JSON.")


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
    except OSError as error:
        raise MaskError(shown(error.strerror) if error.strerror else reason(error)) from error
    if len(content) > _LARGEST:
        raise MaskError(f"wanted at most {_LARGEST >> 20} MB, got more")
    return content


def with_mask_retouched(document: Document, mask: Mask) -> Document:
    """Paint a mask over the answer, whatever that is."""
    placed, labels = _placed(document, mask)
    for index in range(len(placed.classes)):
        if (labels == index).any():
            placed = placed.with_retouch(Patch.of_mask(labels == index, index))
    return placed


def with_mask_marked(document: Document, mask: Mask) -> Document:
    """Mark what lies well inside each part of a mask, as one state: its outline is learnt anew."""
    placed, labels = _placed(document, mask)
    marks = []
    for index in range(len(placed.classes)):
        inside = labels == index
        if not inside.any():
            continue
        depth = np.asarray(scipy.ndimage.distance_transform_edt(np.pad(inside, 1)))[1:-1, 1:-1]
        numbered, count = scipy.ndimage.label(inside)
        deepest = np.concatenate(
            [[0.0], scipy.ndimage.maximum(depth, numbered, np.arange(1, count + 1))]
        )
        # Pixels of the outline itself are marked only where a part has no others.
        least = np.maximum(_DEPTH * deepest, np.minimum(deepest, 1.5))
        marks.append(Patch.of_mask(inside & (depth >= least[numbered]), index))
    added = Document(placed.classes, tuple(marks)).as_one_state().strokes
    return replace(placed, strokes=(*placed.strokes, *added))


def _placed(document: Document, mask: Mask) -> tuple[Document, NDArray[np.int16]]:
    """Give each class of a mask its place among the document's, new ones at the end."""
    table = np.full(len(mask.names) + 1, _NOTHING, np.int16)
    known = _places_by_number(document, mask) if mask.numbered else {}
    for row in np.unique(mask.labels[mask.labels >= 0]).tolist():
        name = mask.names[row]
        names = {info.name.strip().casefold(): k for k, info in enumerate(document.classes)}
        place = document.background if not name else names.get(name.strip().casefold())
        place = known.get(row, place)
        if place is None and name == _OBJECT and len(document.classes) == 2:
            place = 1 - document.background  # black and white, and a single object to be white
        if place is None:
            place = len(document.classes)
            document = _with_class(document, name, mask.colours[row : row + 1])
        table[row] = place
    return document, table[mask.labels]


def _with_class(
    document: Document, name: str, colours: tuple[tuple[int, int, int], ...]
) -> Document:
    """Add a class, in the colour that the file has for it if it is free; the background stays."""
    if len(document.classes) >= MOST_CLASSES:
        raise MaskError(f"wanted at most {MOST_CLASSES} classes, got one more")
    taken, background = [info.colour for info in document.classes], document.background
    free = [colour for colour in colours if colour not in taken]
    added = document.with_class(ClassInfo(name, free[0] if free else unused_colour(taken)))
    return added if added.background == background else added.with_background(background)


def _places_by_number(document: Document, mask: Mask) -> dict[int, int]:
    """Tell which class of the document each number is: by colours that all agree, or by place."""
    present = np.unique(mask.labels[mask.labels >= 0]).tolist()
    colours = {info.colour: place for place, info in enumerate(document.classes)}
    if mask.colours:
        colours.setdefault(_BLACK, document.background)
        if all(mask.colours[row] in colours for row in present):
            return {row: colours[mask.colours[row]] for row in present}
    ground = document.background
    objects = [ground, *(k for k in range(len(document.classes)) if k != ground)]
    return {row: objects[row] for row in present if row < len(objects)}


def _of_values(stored: StoredValues, size: tuple[int, int]) -> Mask:
    values, palette = stored.values, stored.palette
    check_size(values.shape, size)
    present = np.unique(values).tolist()
    if palette is None and set(present) <= {0, present[-1]} and present[-1] in (1, WHITE):
        return Mask(np.where(values > 0, 0, 1).astype(np.int16), (_OBJECT, ""))
    labels = values.astype(np.int16)
    if len(present) > 1:
        labels[values == WHITE] = _NOTHING
    names = ("", *(f"class {value}" for value in range(1, present[-1] + 1)))
    colours = () if palette is None else (*palette, *[_BLACK] * 256)[: len(names)]
    return Mask(labels, names, colours, numbered=True)


def _of_shapes(shapes: Iterator[Shape], size: tuple[int, int]) -> Mask:
    """Paint shapes in their order; what none covers is the background."""
    names = [""]
    labels = np.zeros(size, np.int16)
    for shape in shapes:
        if shape.name not in names:
            names.append(shape.name)
        covered = np.zeros(size, bool) if shape.mask is None else shape.mask
        for ring in shape.rings:
            covered |= polygon_mask(ring, size)
        labels[covered] = names.index(shape.name)
    return Mask(labels, tuple(names))
