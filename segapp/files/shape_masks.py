"""Masks that are lists of shapes: LabelMe's JSON and COCO's."""

from __future__ import annotations

import base64
import io
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from segapp.files.damage import DAMAGE
from segapp.files.export.run_length import expanded, mask_of_runs
from segapp.values.checked import field, fields, listed, number, text, whole
from segapp.values.shapes import box_corners
from segapp.values.wording import reason, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray


class MaskError(ValueError):
    """A file is no mask for this picture; the message is one sentence that says why."""


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """Rings that are filled, or a mask of the picture's size."""

    name: str
    rings: tuple[list[tuple[float, float]], ...] = ()
    mask: NDArray[np.bool_] | None = None


def check_size(found: tuple[int, ...], size: tuple[int, int]) -> None:
    """Refuse a mask that is not of the picture's size, both as height and width."""
    if found != size:
        raise MaskError(
            f"wanted the picture's {size[1]} x {size[0]} pixels, got {found[1]} x {found[0]}"
        )


def labelme_shapes(content: dict[str, Any], size: tuple[int, int]) -> Iterator[Shape]:
    """Yield the shapes of a LabelMe file in their order."""
    sides = [content.get(side) for side in ("imageHeight", "imageWidth")]
    if None not in sides:  # older files do not tell
        check_size(tuple(whole(side, "imageHeight", 1) for side in sides), size)
    for plain in listed(field(content, "shapes"), "shapes"):
        shape = fields(plain, "shapes")
        points = [_point(point) for point in listed(field(shape, "points"), "points")]
        kind, name = shape.get("shape_type", "polygon"), text(field(shape, "label"), "label")
        if kind == "mask" and points:
            yield Shape(name, mask=_stamped(shape, points[0], size))
            continue
        if kind == "rectangle" and len(points) == 2:
            points = list(box_corners(points[0], points[1]))
        elif kind == "circle" and len(points) == 2:
            points = _circle(points[0], points[1])
        elif kind != "polygon":
            raise MaskError(
                f"wanted polygons, rectangles, circles or masks, got {shown(str(kind))}"
            )
        yield Shape(name, (points,))


def _circle(middle: tuple[float, float], edge: tuple[float, float]) -> list[tuple[float, float]]:
    """Return corners enough for a circle through a point to be exact to a tenth of a pixel."""
    (x, y), radius = middle, math.dist(middle, edge)
    turns = np.linspace(0, 2 * np.pi, min(max(16, math.ceil(8 * math.sqrt(radius))), 2000))
    return [(x + radius * math.cos(turn), y + radius * math.sin(turn)) for turn in turns[:-1]]


def _stamped(
    shape: dict[str, Any], corner: tuple[float, float], size: tuple[int, int]
) -> NDArray[np.bool_]:
    """Return a mask that lies in the file as a PNG of its box, as LabelMe's AI tools leave it."""
    encoded = field(shape, "mask")
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
) -> Iterator[Shape]:
    """Yield the annotations of one image of a COCO file in their order."""
    images = [fields(image, "images") for image in listed(field(content, "images"), "images")]
    named = [image for image in images if _file_name(image) == image_name]
    chosen = (named or images)[:1] if named or len(images) == 1 else []
    if not chosen:
        raise MaskError(f"wanted the image {shown(image_name)}, got {len(images)} others")
    found = tuple(whole(field(chosen[0], side), side, 1) for side in ("height", "width"))
    check_size(found, size)
    categories = {
        whole(field(fields(row, "categories"), "id"), "id"): text(row.get("name"), "name")
        for row in listed(field(content, "categories"), "categories")
    }
    for plain in listed(field(content, "annotations"), "annotations"):
        annotation = fields(plain, "annotations")
        if annotation.get("image_id") != chosen[0].get("id"):
            continue
        category = whole(field(annotation, "category_id"), "category_id")
        if category not in categories:
            raise MaskError(f"wanted a category of the file, got {category}")
        drawn = field(annotation, "segmentation")
        if isinstance(drawn, dict):
            yield Shape(categories[category], mask=_runs(drawn, size))
        else:
            rings = [_ring(ring) for ring in listed(drawn, "segmentation")]
            yield Shape(categories[category], tuple(rings))


def _file_name(image: dict[str, Any]) -> str:
    """Return an image's name without the folders that many programs write before it."""
    return str(image.get("file_name")).replace("\\", "/").rpartition("/")[2]


def _runs(drawn: dict[str, Any], size: tuple[int, int]) -> NDArray[np.bool_]:
    found = tuple(whole(side, "size", 1) for side in listed(field(drawn, "size"), "size", 2, 2))
    check_size(found, size)
    counts = field(drawn, "counts")
    if isinstance(counts, str):
        return mask_of_runs(expanded(counts), size)
    return mask_of_runs([whole(count, "counts", 0) for count in listed(counts, "counts")], size)


def _ring(plain: object) -> list[tuple[float, float]]:
    values = [number(value, "segmentation") for value in listed(plain, "segmentation")]
    return list(zip(values[::2], values[1::2], strict=False))


def _point(plain: object) -> tuple[float, float]:
    x, y = listed(plain, "points", 2, 2)
    return number(x, "points"), number(y, "points")
