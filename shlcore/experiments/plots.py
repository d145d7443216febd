"""Figures of the experiments, as PNG and PDF; matplotlib is the extra ``plots``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from shlcore.atomic_file import atomic_write

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from shlcore.array_types import Array
    from shlcore.experiments.journal import Cell

    Panels = NDArray[np.object_]
    Line = tuple[Sequence[float], Sequence[float], Sequence[float] | None]

MARKERS = "osv^D<>ph"
COLOURS = 10  # of matplotlib's cycle; lines beyond are dashed


def new_figure(rows: int, columns: int, size: tuple[float, float]) -> tuple[Figure, Panels] | None:
    """Make a figure and its axes; None and a message without matplotlib."""
    try:
        # Imported here, because only figures need the extra.
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        print("No figures: they need matplotlib (pip install 'segapp[plots]').", file=sys.stderr)
        return None
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns, squeeze=False)


def save_figure(figure: Figure, folder: Path, name: str) -> None:
    """Write a figure as PNG and as PDF."""
    for kind in ("png", "pdf"):
        with atomic_write(folder / f"{name}.{kind}") as file:
            figure.savefig(file, format=kind, dpi=100)


def line(rows: Sequence[Cell], x: str, y: str, deviation: str = "") -> Line:
    """Return the points of a line, with deviations if their key is given."""
    bars = [row[deviation] for row in rows] if deviation else None
    return [row[x] for row in rows], [row[y] for row in rows], bars


def draw_lines(
    axes: Axes,
    lines: Mapping[str, Line],
    *,
    x: str,
    y: str,
    title: str,
) -> None:
    """Draw named lines, each ``x, y, deviation``, with error bars where there is one."""
    for index, (name, (xs, ys, deviation)) in enumerate(lines.items()):
        axes.errorbar(
            xs,
            ys,
            yerr=deviation,
            label=name,
            color=f"C{index % COLOURS}",
            linestyle="-" if index < COLOURS else "--",
            marker=MARKERS[index % len(MARKERS)],
            markersize=4,
            linewidth=2.2 if name == "*SHL" else 1.2,
            capsize=2,
            zorder=3 if name == "*SHL" else 2,
        )
    axes.set(xlabel=x, ylabel=y, title=title)
    axes.grid(visible=True, alpha=0.3)


def draw_image(
    axes: Axes,
    pixels: Array,
    *,
    wrong: bool = False,
) -> None:
    """Draw a grey image, framed red if it is a wrong answer."""
    axes.imshow(pixels, cmap="gray", interpolation="nearest")
    axes.set(xticks=[], yticks=[])
    for spine in axes.spines.values():
        spine.set(color="red" if wrong else "none", linewidth=2.5)
