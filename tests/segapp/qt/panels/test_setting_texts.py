"""The examples beside the settings are what the clean-up really does."""

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QTransform

from segapp.engine.clean_up import clean_up
from segapp.imaging.seeds import SeedMap
from segapp.model.settings import CleanUp
from segapp.qt.panels.setting_texts import EXAMPLES, BeforeAfter

NOTHING = CleanUp(smallest_area=0, fill_holes=False, smoothing=0, keep_touching=False)


def signs(rows):
    return np.array([list(row) for row in rows])


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_an_example_is_what_the_setting_does(name):
    value, before, after = EXAMPLES[name]
    given = signs(before)
    labels = (given == ".").astype(np.uint8)  # the object is the first class
    marked = SeedMap.from_array(np.where(given == "o", 0, -1).astype(np.int16))
    made = clean_up(labels, marked, replace(NOTHING, **{name: value}), 1)
    expected = (signs(after) == ".").astype(np.uint8)
    drawn = "\n".join("".join(".#"[1 - cell] for cell in row) for row in made)
    np.testing.assert_array_equal(made, expected, err_msg=drawn)


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_an_example_is_drawn(qtbot, name):
    view = BeforeAfter(name)
    qtbot.addWidget(view)
    view.resize(view.sizeHint())
    image = view.grab().toImage()
    colours = {image.pixelColor(x, y).name() for x in range(image.width()) for y in range(30)}
    assert len(colours) > 3


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_from_right_to_left_it_is_read_from_the_right_and_the_arrow_points_left(qtbot, name):
    def drawn(direction):
        view = BeforeAfter(name)
        qtbot.addWidget(view)
        view.setLayoutDirection(direction)
        view.resize(view.sizeHint())
        return view.grab().toImage()

    rows = signs(EXAMPLES[name][1])
    side = drawn(Qt.LayoutDirection.LeftToRight).width()
    picture = (side - 26) // 2  # 26 are left for the arrow
    there, back = drawn(Qt.LayoutDirection.LeftToRight), drawn(Qt.LayoutDirection.RightToLeft)
    height = rows.shape[0] * picture // rows.shape[1]
    before, after = (QRect(x, 0, picture, height) for x in (0, side - picture))
    assert there.copy(before) != there.copy(after)
    assert back.copy(after) == there.copy(before)
    assert back.copy(before) == there.copy(after)
    arrow = QRect(picture, 0, 26, height)
    assert back.copy(arrow) == there.copy(arrow).transformed(QTransform.fromScale(-1, 1))
