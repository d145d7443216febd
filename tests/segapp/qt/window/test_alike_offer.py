"""Many small marks: the program offers to find everything alike, once, beside the work."""

import threading

import numpy as np
import pytest
from PIL import Image
from PySide6.QtCore import Qt

from segapp.model.document import Stroke
from segapp.model.settings import PRESETS
from segapp.qt.widgets import Banner
from segapp.qt.window import mark_commands

PLACES = [(50, 50), (200, 60), (300, 250)]


@pytest.fixture
def cells(make_window, tmp_path):
    """Open three small cells, one of the ground marked."""
    y, x = np.mgrid[:300, :400]
    rgb = np.full((300, 400, 3), 20, np.uint8)
    for column, row in PLACES:
        rgb[(x - column) ** 2 + (y - row) ** 2 < 36] = 220
    path = tmp_path / "cells.png"
    Image.fromarray(rgb).save(path)
    window = make_window(path)
    window.session.add_stroke(Stroke(((10.0, 280.0),), 4.0, 1))
    return window


def mark(window, qtbot, count):
    for x, y in PLACES[:count]:
        window.session.add_stroke(Stroke(((float(x), float(y)),), 2.0, 0))
    qtbot.waitUntil(lambda: window.session.answers.is_current)


def offered(window):
    return next(
        (
            each
            for each in window.canvas.findChildren(Banner)
            if each.isVisible() and "small marks" in each.text
        ),
        None,
    )


def test_two_marks_are_no_reason_to_ask(cells, qtbot):
    mark(cells, qtbot, 2)
    assert offered(cells) is None


@pytest.mark.parametrize(("button", "preset"), [(0, "alike"), (1, "best")])
def test_three_are_and_the_answer_is_taken_once(cells, qtbot, button, preset):
    mark(cells, qtbot, 3)
    qtbot.waitUntil(lambda: offered(cells) is not None)
    qtbot.mouseClick(offered(cells).buttons[button], Qt.MouseButton.LeftButton)
    assert cells.session.settings == PRESETS[preset]
    assert offered(cells) is None
    cells.session.set_settings(PRESETS["best"])
    mark(cells, qtbot, 1)
    assert offered(cells) is None
    if preset == "alike":
        assert "undo" in cells.commands["undo"].text().lower()


def test_other_settings_withdraw_the_question(cells, qtbot):
    mark(cells, qtbot, 3)
    qtbot.waitUntil(lambda: offered(cells) is not None)
    cells.session.set_settings(PRESETS["paper"])
    assert offered(cells) is None


def test_the_window_goes_on_while_parts_are_distinguished(cells, qtbot, monkeypatch):
    looks, may_go_on = [], threading.Event()

    def slow(document, labels):
        looks.append(threading.current_thread())
        return may_go_on.wait(10)

    monkeypatch.setattr(mark_commands, "suggests_many_objects", slow)
    mark(cells, qtbot, 3)
    qtbot.waitUntil(lambda: bool(looks))
    assert threading.main_thread() not in looks
    cells.session.undo()  # what is being looked at is no longer so
    may_go_on.set()
    monkeypatch.setattr(mark_commands, "suggests_many_objects", lambda document, labels: False)
    qtbot.waitUntil(lambda: cells.session.answers.is_current)
    qtbot.wait(50)
    assert offered(cells) is None


def test_an_error_on_the_way_is_reported(cells, qtbot, monkeypatch):
    def broken(document, labels):
        raise ValueError("no such part")

    monkeypatch.setattr(mark_commands, "suggests_many_objects", broken)
    with qtbot.capture_exceptions() as told:
        mark(cells, qtbot, 3)
        qtbot.waitUntil(lambda: bool(told))
    assert "no such part" in str(told[0][1])
