"""Screens with two pixels for one: nothing is blurred, nothing is misplaced."""

import subprocess
import sys
import textwrap

import pytest

SCRIPT = """
    import os
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    import numpy as np
    from PySide6.QtCore import QEvent, QPointF, Qt
    from PySide6.QtGui import QMouseEvent
    from PySide6.QtWidgets import QApplication
    from segapp.model.document import Document
    from segapp.qt.canvas.brush import Brush
    from segapp.qt.canvas.canvas import Canvas
    from segapp.qt.canvas.layers import Layer
    from segapp.qt.canvas.layers import add_alpha

    application = QApplication([])
    canvas = Canvas()
    canvas.resize(300, 200)
    rgb = np.random.default_rng(0).integers(0, 256, (100, 160, 3), dtype=np.uint8)
    canvas.set_picture(Layer(add_alpha(rgb)))
    canvas.set_document(Document())
    canvas.set_brush(Brush(radius=2.0))
    canvas.show()
    ratio = canvas.devicePixelRatioF()
    assert ratio == {ratio}, ratio
    canvas.viewport.show_actual_size()
    assert abs(canvas.viewport.screen_scale - 1.0) < 1e-9
    canvas.viewport.pan(QPointF(7.0, 3.0))
    image = canvas.grab().toImage()
    left, top = round(canvas.viewport.view.x * ratio), round(canvas.viewport.view.y * ratio)
    for x, y in ((0, 0), (31, 17), (159, 99)):
        colour = image.pixelColor(left + x, top + y)
        assert (colour.red(), colour.green(), colour.blue()) == tuple(rgb[y, x]), (x, y)
    strokes = []
    canvas.stroke_finished.connect(strokes.append)
    at = canvas.viewport.view.to_widget(QPointF(40.5, 30.5))
    for kind in (QEvent.Type.MouseButtonPress, QEvent.Type.MouseButtonRelease):
        held = Qt.MouseButton.LeftButton
        QApplication.sendEvent(
            canvas, QMouseEvent(kind, at, at, held, held, Qt.KeyboardModifier.NoModifier)
        )
    assert max(abs(strokes[0].points[0][0] - 40.5), abs(strokes[0].points[0][1] - 30.5)) < 0.1
    marked = canvas.grab().toImage().pixelColor(left + 40, top + 30)
    assert (marked.red(), marked.green()) != tuple(rgb[30, 40, :2])
"""


@pytest.mark.parametrize("ratio", [1.5, 2.0])
def test_a_pixel_of_the_picture_is_a_pixel_of_the_screen(ratio, monkeypatch):
    monkeypatch.setenv("QT_SCALE_FACTOR", str(ratio))
    code = textwrap.dedent(SCRIPT).replace("{ratio}", str(ratio))
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
