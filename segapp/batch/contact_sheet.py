"""Pictures of a batch: a sheet of images, strokes and results, and the curve of the robot."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image, ImageDraw, ImageFont, ImageOps

from segapp.values.classes import background_of
from segapp.values.rasterize import rasterize
from segapp.values.wording import shown
from shlcore.atomic_file import replacing

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from segapp.values.document import ClassInfo, Document
    from segapp.values.picture import Picture

_CELL = (240, 180)  # width and height a picture is fitted into
_GAP, _CAPTION, _MARGIN = 6, 22, 16
_INK, _PAPER = (40, 40, 40), (255, 255, 255)


def triple(
    picture: Picture, document: Document, labels: NDArray[np.uint8]
) -> tuple[Image.Image, Image.Image, Image.Image]:
    """Draw a case as the paper's fig. 9 does: the image, its strokes, and the result."""
    marked = rasterize(document, picture.size)
    return (
        Image.fromarray(picture.rgb),
        Image.fromarray(_with_strokes(picture.rgb, marked, document.classes)),
        Image.fromarray(_with_result(picture.rgb, labels, document.classes)),
    )


class Sheet:
    """Captions and triples of pictures on one page, more side by side the more there are.

    Rows come in any order, as soon as there is something to show, and are kept small.
    """

    def __init__(self) -> None:
        self._rows: dict[str, tuple[str, list[Image.Image]]] = {}

    def add(self, name: str, caption: str, pictures: Iterable[Image.Image]) -> None:
        """Take a row; rows are shown in the order of their names."""
        small = [ImageOps.contain(image, _CELL, Image.Resampling.LANCZOS) for image in pictures]
        self._rows[name] = (caption, small)

    def write(self, path: Path) -> None:
        """Write what there is as a PNG; without any row, nothing."""
        if not self._rows:
            return
        columns = min(1 + len(self._rows) // 6, 3)
        width, height = _CELL
        across = 3 * width + 2 * _GAP
        down = height + _CAPTION + _GAP
        sheet = Image.new(
            "RGB",
            (
                2 * _MARGIN + columns * across + (columns - 1) * 3 * _MARGIN,
                2 * _MARGIN + math.ceil(len(self._rows) / columns) * (down + _MARGIN) - _MARGIN,
            ),
            _PAPER,
        )
        pen = ImageDraw.Draw(sheet)
        font = ImageFont.load_default(14)
        for index, (_, (caption, pictures)) in enumerate(sorted(self._rows.items())):
            left = _MARGIN + index % columns * (across + 3 * _MARGIN)
            top = _MARGIN + index // columns * (down + _MARGIN)
            pen.text((left, top), shown(caption), fill=_INK, font=font)
            for place, small in enumerate(pictures):
                x = left + place * (width + _GAP) + (width - small.width) // 2
                sheet.paste(small, (x, top + _CAPTION + (height - small.height) // 2))
        with replacing(path) as file:
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
    with replacing(path) as file:
        FigureCanvasAgg(figure).print_figure(file, dpi=150, format="png")


def _with_strokes(
    rgb: NDArray[np.uint8], marked: NDArray[np.int16], classes: Sequence[ClassInfo]
) -> NDArray[np.uint8]:
    colours = np.array([info.colour for info in classes], np.uint8)
    shown = rgb.copy()
    shown[marked >= 0] = colours[marked[marked >= 0]]
    return shown


def _with_result(
    rgb: NDArray[np.uint8], labels: NDArray[np.uint8], classes: Sequence[ClassInfo]
) -> NDArray[np.uint8]:
    """Cut out the object of two classes; with more, tint all."""
    if len(classes) == 2:
        inside = labels != background_of(classes)
        return np.where(inside[:, :, np.newaxis], rgb, np.uint8(255))
    colours = np.array([info.colour for info in classes], np.float64)
    return np.rint(0.4 * rgb + 0.6 * colours[labels]).astype(np.uint8)
