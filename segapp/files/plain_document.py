"""Documents as the plain values that JSON holds, and back with every value checked."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from segapp.values.checked import field, fields, listed, number, text, whole
from segapp.values.document import MOST_CLASSES, ClassInfo, Document, Mark, Patch, Stroke

_LONGEST_NAME = 1000
_LARGEST_BITS = 1 << 27  # characters of a patch; a 250 megapixel mask has a third of that


def classes_to_plain(classes: tuple[ClassInfo, ...]) -> list[dict[str, Any]]:
    """Return names and colours."""
    return [{"name": info.name, "colour": list(info.colour)} for info in classes]


def classes_from_plain(plain: object) -> tuple[ClassInfo, ...]:
    """Make the classes of a document."""
    return tuple(_class(info) for info in listed(plain, "classes", 2, MOST_CLASSES))


def marks_to_plain(marks: tuple[Mark, ...]) -> list[dict[str, Any]]:
    """Return strokes and patches in their order; equal marks give equal values."""
    return [_mark_to_plain(mark) for mark in marks]


def document_from_plain(classes: object, strokes: object) -> Document:
    """Make a document, or a `ValueError` that names the field that is wrong."""
    return Document(
        classes_from_plain(classes),
        tuple(_mark(fields(plain, "strokes")) for plain in listed(strokes, "strokes")),
    )


def _class(plain: object) -> ClassInfo:
    info = fields(plain, "classes")
    red, green, blue = (
        whole(part, "colour", 0, 255) for part in listed(field(info, "colour"), "colour", 3, 3)
    )
    return ClassInfo(text(field(info, "name"), "name", _LONGEST_NAME), (red, green, blue))


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
        coded = text(field(plain, "bits"), "bits", _LARGEST_BITS)
        try:
            bits = base64.b64decode(coded, validate=True)
        except (binascii.Error, ValueError) as error:
            raise ValueError(f"a patch's bits: wanted base64, got: {error}") from error
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


def _point(plain: object) -> tuple[float, float]:
    x, y = listed(plain, "points", 2, 2)
    return number(x, "points"), number(y, "points")
