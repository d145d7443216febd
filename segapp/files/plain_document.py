"""Documents as the plain values that JSON holds, and back with every value checked."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from segapp.files.image_limits import LARGEST
from segapp.files.showing_file import showing_from_plain
from segapp.values.checked import field, fields, listed, number, text, whole
from segapp.values.document import MOST_CLASSES, ClassInfo, Document, Mark, Patch, Stroke
from segapp.values.showing import AS_IT_COMES
from segapp.values.start import Start

LONGEST_NAME = 1000
_LARGEST_BITS = 1 << 27  # characters of a patch; a 250 megapixel mask has a third of that


def classes_to_plain(classes: tuple[ClassInfo, ...]) -> list[dict[str, Any]]:
    """Return names and colours, and what else was chosen."""
    return [_class_to_plain(info) for info in classes]


def classes_from_plain(plain: object) -> tuple[ClassInfo, ...]:
    """Make the classes of a document."""
    return tuple(_class(info) for info in listed(plain, "classes", 2, MOST_CLASSES))


def marks_to_plain(marks: tuple[Mark, ...]) -> list[dict[str, Any]]:
    """Return strokes and patches in their order; equal marks give equal values."""
    return [_mark_to_plain(mark) for mark in marks]


def start_to_plain(start: Start) -> dict[str, Any]:
    """Return an answer that was there before the strokes."""
    return {
        "name": start.name,
        "size": [start.height, start.width],
        "classes": start.n_classes,
        "labels": base64.b64encode(start.labels).decode("ascii"),
        "margin": base64.b64encode(start.margin).decode("ascii"),
    }


def document_from_plain(
    classes: object,
    strokes: object,
    start: object = None,
    retouches: object = (),
    showing: object = None,
) -> Document:
    """Make a document, or a `ValueError` that names the field that is wrong."""
    return Document(
        classes_from_plain(classes),
        _marks(strokes, "strokes"),
        None if start is None else _start(fields(start, "start")),
        _marks(retouches, "retouches"),
        AS_IT_COMES if showing is None else showing_from_plain(showing),
    )


def _marks(plain: object, name: str) -> tuple[Mark, ...]:
    return tuple(_mark(fields(mark, name)) for mark in listed(plain, name))


def _start(plain: dict[str, Any]) -> Start:
    height, width = (
        whole(part, "size", 1, LARGEST) for part in listed(field(plain, "size"), "size", 2, 2)
    )
    if height * width > LARGEST:
        raise ValueError(f"size: wanted at most {LARGEST} pixels, got {height * width}")
    start = Start(
        text(field(plain, "name"), "name", LONGEST_NAME),
        height,
        width,
        _bytes(field(plain, "labels"), "labels"),
        _bytes(field(plain, "margin"), "margin"),
        whole(field(plain, "classes"), "classes", 1, MOST_CLASSES),
    )
    start.labelling(start.n_classes)  # says what is wrong with the bytes
    return start


def _class_to_plain(info: ClassInfo) -> dict[str, Any]:
    plain: dict[str, Any] = {"name": info.name, "colour": list(info.colour)}
    if info.key:
        plain["key"] = info.key
    if info.background:
        plain["background"] = True
    return plain


def _class(plain: object) -> ClassInfo:
    info = fields(plain, "classes")
    red, green, blue = (
        whole(part, "colour", 0, 255) for part in listed(field(info, "colour"), "colour", 3, 3)
    )
    return ClassInfo(
        text(field(info, "name"), "name", LONGEST_NAME),
        (red, green, blue),
        text(info.get("key", ""), "key", 1),
        info.get("background") is True,
    )


def _mark_to_plain(mark: Mark) -> dict[str, Any]:
    if isinstance(mark, Patch):
        plain: dict[str, Any] = {
            "patch": [mark.left, mark.top, mark.width, mark.height],
            "bits": base64.b64encode(mark.bits).decode("ascii"),
        }
    else:
        plain = {
            "points": [[float(x), float(y)] for x, y in mark.points],
            "radius": float(mark.radius),
        }
        if mark.pressures:
            plain["pressures"] = [float(pressure) for pressure in mark.pressures]
    plain["class"] = mark.label
    if mark.joined:
        plain["joined"] = True
    return plain


def _mark(plain: dict[str, Any]) -> Mark:
    label = field(plain, "class")
    label = None if label is None else whole(label, "class")
    joined = plain.get("joined") is True
    if "patch" in plain:
        left, top, width, height = (
            whole(part, "patch") for part in listed(plain["patch"], "patch", 4, 4)
        )
        bits = _bytes(field(plain, "bits"), "a patch's bits")
        return Patch(left, top, width, height, bits, label, joined)
    return Stroke(
        tuple(_point(point) for point in listed(field(plain, "points"), "points")),
        number(field(plain, "radius"), "radius"),
        label,
        tuple(
            number(part, "pressures") for part in listed(plain.get("pressures", []), "pressures")
        ),
        joined,
    )


def _bytes(plain: object, name: str) -> bytes:
    coded = text(plain, name, _LARGEST_BITS)
    try:
        return base64.b64decode(coded, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"{name}: wanted base64, got: {error}") from error


def _point(plain: object) -> tuple[float, float]:
    x, y = listed(plain, "points", 2, 2)
    return number(x, "points"), number(y, "points")
