"""Measures of classes and of their parts, as CSV."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from segapp.values.measures import PIXELS, Parts, Scale
from segapp.values.wording import cell
from shlcore.atomic_file import write_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from segapp.values.document import Document
    from segapp.values.labelling import Labelling
    from segapp.values.measures import Part
    from segapp.values.picture import Picture

WHOLE = "all"
"""Stands in the column "part" where a row is about a class."""


def write_measures(
    path: Path,
    labelling: Labelling,
    document: Document,
    picture: Picture,
    *,
    scale: Scale = PIXELS,
    split: bool = False,
) -> tuple[Path, ...]:
    """Write a row for each class but the background, and one for each of its parts."""
    classes = [k for k in range(len(document.classes)) if k != document.background]
    parts = Parts.of(labelling.labels, picture.rgb, classes, split=split).parts
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(columns(scale))
    for index in classes:
        own = [part for part in parts if part.label == index]
        name = cell(document.classes[index].name)
        table.writerow([name, WHOLE, len(own), *_of_class(own, scale)])
        table.writerows([name, part.number, 1, *measured(part, scale)] for part in own)
    write_text(path, text.getvalue())
    return (path,)


def columns(scale: Scale) -> list[str]:
    """Name the columns; areas and perimeters also in the scale's unit, if there is one."""
    lengths = ["area_px", "perimeter_px"]
    if scale != PIXELS:
        lengths += [f"area_{scale.unit}2", f"perimeter_{scale.unit}"]
    places = ["x", "y", "left", "top", "width", "height"]
    return ["class", "part", "count", *lengths, *places, "mean_red", "mean_green", "mean_blue"]


def measured(part: Part, scale: Scale) -> Iterator[str]:
    """Yield the measures of a part as a row has them."""
    yield from _lengths(part.area, part.perimeter, scale)
    yield from (f"{value:.2f}" for value in part.centroid)
    yield from (str(value) for value in part.box)
    yield from (f"{value:.3f}" for value in part.means)


def _of_class(parts: Sequence[Part], scale: Scale) -> Iterator[str]:
    """Yield the measures of all parts together; without parts there is only their area, 0."""
    area = sum(part.area for part in parts)
    yield from _lengths(area, sum(part.perimeter for part in parts), scale)
    if not parts:
        yield from [""] * 9
        return
    for values in zip(*(part.centroid for part in parts), strict=True):
        yield f"{_mean(values, parts):.2f}"
    left, top = (min(part.box[k] for part in parts) for k in (0, 1))
    right, bottom = (max(part.box[k] + part.box[k + 2] for part in parts) for k in (0, 1))
    yield from (str(value) for value in (left, top, right - left, bottom - top))
    for values in zip(*(part.means for part in parts), strict=True):
        yield f"{_mean(values, parts):.3f}"


def _lengths(area: int, perimeter: float, scale: Scale) -> Iterator[str]:
    yield str(area)
    yield f"{perimeter:.2f}"
    if scale != PIXELS:
        yield f"{area * scale.pixel**2:.6g}"
        yield f"{perimeter * scale.pixel:.6g}"


def _mean(values: Sequence[float], parts: Sequence[Part]) -> float:
    """Return the mean over all pixels of the parts."""
    total = sum(value * part.area for value, part in zip(values, parts, strict=True))
    return total / sum(part.area for part in parts)
