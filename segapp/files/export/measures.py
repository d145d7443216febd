"""Measures of classes and of their parts, as CSV."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from segapp.values.measures import PIXELS, Parts, Scale
from segapp.values.wording import cell
from shlcore.atomic_file import write_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
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
    parts = parts_of(labelling, document, picture, split=split)
    write_text(path, as_csv(columns(scale), (texts for _, texts in rows(parts, document, scale))))
    return (path,)


def parts_of(labelling: Labelling, document: Document, picture: Picture, *, split: bool) -> Parts:
    """Find and measure the parts of all classes but the background."""
    return Parts.of(labelling.labels, picture.rgb, _objects(document), split=split)


def rows(
    parts: Parts, document: Document, scale: Scale
) -> Iterator[tuple[Part | None, list[str]]]:
    """Yield the table's rows, each with its part; those about a class have none."""
    for index in _objects(document):
        own = [part for part in parts.parts if part.label == index]
        name = cell(document.classes[index].name)
        yield None, [name, WHOLE, str(len(own)), *_of_class(own, scale)]
        for part in own:
            yield part, [name, str(part.number), "1", *measured(part, scale)]


def as_csv(header: Sequence[str], texts: Iterable[Sequence[str]], delimiter: str = ",") -> str:
    """Return a table as a spreadsheet reads it."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n", delimiter=delimiter)
    table.writerow(header)
    table.writerows(texts)
    return text.getvalue()


def _objects(document: Document) -> list[int]:
    return [k for k in range(len(document.classes)) if k != document.background]


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
