"""Masks and strokes as images of classes, and masks as COCO and LabelMe files."""

from __future__ import annotations

import base64
import io
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy
from PIL import Image

from segapp.imaging.colour import unused_colour
from segapp.imaging.rasterise import box_corners, polygon_mask
from segapp.imaging.rle import decode_counts, mask_from_runs
from segapp.io.folder_files import folder_display
from segapp.io.images import IndexedImage, load_image, load_indices, open_validated
from segapp.io.pages import DAMAGE, page_file
from segapp.io.project import is_project, load_project
from segapp.model.classes import MAX_CLASSES, PALETTE, TWO_CLASSES, ClassInfo
from segapp.model.document import MAX_COORDINATE, Document, Patch
from segapp.model.validation import (
    SegappError,
    from_json,
    reason,
    require_field,
    require_int,
    require_list,
    require_number,
    require_object,
    require_text,
    sanitize,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from segapp.model.answer import AnswerSnapshot, StoredLabels
    from segapp.model.picture import Picture
    from segapp.model.settings import Settings

    _Colour = tuple[int, int, int]


WHITE = 255
_HALF = 128
_DEEP_WHITE = 65535
_MOST_COLOURS = 255  # the value that is left says nothing
_BETWEEN = 8
"""Greys between black and white that make a mask one with soft edges, and no list of numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class StoredValues:
    """The stored values of a mask's file.

    Parameters
    ----------
    values
        uint8, ``H x W``.
    palette
        Colour of each value; ``None`` for numbers that have none.
    """

    values: NDArray[np.uint8]
    palette: tuple[_Colour, ...] | None = None


def stored_values(path: Path) -> StoredValues:
    """Read a mask's stored values; refuse photographs and the like."""
    with open_validated(page_file(path)) as image:
        if image.mode == "P":
            flat = image.getpalette() or []
            rows = zip(flat[::3], flat[1::3], flat[2::3], strict=False)
            return StoredValues(np.array(image), tuple(rows))
        if image.mode in ("1", "L", "LA"):
            return StoredValues(_hardened(np.array(image.convert("L"))))
        if image.mode.startswith("I"):
            return StoredValues(_of_deep(np.array(image)))
        return _of_colours(image)


def _hardened(values: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return black and white alone, where a mask has soft edges between the two."""
    counts = np.bincount(values.ravel(), minlength=256)
    has_both = bool(counts[0] and counts[WHITE])
    mostly = 2 * (counts[0] + counts[WHITE]) > values.size
    if has_both and mostly and np.count_nonzero(counts) - 2 >= _BETWEEN:
        return np.where(values >= _HALF, WHITE, 0).astype(np.uint8)
    return values


def _of_deep(values: NDArray[np.generic]) -> NDArray[np.uint8]:
    """Return values of 16 bits as bytes; the brightest of them is white."""
    present = np.unique(values)
    if present[-1] == _DEEP_WHITE:
        present = present[:-1]
    if present.size and not 0 <= present[0] <= present[-1] < WHITE:
        raise SegappError(f"wanted numbers up to {WHITE - 1}, got {present[-1]}")
    return np.where(values == _DEEP_WHITE, WHITE, values).astype(np.uint8)


def _of_colours(image: Image.Image) -> StoredValues:
    """Return greys as they are, or else an index for each colour."""
    rgb = np.array(image.convert("RGB"))
    if (rgb == rgb[:, :, :1]).all():
        return StoredValues(_hardened(np.ascontiguousarray(rgb[:, :, 0])))
    packed = rgb.astype(np.uint32) @ np.array([1 << 16, 1 << 8, 1], np.uint32)
    present, values = np.unique(packed, return_inverse=True)
    if present.size > _MOST_COLOURS:
        raise SegappError(f"wanted a colour for each class, got {present.size} colours")
    palette = tuple((int(c) >> 16, int(c) >> 8 & 255, int(c) & 255) for c in present)
    return StoredValues(values.reshape(packed.shape).astype(np.uint8), palette)


class MaskError(SegappError):
    """A file is no mask for this image; the message is one sentence."""


@dataclass(frozen=True, slots=True, eq=False)
class MaskShape:
    """Rings that are filled, or a mask of the picture's size."""

    name: str
    rings: tuple[list[tuple[float, float]], ...] = ()
    mask: NDArray[np.bool_] | None = None


def check_size(found: tuple[int, ...], size: tuple[int, int]) -> None:
    """Refuse a mask that is not of the image's size, both as height and width."""
    if found != size:
        raise MaskError(
            f"wanted the picture's {size[1]} x {size[0]} pixels, got {found[1]} x {found[0]}"
        )


def labelme_shapes(content: dict[str, Any], size: tuple[int, int]) -> Iterator[MaskShape]:
    """Yield the shapes of a LabelMe file in their order."""
    sides = [content.get(side) for side in ("imageHeight", "imageWidth")]
    if None not in sides:  # older files do not tell
        check_size(tuple(require_int(side, "imageHeight", 1) for side in sides), size)
    for plain in require_list(require_field(content, "shapes"), "shapes"):
        shape = require_object(plain, "shapes")
        points = [
            _point(point) for point in require_list(require_field(shape, "points"), "points")
        ]
        kind, name = (
            shape.get("shape_type", "polygon"),
            require_text(require_field(shape, "label"), "label"),
        )
        if kind == "mask" and points:
            yield MaskShape(name, mask=_stamped(shape, points[0], size))
            continue
        if kind == "rectangle" and len(points) == 2:
            points = list(box_corners(points[0], points[1]))
        elif kind == "circle" and len(points) == 2:
            points = _circle(points[0], points[1])
        elif kind != "polygon":
            raise MaskError(
                f"wanted polygons, rectangles, circles or masks, got {sanitize(str(kind))}"
            )
        yield MaskShape(name, (points,))


def _circle(middle: tuple[float, float], edge: tuple[float, float]) -> list[tuple[float, float]]:
    """Return the corners of a circle, exact to a tenth of a pixel."""
    (x, y), radius = middle, math.dist(middle, edge)
    turns = np.linspace(0, 2 * np.pi, min(max(16, math.ceil(8 * math.sqrt(radius))), 2000))
    return [(x + radius * math.cos(turn), y + radius * math.sin(turn)) for turn in turns[:-1]]


def _stamped(
    shape: dict[str, Any], corner: tuple[float, float], size: tuple[int, int]
) -> NDArray[np.bool_]:
    """Return the mask of a shape that is stored as a PNG of its box."""
    encoded = require_field(shape, "mask")
    if not isinstance(encoded, str):
        raise MaskError("mask: wanted a PNG in base64, got something else")
    try:
        with Image.open(
            io.BytesIO(base64.b64decode(encoded, validate=True)), formats=["PNG"]
        ) as png:
            if png.width > size[1] or png.height > size[0]:
                raise MaskError(f"mask: wanted one within the picture, got {png.size}")
            stamp = np.array(png.convert("L")) > 0
    except DAMAGE as error:
        raise MaskError(f"mask: wanted a PNG in base64, got: {reason(error)}") from error
    covered = np.zeros(size, bool)
    left, top = (max(math.floor(side), 0) for side in corner)
    room = covered[top : top + stamp.shape[0], left : left + stamp.shape[1]]
    room |= stamp[: room.shape[0], : room.shape[1]]
    return covered


def coco_shapes(
    content: dict[str, Any], image_name: str, size: tuple[int, int]
) -> Iterator[MaskShape]:
    """Yield the annotations of one image of a COCO file in their order."""
    images = [
        require_object(image, "images")
        for image in require_list(require_field(content, "images"), "images")
    ]
    named = [image for image in images if _file_name(image) == image_name]
    chosen = (named or images)[:1] if named or len(images) == 1 else []
    if not chosen:
        raise MaskError(f"wanted the image {sanitize(image_name)}, got {len(images)} others")
    found = tuple(
        require_int(require_field(chosen[0], side), side, 1) for side in ("height", "width")
    )
    check_size(found, size)
    categories = {
        require_int(require_field(require_object(row, "categories"), "id"), "id"): require_text(
            row.get("name"), "name"
        )
        for row in require_list(require_field(content, "categories"), "categories")
    }
    for plain in require_list(require_field(content, "annotations"), "annotations"):
        annotation = require_object(plain, "annotations")
        if annotation.get("image_id") != chosen[0].get("id"):
            continue
        category = require_int(require_field(annotation, "category_id"), "category_id")
        if category not in categories:
            raise MaskError(f"wanted a category of the file, got {category}")
        drawn = require_field(annotation, "segmentation")
        if isinstance(drawn, dict):
            yield MaskShape(categories[category], mask=_runs(drawn, size))
        else:
            rings = [_ring(ring) for ring in require_list(drawn, "segmentation")]
            yield MaskShape(categories[category], tuple(rings))


def _file_name(image: dict[str, Any]) -> str:
    """Return an image's name without the folders that many programs write before it."""
    return str(image.get("file_name")).replace("\\", "/").rpartition("/")[2]


def _runs(drawn: dict[str, Any], size: tuple[int, int]) -> NDArray[np.bool_]:
    found = tuple(
        require_int(side, "size", 1)
        for side in require_list(require_field(drawn, "size"), "size", 2, 2)
    )
    check_size(found, size)
    counts = require_field(drawn, "counts")
    if isinstance(counts, str):
        return mask_from_runs(decode_counts(counts), size)
    return mask_from_runs(
        [require_int(count, "counts", 0) for count in require_list(counts, "counts")], size
    )


def _ring(plain: object) -> list[tuple[float, float]]:
    values = [
        require_number(value, "segmentation", -MAX_COORDINATE, MAX_COORDINATE)
        for value in require_list(plain, "segmentation")
    ]
    return list(zip(values[::2], values[1::2], strict=False))


def _point(plain: object) -> tuple[float, float]:
    x, y = require_list(plain, "points", 2, 2)
    return require_number(x, "points", -MAX_COORDINATE, MAX_COORDINATE), require_number(
        y, "points", -MAX_COORDINATE, MAX_COORDINATE
    )


_LARGEST = 256 << 20  # bytes; a COCO file of five thousand annotated photographs has a tenth
_OBJECT = "foreground"
"""Name of the object in a mask without names."""
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
    name = sanitize(path.name)
    try:
        if path.suffix.lower() != ".json":
            return _of_values(stored_values(path), size)
        content = require_object(from_json(_content(path), name), name)
        if "shapes" in content:
            return _of_shapes(labelme_shapes(content, size), size)
        if "annotations" in content:
            return _of_shapes(coco_shapes(content, image.name, size), size)
    except MaskError as error:
        raise MaskError("{}: {}.", name, reason(error)) from error
    except SegappError as error:
        raise MaskError("{} cannot be read as a mask: {}.", name, reason(error)) from error
    raise MaskError("{}: wanted a mask by COCO or LabelMe, got another kind of JSON.", name)


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
    except OSError as error:
        raise MaskError(sanitize(error.strerror) if error.strerror else reason(error)) from error
    if len(content) > _LARGEST:
        raise MaskError(f"wanted at most {_LARGEST >> 20} MB, got more")
    return content


def retouch_with_mask(document: Document, mask: Mask) -> Document:
    """Add retouches that paint a mask over the answer."""
    placed, labels = _placed(document, mask)
    for index in range(len(placed.classes)):
        if (labels == index).any():
            placed = placed.with_retouch(Patch.of_mask(labels == index, index))
    return placed


def mark_with_mask(document: Document, mask: Mask) -> Document:
    """Mark the inside of each component of a mask, so that its contour is learnt."""
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
    return replace(placed, strokes=placed.strokes.plus(*added))


def _placed(document: Document, mask: Mask) -> tuple[Document, NDArray[np.int16]]:
    """Map each class of a mask to one of the document's, new ones at the end."""
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
    """Add a class, in the file's colour if that is free; the background stays."""
    if len(document.classes) >= MAX_CLASSES:
        raise MaskError(f"wanted at most {MAX_CLASSES} classes, got one more")
    taken, background = [info.colour for info in document.classes], document.background
    free = [colour for colour in colours if colour not in taken]
    added = document.with_class(ClassInfo(name, free[0] if free else unused_colour(taken)))
    return added if added.background == background else added.with_background(background)


def _places_by_number(document: Document, mask: Mask) -> dict[int, int]:
    """Match numbers to the document's classes: by colour if all agree, or by order."""
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


def _of_shapes(shapes: Iterator[MaskShape], size: tuple[int, int]) -> Mask:
    """Paint shapes in their order; all other pixels are background."""
    names = [""]
    labels = np.zeros(size, np.int16)
    for shape in shapes:
        if shape.name not in names:
            names.append(shape.name)
        if len(names) > MAX_CLASSES:
            raise MaskError(f"wanted at most {MAX_CLASSES} classes, got one more")
        covered = np.zeros(size, bool) if shape.mask is None else shape.mask
        for ring in shape.rings:
            covered |= polygon_mask(ring, size)
        labels[covered] = names.index(shape.name)
    return Mask(labels, tuple(names))


@dataclass(frozen=True, slots=True)
class Strokes:
    """A document, with a project's settings and stored answer."""

    document: Document
    settings: Settings | None = None
    answer: AnswerSnapshot | None = None
    labels: StoredLabels | None = None


def load_strokes(path: str | Path, size: tuple[int, int]) -> Strokes:
    """Read strokes for an image of ``size`` (height, width).

    A picture holds 0 where nothing is marked, else the class counted from 1, as palette index
    or grey value. One that this program wrote names its classes; else there are two, foreground
    and background, or as many as the largest value asks for.
    """
    path = Path(path)
    if is_project(path):
        project = load_project(path)
        return Strokes(project.document, project.settings, project.answer, project.labels)
    indices = load_indices(path)
    if indices.values.shape != size:
        height, width = indices.values.shape
        raise SegappError(
            "{} has {} x {} pixels: wanted the image's {} x {}.",
            sanitize(path.name),
            width,
            height,
            size[1],
            size[0],
        )
    names = _names(indices)
    highest = int(indices.values.max())
    if highest > max(len(PALETTE), len(names)):
        raise SegappError(
            "{}: wanted 0 for unmarked pixels and classes from 1, got {}.",
            sanitize(path.name),
            highest,
        )
    if len(names) < max(highest, 2):
        return Strokes(document_from_labels(indices.values))
    palette = () if indices.palette is None else indices.palette[1:].tolist()
    return Strokes(document_from_labels(indices.values, classes_named(names, palette)))


def document_from_labels(
    labels: NDArray[np.uint8], classes: tuple[ClassInfo, ...] | None = None
) -> Document:
    """Return a document whose marks are the labelled pixels, all made at once.

    ``labels`` holds 0 where nothing is marked, else the class counted from 1. Without
    ``classes`` there are foreground and background, and more as the largest label asks for.

    >>> document = document_from_labels(np.array([[1, 0, 2]], np.uint8))
    >>> [(document.classes[mark.label].name, mark.left) for mark in document.strokes]
    [('foreground', 0), ('background', 2)]
    """
    if classes is None:
        names = [info.name for info in TWO_CLASSES]
        names += [f"class {index + 1}" for index in range(2, int(labels.max()))]
        classes = classes_named(names)
    marks = [Patch.of_mask(labels == value, value - 1) for value in _present(labels)]
    return Document(classes, tuple(marks)).as_one_state()


def add_strokes(document: Document, other: Document) -> Document:
    """Add another document's strokes; classes go by their names.

    Nothing else of the document changes.
    """
    background, indices = document.background, []
    for info in other.classes:
        names = [known.name for known in document.classes]
        if info.name not in names:
            taken = [known.colour for known in document.classes]
            colour = info.colour if info.colour not in taken else unused_colour(taken)
            document = document.with_class(ClassInfo(info.name, colour))
            names.append(info.name)
        indices.append(names.index(info.name))
    if document.background != background:
        document = document.with_background(background)
    moved = other.with_classes(document.classes, indices)
    known_objects = {(info.label, info.number) for info in document.objects}
    added = (info for info in moved.objects if (info.label, info.number) not in known_objects)
    objects = (*document.objects, *added)
    return replace(document, strokes=document.strokes.plus(*moved.strokes), objects=objects)


def classes_named(
    names: Sequence[str], colours: Sequence[Sequence[int]] = ()
) -> tuple[ClassInfo, ...]:
    """Return classes of these names; the ones beyond ``colours`` get unused colours."""
    chosen = [(int(red), int(green), int(blue)) for red, green, blue in colours]
    for _ in names[len(chosen) :]:
        chosen.append(unused_colour(chosen))
    return tuple(map(ClassInfo, names, chosen))


def load_image_with_strokes(image: Path, strokes: Path) -> tuple[Picture, Strokes]:
    """Read an image and its strokes, with the project's or folder's display."""
    if is_project(strokes):
        read = load_strokes(strokes, (0, 0))  # which a project does not ask for
        return load_image(image, read.document.display), read
    picture = load_image(image, folder_display(image))
    read = load_strokes(strokes, picture.size)
    return picture, replace(read, document=replace(read.document, display=picture.display))


def _present(values: NDArray[np.uint8]) -> list[int]:
    """Return the classes that have a pixel, row by row to save memory."""
    seen = np.zeros(256, bool)
    for row in values:
        seen[row] = True
    return [int(value) for value in np.flatnonzero(seen) if value]


def _names(indices: IndexedImage) -> list[str]:
    """Return the classes' names in the file, or none if they are damaged."""
    try:
        coded = indices.text.get("Classes", "[]").encode("utf-8", "replace")
        names = require_list(from_json(coded, "Classes"), "Classes", 0, MAX_CLASSES)
        return [require_text(name, "Classes") for name in names]
    except SegappError:
        return []
