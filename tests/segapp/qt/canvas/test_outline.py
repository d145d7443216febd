import time

import numpy as np
import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QImage, QPainter

from segapp.model.classes import TWO_CLASSES
from segapp.qt.canvas.layers import ContourLayer
from segapp.qt.canvas.viewport import View

GREY = QColor(120, 120, 120)


def drawn(outline, view, size=(400, 300), ground=GREY):
    image = QImage(*size, QImage.Format.Format_RGB32)
    image.fill(ground)
    painter = QPainter(image)
    outline.draw(painter, view, QRectF(0, 0, *size))
    painter.end()
    pixels = np.array(image.constBits()).reshape(size[1], size[0], 4)[:, :, 2::-1].astype(int)
    return np.abs(pixels - [ground.red(), ground.green(), ground.blue()]).max(axis=2)


def disc(side, centre, radius):
    rows, columns = np.ogrid[:side, :side]
    inside = (rows - centre) ** 2 + (columns - centre) ** 2 < radius**2
    return np.where(inside, 0, 1).astype(np.uint8)


@pytest.mark.parametrize("scale", [0.1, 0.3, 0.7, 1.0, 1.4, 2.0, 5.0, 20.0, 64.0])
def test_a_line_is_as_wide_on_the_screen_at_every_zoom(qapp, scale):
    side = 2000
    labels = np.ones((side, side), np.uint8)
    labels[:, : side // 2] = 0
    changed = drawn(ContourLayer(labels, TWO_CLASSES), View(scale, 200 - scale * side / 2, 0))
    across = (changed[20] > 25).sum()
    assert 2 <= across <= 6


def test_small_objects_of_a_large_picture_keep_their_inside(qapp):
    labels = np.ones((4000, 4000), np.uint8)
    labels[2000:2060, 2000:2060] = 0
    changed = drawn(ContourLayer(labels, TWO_CLASSES), View(0.2, -200, -200))
    assert changed.max() > 60
    assert changed[206, 206] == 0  # six screen pixels from every side
    assert (changed > 25).sum() < 12 * 4 * 5


def test_the_line_shows_on_its_own_colour_and_on_black_and_white(qapp):
    labels = disc(200, 100, 60)
    for ground in (QColor(*TWO_CLASSES[0].colour), QColor(0, 0, 0), QColor(255, 255, 255)):
        assert drawn(ContourLayer(labels, TWO_CLASSES), View(1.0), ground=ground).max() > 100


def test_the_whole_and_the_nearest_look_cost_less_than_a_frame(qapp):
    rows, columns = np.mgrid[:4000, :4000]
    waves = np.sin(columns / 60) + np.sin(rows / 70)
    outline = ContourLayer((waves < 0.5).astype(np.uint8), TWO_CLASSES)
    image = QImage(1200, 800, QImage.Format.Format_RGB32)
    for scale in (0.25, 0.7, 1.0, 2.0, 8.0):
        best = np.inf
        for _ in range(5):
            painter = QPainter(image)
            start = time.process_time()
            outline.draw(painter, View(scale, -100, -100), QRectF(image.rect()))
            best = min(best, time.process_time() - start)
            painter.end()
        assert best < 0.016


@pytest.mark.parametrize("width", [1997, 1998, 1999])
def test_rows_of_any_length_are_drawn_straight(qapp, width):
    labels = np.ones((1500, width), np.uint8)
    labels[:, :800] = 0
    changed = drawn(ContourLayer(labels, TWO_CLASSES), View(0.25, 0, 0))
    columns = np.flatnonzero((changed[10:290] > 25).all(axis=0))
    assert columns.size
    assert np.abs(columns - 200).max() <= 3
