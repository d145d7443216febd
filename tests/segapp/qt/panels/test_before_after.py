"""The examples beside the settings are what the clean-up really does."""

from dataclasses import replace

import numpy as np
import pytest

from segapp.outline.clean_up import clean_up
from segapp.qt.panels.before_after import EXAMPLES, BeforeAfter
from segapp.values.marked import Marked
from segapp.values.settings import CleanUp

NOTHING = CleanUp(smallest_area=0, fill_holes=False, smoothing=0, keep_touching=False)


def signs(text):
    return np.array([list(row) for row in text.split()])


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_an_example_is_what_the_setting_does(name):
    value, before, after = EXAMPLES[name]
    given = signs(before)
    labels = (given == ".").astype(np.uint8)  # the object is the first class
    marked = Marked.of_array(np.where(given == "o", 0, -1).astype(np.int16))
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
