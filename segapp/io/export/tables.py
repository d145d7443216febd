"""CSV and JSON tables of measurements and of the learnt model."""

from __future__ import annotations

import csv
import io
import json
import math
from typing import TYPE_CHECKING

from segapp.imaging.measures import measure_objects
from segapp.imaging.objects import objects_of
from segapp.model.picture import PIXELS
from segapp.model.validation import csv_cell
from shlcore.atomic_file import atomic_write, write_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from segapp.imaging.measures import MeasuredObject, MeasuredObjects
    from segapp.model.classes import ClassInfo
    from segapp.model.document import Document
    from segapp.model.labelling import Insight, Labelling
    from segapp.model.picture import Picture, RawImage, Scale


WHOLE = "all"
"""Stands in the column "object" where a row is about a class."""
_STATISTICS = ("integrated", "mean", "min", "max", "sd")
_SHAPES = ("circularity", "solidity", "eccentricity")
_LENGTHS = ("perimeter", "major_axis", "minor_axis", "feret")
_PLACES = ("x", "y", "left", "top", "width", "height")


def write_measures(
    path: Path,
    labelling: Labelling,
    document: Document,
    picture: Picture,
    *,
    scale: Scale | None = None,
) -> tuple[Path, ...]:
    """Write a row for each class but the background, and one for each of its objects."""
    measured = measure_labelling(labelling, document, picture)
    scale = scale or picture.scale or PIXELS
    header = columns(scale, picture)
    write_text(path, as_csv(header, (texts for _, texts in rows(measured, document, scale))))
    return (path,)


def measure_labelling(
    labelling: Labelling, document: Document, picture: Picture
) -> MeasuredObjects:
    """Measure all objects, in the file's own numbers."""
    found = objects_of(labelling, document, picture.rgb)
    return measure_objects(found, picture.raw_image.values)


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
    measured: MeasuredObjects, document: Document, scale: Scale
) -> Iterator[tuple[MeasuredObject | None, list[str]]]:
    """Yield the table's rows, each with its object; those about a class have none."""
    for index, info in enumerate(document.classes):
        if index == document.background or info.is_background:
            continue
        own = [each for each in measured.objects if each.key[0] == index]
        name = csv_cell(info.name)
        yield None, [name, WHOLE, "", *_of_class(own, scale, measured.n_channels)]
        for each in own:
            titled = csv_cell(document.object_info(each.key).name)
            yield each, [name, str(each.key[1]), titled, *_of_object(each, scale)]


def as_csv(header: Sequence[str], texts: Iterable[Sequence[str]], delimiter: str = ",") -> str:
    """Return a table as a spreadsheet reads it."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n", delimiter=delimiter)
    table.writerow(header)
    table.writerows(texts)
    return text.getvalue()


def columns(scale: Scale, picture: Picture) -> list[str]:
    """Return the column names; lengths are in pixels, and in the scale's unit, if any."""
    units = ["px"] if scale.unit == "px" else ["px", scale.unit]
    lengths = [f"area_{units[0]}", *(f"area_{unit}2" for unit in units[1:])]
    lengths += [f"{name}_{unit}" for name in _LENGTHS for unit in units]
    places = [*_PLACES, *(f"{name}_{unit}" for unit in units[1:] for name in _PLACES)]
    values = [
        f"{statistic}_{name}"
        for name in channel_names(picture.raw_image)
        for statistic in _STATISTICS
    ]
    head = ["class", "object", "name", "objects", "parts", "neighbours"]
    return [*head, *lengths, *_SHAPES, *places, *values]


def channel_names(raw: RawImage) -> list[str]:
    """Name channels as the file does, or else by colour or number."""
    colours = ["red", "green", "blue"] if len(raw.default_channels) == 3 else []
    told = list(raw.names) or colours
    names = [*told[: raw.n_channels]]
    names += [f"channel_{k + 1}" for k in range(len(names), raw.n_channels)]
    twice = {name for name in names if not name or names.count(name) > 1}
    return [
        f"{name or 'channel'}_{k}" if name in twice else name for k, name in enumerate(names, 1)
    ]


def _of_object(each: MeasuredObject, scale: Scale) -> Iterator[str]:
    """Yield the measures of an object as a row has them."""
    yield from ("1", str(each.parts), str(each.neighbours))
    lengths = (each.perimeter, each.major_axis, each.minor_axis, each.feret)
    yield from _size_texts(each.area, lengths, scale)
    yield from (f"{value:.4f}" for value in (each.circularity, each.solidity, each.eccentricity))
    yield from _place_texts(each.centroid, each.box, scale)
    for values in each.channels:
        statistics = (values.integrated, values.mean, values.least, values.largest)
        yield from map(_value_text, (*statistics, values.deviation))


def _of_class(own: Sequence[MeasuredObject], scale: Scale, n_channels: int) -> Iterator[str]:
    """Yield the measures of a whole class; without objects only the area, 0."""
    area = sum(each.area for each in own)
    yield from (str(len(own)), str(sum(each.parts for each in own)), "")
    yield from _size_texts(area, (sum(each.perimeter for each in own),), scale)
    yield from [""] * ((len(_LENGTHS) - 1) * (1 + (scale.unit != "px")) + len(_SHAPES))
    if not own:
        yield from [""] * (len(_PLACES) * (1 + (scale.unit != "px")))
        yield from [""] * (len(_STATISTICS) * n_channels)
        return
    x, y = (sum(each.centroid[k] * each.area for each in own) / area for k in (0, 1))
    left, top = (min(each.box[k] for each in own) for k in (0, 1))
    right, bottom = (max(each.box[k] + each.box[k + 2] for each in own) for k in (0, 1))
    yield from _place_texts((x, y), (left, top, right - left, bottom - top), scale)
    for channel in range(n_channels):
        values = [each.channels[channel] for each in own]
        total = sum(value.integrated for value in values)
        # Of the squares of all pixels; rounding may leave less than 0 where all are equal.
        square = sum(
            each.area * (value.deviation**2 + value.mean**2)
            for each, value in zip(own, values, strict=True)
        )
        yield from map(
            _value_text,
            (
                total,
                total / area,
                min(value.least for value in values),
                max(value.largest for value in values),
                math.sqrt(max(square / area - (total / area) ** 2, 0.0)),
            ),
        )


def _size_texts(area: int, lengths: Sequence[float], scale: Scale) -> Iterator[str]:
    has_unit = scale.unit != "px"
    yield str(area)
    if has_unit:
        yield f"{area * scale.pixel**2:.6g}"
    for length in lengths:
        yield f"{length:.2f}"
        if has_unit:
            yield f"{length * scale.pixel:.6g}"


def _place_texts(
    centroid: tuple[float, float], box: tuple[int, int, int, int], scale: Scale
) -> Iterator[str]:
    yield from (f"{value:.2f}" for value in centroid)
    yield from (str(value) for value in box)
    if scale.unit != "px":
        yield from (f"{value * scale.pixel:.6g}" for value in (*centroid, *box))


def _value_text(value: float) -> str:
    """Format a value with three decimals, or six digits if it is small."""
    return f"{value:.3f}" if value == 0 or abs(value) >= 1 else f"{value:.6g}"


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
