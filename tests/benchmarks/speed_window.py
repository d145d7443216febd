"""How long a mouse move takes, from the event to the painted pixels.

A 4096 x 4096 picture with an answer over it, a brush of 50 px radius, real mouse events. Run:

    python tests/benchmarks/brush_latency.py [--moves 300] [--side 4096] [--json]

Prints the median and the 95th percentile in milliseconds at several zooms; the exit code is 1
when a 95th percentile is above 16 ms, a frame of a 60 Hz screen.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import numpy as np
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QApplication

from segapp.qt.canvas.brush import Brush
from segapp.qt.canvas.canvas import Canvas
from segapp.qt.canvas.layers import Layer, opaque
from segapp.qt.canvas.painting import Sheet
from segapp.values.document import Document

SIDE = 4096
RADIUS = 50.0
LIMIT = 16.0  # milliseconds


def make_canvas(side: int) -> Canvas:
    rng = np.random.default_rng(0)
    rgb = rng.integers(0, 256, (side, side, 3), dtype=np.uint8)
    canvas = Canvas()
    canvas.resize(1400, 900)
    canvas.set_picture(Layer(opaque(rgb)))
    tint = np.zeros((side, side, 4), dtype=np.uint8)
    tint[: side // 2] = (230, 159, 0, 255)
    canvas.set_labelling(Sheet(Layer(tint)))
    canvas.set_document(Document())
    canvas.set_brush(Brush(radius=RADIUS))
    canvas.show()
    return canvas


def send(canvas: Canvas, kind: QEvent.Type, at: QPointF) -> None:
    left, none = Qt.MouseButton.LeftButton, Qt.MouseButton.NoButton
    button = none if kind == QEvent.Type.MouseMove else left
    held = none if kind == QEvent.Type.MouseButtonRelease else left
    event = QMouseEvent(
        kind, at, canvas.mapToGlobal(at), button, held, Qt.KeyboardModifier.NoModifier
    )
    QApplication.sendEvent(canvas, event)


def measure(canvas: Canvas, moves: int, step: float) -> np.ndarray:
    """Draw one long wavy stroke; time each move until its pixels are painted."""
    application = QApplication.instance()
    middle = QPointF(canvas.width() / 2, canvas.height() / 2)
    send(canvas, QEvent.Type.MouseButtonPress, middle)
    application.processEvents()
    times = []
    for index in range(moves):
        angle = index * step / 200
        at = QPointF(
            canvas.width() * (0.5 + 0.4 * np.sin(angle)),
            canvas.height() * (0.5 + 0.4 * np.sin(1.7 * angle)),
        )
        start = time.perf_counter()
        send(canvas, QEvent.Type.MouseMove, at)
        application.processEvents()
        times.append(time.perf_counter() - start)
    send(canvas, QEvent.Type.MouseButtonRelease, middle)
    return np.array(times) * 1000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--moves", type=int, default=300)
    parser.add_argument("--side", type=int, default=SIDE, help="of the picture, in pixels")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    application = QApplication([])
    canvas = make_canvas(arguments.side)
    application.processEvents()
    rows = []
    for name, scale, step in (
        ("fit, slow", None, 8.0),
        ("fit, fast", None, 60.0),
        ("1:1, slow", 1.0, 8.0),
        ("1:1, fast", 1.0, 60.0),
        ("4:1, slow", 4.0, 8.0),
    ):
        canvas.viewport.fit()
        if scale is not None:
            canvas.viewport.zoom(scale / canvas.viewport.view.scale)
        application.processEvents()
        times = measure(canvas, arguments.moves, step)
        median, high = np.percentile(times, (50, 95))
        rows.append({"case": name, "median_ms": round(median, 2), "p95_ms": round(high, 2)})
        canvas.set_document(Document())
    if arguments.json:
        print(json.dumps(rows))
    else:
        for row in rows:
            print(
                f"{row['case']:<12} median {row['median_ms']:6.2f}   95 % {row['p95_ms']:6.2f} ms"
            )
    canvas.close()
    return int(any(row["p95_ms"] > LIMIT for row in rows))


if __name__ == "__main__":
    sys.exit(main())
