"""Input to the canvas by mouse and keys, and the pixels that it shows."""

import numpy as np
from PySide6.QtCore import QPointF
from PySide6.QtGui import QImage


def paint(qtbot, window, button, *points):
    """Draw a stroke through points of the picture."""
    places = [window.canvas.viewport.view.to_widget(QPointF(*point)).toPoint() for point in points]
    qtbot.mousePress(window.canvas, button, pos=places[0])
    for place in places[1:]:
        qtbot.mouseMove(window.canvas, place)
    qtbot.mouseRelease(window.canvas, button, pos=places[-1])


def pixels(image):
    """Return the pixels of an image of Qt's as ``H x W x 4``, RGBA."""
    image = image.convertToFormat(QImage.Format.Format_RGBA8888)
    return np.array(image.constBits()).reshape(image.height(), image.width(), 4)
