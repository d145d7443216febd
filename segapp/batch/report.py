"""Reports of a batch: tables, contact sheet and curve."""

from __future__ import annotations

import csv
import io
import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont, ImageOps

from segapp.batch.robot_user import IGNORED, dips, strokes_to
from segapp.imaging.rasterise import rasterize
from segapp.model.classes import background_index
from segapp.model.validation import csv_cell, sanitize
from shlcore.atomic_file import atomic_write, write_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from segapp.batch.task import Outcome
    from segapp.model.classes import ClassInfo
    from segapp.model.document import Document
    from segapp.model.picture import Picture


MILESTONES = (85, 90, 95)
"""Per cent of IoU to which the robot's strokes are counted."""


def summary(outcomes: Sequence[Outcome], preset: str, robot: int | None) -> dict[str, Any]:
    """Average over the images that succeeded; ``None`` where there is none."""
    scored = [outcome.ious for outcome in outcomes if outcome.ious]
    seconds = [_seconds(outcome) for outcome in outcomes if outcome.seconds]
    result: dict[str, Any] = {
        "images": len(outcomes),
        "failed": sum(bool(outcome.error) for outcome in outcomes),
        "preset": preset,
        "mean_iou": _mean([ious[0] for ious in scored]),
        "seconds_per_update": _mean(seconds),
    }
    if encoders := sorted({outcome.encoder for outcome in outcomes} - {""}):
        result["encoders"] = encoders
    if robot is not None:
        result["robot"] = {
            "strokes": robot,
            "auc": _mean([float(np.mean(ious)) for ious in scored]),
            **{
                f"strokes_to_{level}": _mean([strokes_to(ious, level / 100) for ious in scored])
                for level in MILESTONES
            },
            "dips": _mean([len(dips(ious)) for ious in scored]),
            "dip_sum": _mean([sum(dips(ious)) for ious in scored]),
            "first_five": _mean([float(np.mean(ious[1:6])) for ious in scored if len(ious) > 1]),
            "first_worse": _mean([float(bool(dips(ious[:2]))) for ious in scored]),
            "curve": [float(value) for value in np.mean(scored, axis=0)] if scored else [],
        }
    return result


def write_reports(
    out: Path, outcomes: Sequence[Outcome], preset: str, robot: int | None
) -> dict[str, Any]:
    """Write ``scores.csv`` and ``summary.json`` and return the summary."""
    write_text(out / "scores.csv", _csv(outcomes, robot))
    result = summary(outcomes, preset, robot)
    write_text(out / "summary.json", json.dumps(result, indent=2) + "\n")
    return result


def _csv(outcomes: Sequence[Outcome], robot: int | None) -> str:
    names = ["image", "width", "height", "classes", "iou", "seconds"]
    if robot is not None:
        names += ["auc", *(f"strokes_to_{level}" for level in MILESTONES)]
        names += [f"iou_{count}" for count in range(1, robot + 1)]
    names.append("error")
    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    for outcome in sorted(outcomes, key=lambda outcome: outcome.name):
        writer.writerow(_row(outcome, robot))
    return text.getvalue()


def _row(outcome: Outcome, robot: int | None) -> dict[str, Any]:
    row: dict[str, Any] = {"image": csv_cell(outcome.name), "error": csv_cell(outcome.error)}
    if outcome.error:
        return row
    row |= {"width": outcome.width, "height": outcome.height, "classes": outcome.classes}
    row["seconds"] = f"{_seconds(outcome):.4f}"
    if outcome.ious:
        row["iou"] = f"{outcome.ious[0]:.6f}"
    if robot is not None and outcome.ious:
        row["auc"] = f"{np.mean(outcome.ious):.6f}"
        for level in MILESTONES:
            row[f"strokes_to_{level}"] = strokes_to(outcome.ious, level / 100)
        for count, value in enumerate(outcome.ious[1:], start=1):
            row[f"iou_{count}"] = f"{value:.6f}"
    return row


def _seconds(outcome: Outcome) -> float:
    return float(np.mean(outcome.seconds))


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


_CELL = (240, 180)  # width and height that an image is fitted into
_GAP, _CAPTION, _MARGIN = 6, 22, 16
_INK, _PAPER = (40, 40, 40), (255, 255, 255)
_NOT_JUDGED = (128, 128, 128)
_MOST_ACROSS = 9  # pictures


def draw_case(
    picture: Picture,
    document: Document,
    results: Mapping[str, NDArray[np.uint8]],
    truth: NDArray[np.int16] | None = None,
) -> dict[str, Image.Image]:
    """Draw the image, its strokes, the truth and each result, by heads of a sheet."""
    marked, classes = rasterize(document, picture.size), document.classes
    drawn = {
        "image": Image.fromarray(picture.rgb),
        "strokes": Image.fromarray(_with_strokes(picture.rgb, marked, classes)),
    }
    if truth is not None:
        known = truth != IGNORED
        shown = _with_result(picture.rgb, np.where(known, truth, 0).astype(np.uint8), classes)
        shown[~known] = _NOT_JUDGED
        drawn["truth"] = Image.fromarray(shown)
    for head, labels in results.items():
        drawn[head] = Image.fromarray(_with_result(picture.rgb, labels, classes))
    return drawn


class ContactSheet:
    """Captions and rows of pictures under heads on one page, in up to three columns.

    Rows are added in any order and stored as thumbnails; a row without a head's picture leaves
    its place empty.
    """

    def __init__(self, heads: Sequence[str]) -> None:
        self._heads = tuple(heads)
        self._rows: dict[str, tuple[str, dict[str, Image.Image]]] = {}

    def add(self, name: str, caption: str, pictures: Mapping[str, Image.Image]) -> None:
        """Add a row; rows are sorted by their names."""
        small = {
            head: ImageOps.contain(image, _CELL, Image.Resampling.LANCZOS)
            for head, image in pictures.items()
        }
        self._rows[name] = (caption, small)

    def write(self, path: Path) -> None:
        """Write the sheet as a PNG; without any row, nothing."""
        if not self._rows:
            return
        used = {head for _, pictures in self._rows.values() for head in pictures}
        heads = [head for head in self._heads if head in used]
        columns = max(1, min(1 + len(self._rows) // 6, _MOST_ACROSS // len(heads)))
        width, height = _CELL
        across = len(heads) * (width + _GAP) - _GAP
        down = height + _CAPTION + _GAP
        sheet = Image.new(
            "RGB",
            (
                2 * _MARGIN + columns * across + (columns - 1) * 3 * _MARGIN,
                2 * _MARGIN
                + _CAPTION
                + math.ceil(len(self._rows) / columns) * (down + _MARGIN)
                - _MARGIN,
            ),
            _PAPER,
        )
        pen = ImageDraw.Draw(sheet)
        font, bold = ImageFont.load_default(14), ImageFont.load_default(16)
        lefts = [_MARGIN + column * (across + 3 * _MARGIN) for column in range(columns)]
        for left in lefts:
            for position, head in enumerate(heads):
                place = left + position * (width + _GAP) + width / 2
                pen.text((place, _MARGIN), head, fill=_INK, font=bold, anchor="mt")
        for index, (_, (caption, pictures)) in enumerate(sorted(self._rows.items())):
            left = lefts[index % columns]
            top = _MARGIN + _CAPTION + index // columns * (down + _MARGIN)
            pen.text((left, top), sanitize(caption), fill=_INK, font=font)
            for head, small in pictures.items():
                x = left + heads.index(head) * (width + _GAP) + (width - small.width) // 2
                sheet.paste(small, (x, top + _CAPTION + (height - small.height) // 2))
        with atomic_write(path) as file:
            sheet.save(file, format="PNG")


def write_curve(path: Path, curve: Sequence[float], title: str) -> None:
    """Plot the mean IoU over the robot's strokes.

    Raises
    ------
    ImportError
        When matplotlib is not installed.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.add_subplot()
    axes.plot(range(len(curve)), curve, marker="o", markersize=4, color="#0072b2")
    axes.set(xlabel="strokes of the robot user", ylabel="mean IoU", title=title)
    axes.set(xlim=(0, max(len(curve) - 1, 1)), ylim=(min(0.4, *curve), 1.0))
    axes.grid(alpha=0.3)
    with atomic_write(path) as file:
        FigureCanvasAgg(figure).print_figure(file, dpi=150, format="png")


def _with_strokes(
    rgb: NDArray[np.uint8], marked: NDArray[np.int16], classes: Sequence[ClassInfo]
) -> NDArray[np.uint8]:
    colours = np.array([info.colour for info in classes], np.uint8)
    result = rgb.copy()
    result[marked >= 0] = colours[marked[marked >= 0]]
    return result


def _with_result(
    rgb: NDArray[np.uint8], labels: NDArray[np.uint8], classes: Sequence[ClassInfo]
) -> NDArray[np.uint8]:
    """Cut out the object of two classes; tint the regions of more."""
    if len(classes) == 2:
        inside = labels != background_index(classes)
        return np.where(inside[:, :, np.newaxis], rgb, np.uint8(255))
    colours = np.array([info.colour for info in classes], np.float64)
    return np.rint(0.4 * rgb + 0.6 * colours[labels]).astype(np.uint8)
