"""CSV and JSON tables of measurements and of the learnt model."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

from segapp.imaging.components import PIXELS, MeasuredRegions, Scale
from segapp.model.validation import csv_cell
from shlcore.atomic_file import atomic_write, write_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from segapp.imaging.components import MeasuredRegion
    from segapp.model.answer import Insight
    from segapp.model.classes import ClassInfo
    from segapp.model.document import Document
    from segapp.model.labelling import Labelling
    from segapp.model.picture import Picture, RawImage


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
    parts = measure_regions(labelling, document, picture, split=split)
    header = columns(scale, picture)
    write_text(path, as_csv(header, (texts for _, texts in rows(parts, document, scale))))
    return (path,)


def measure_regions(
    labelling: Labelling, document: Document, picture: Picture, *, split: bool
) -> MeasuredRegions:
    """Measure the components of all objects, in the file's own numbers."""
    values = picture.raw_image.values
    return MeasuredRegions.measure(labelling.labels, values, _objects(document), split=split)


def write_joined_measures(path: Path, tables: Iterable[tuple[str, Path]]) -> tuple[Path, ...]:
    """Join the measures of many images to one table, by the images' names.

    ``tables`` are names with what `write_measures` wrote; what an image has no measure of stays
    empty. One image is read at a time, however many there are.
    """
    tables = list(tables)
    header = {"image": None}  # as an ordered set
    for _, table in tables:
        header |= dict.fromkeys(next(_lines(table), []))
    with atomic_write(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        writer = csv.DictWriter(text, list(header), restval="", lineterminator="\n")
        writer.writeheader()
        for name, table in tables:
            lines = _lines(table)
            own = next(lines, [])
            for line in lines:
                writer.writerow({"image": csv_cell(name), **dict(zip(own, line, strict=True))})
        text.flush()
        text.detach()
    return (path,)


def _lines(table: Path) -> Iterator[list[str]]:
    with table.open(encoding="utf-8", newline="") as file:
        yield from csv.reader(file)


def rows(
    parts: MeasuredRegions, document: Document, scale: Scale
) -> Iterator[tuple[MeasuredRegion | None, list[str]]]:
    """Yield the table's rows, each with its part; those about a class have none."""
    for index in _objects(document):
        own = [part for part in parts.regions if part.label == index]
        name = csv_cell(document.classes[index].name)
        yield None, [name, WHOLE, str(len(own)), *_of_class(own, scale, parts.n_channels)]
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


def columns(scale: Scale, picture: Picture) -> list[str]:
    """Return the column names; lengths are also in the scale's unit, if any."""
    lengths = ["area_px", "perimeter_px"]
    if scale != PIXELS:
        lengths += [f"area_{scale.unit}2", f"perimeter_{scale.unit}"]
    places = ["x", "y", "left", "top", "width", "height"]
    means = [f"mean_{name}" for name in _channel_names(picture.raw_image)]
    return ["class", "part", "count", *lengths, *places, *means]


def _channel_names(raw: RawImage) -> list[str]:
    """Name channels: colours where the first three are, and numbers from 1."""
    colours = ["red", "green", "blue"] if len(raw.default_channels) == 3 else []
    return [*colours, *(f"channel_{k + 1}" for k in range(len(colours), raw.n_channels))]


def measured(part: MeasuredRegion, scale: Scale) -> Iterator[str]:
    """Yield the measures of a part as a row has them."""
    yield from _lengths(part.area, part.perimeter, scale)
    yield from (f"{value:.2f}" for value in part.centroid)
    yield from (str(value) for value in part.box)
    yield from map(_mean_text, part.means)


def _mean_text(value: float) -> str:
    """Format a mean with three decimals, or six digits if it is small."""
    return f"{value:.3f}" if value == 0 or abs(value) >= 1 else f"{value:.6g}"


def _of_class(parts: Sequence[MeasuredRegion], scale: Scale, n_channels: int) -> Iterator[str]:
    """Yield the measures of a whole class; without regions only the area, 0."""
    area = sum(part.area for part in parts)
    yield from _lengths(area, sum(part.perimeter for part in parts), scale)
    if not parts:
        yield from [""] * (6 + n_channels)
        return
    for values in zip(*(part.centroid for part in parts), strict=True):
        yield f"{_mean(values, parts):.2f}"
    left, top = (min(part.box[k] for part in parts) for k in (0, 1))
    right, bottom = (max(part.box[k] + part.box[k + 2] for part in parts) for k in (0, 1))
    yield from (str(value) for value in (left, top, right - left, bottom - top))
    for values in zip(*(part.means for part in parts), strict=True):
        yield _mean_text(_mean(values, parts))


def _lengths(area: int, perimeter: float, scale: Scale) -> Iterator[str]:
    yield str(area)
    yield f"{perimeter:.2f}"
    if scale != PIXELS:
        yield f"{area * scale.pixel**2:.6g}"
        yield f"{perimeter * scale.pixel:.6g}"


def _mean(values: Sequence[float], parts: Sequence[MeasuredRegion]) -> float:
    """Return the mean over all pixels of the parts."""
    total = sum(value * part.area for value, part in zip(values, parts, strict=True))
    return total / sum(part.area for part in parts)


_TITLE = "segapp insight"
_VERSION = 1


def insight_csv(insight: Insight, classes: tuple[ClassInfo, ...]) -> str:
    """Return a table of four columns: part, name, index (from 1), value.

    Parts are ``kernel weight`` (a row for each kernel and bit), ``codeword`` (for each class and
    codeword, with + and - for the bits), ``objective`` (for each step) and ``seconds``.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("part", "name", "index", "value"))
    writer.writerows(_rows(insight, classes))
    return text.getvalue()


def _rows(
    insight: Insight, classes: tuple[ClassInfo, ...]
) -> Iterator[tuple[str, str, int, float | str]]:
    for column, name in enumerate(insight.kernels):
        for bit, weight in enumerate(insight.kernel_weights[:, column], start=1):
            yield "kernel weight", name, bit, float(weight)
    for info, words in zip(classes, insight.codewords, strict=False):
        for number, word in enumerate(words, start=1):
            if word.any():  # a class without strokes has no codeword
                signs = "".join("+" if bit > 0 else "-" for bit in word)
                yield "codeword", info.name, number, signs
    for step, value in enumerate(insight.objective, start=1):
        yield "objective", "", step, float(value)
    for index, (name, seconds) in enumerate(insight.seconds.items(), start=1):
        yield "seconds", name, index, float(seconds)


def insight_json(insight: Insight, classes: tuple[ClassInfo, ...]) -> str:
    """Return all numbers as JSON; a class without strokes has codewords of 0."""
    content = {
        "format": _TITLE,
        "version": _VERSION,
        "kernels": list(insight.kernels),
        "kernel_weights": insight.kernel_weights.tolist(),
        "classes": [info.name for info in classes],
        "codewords": insight.codewords[: len(classes)].tolist(),
        "objective": [float(value) for value in insight.objective],
        "seconds": dict(insight.seconds),
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"
