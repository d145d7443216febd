"""Stacks in the window: pages along their axes, propagation, undo and export."""

import numpy as np
import pytest
import tifffile
from PIL import Image

from segapp.engine.trainer import Trainer
from segapp.model.document import Stroke

SIZE = (60, 90)


def pages(count=6):
    """Return pages of a bright textured square that moves on a dark textured ground."""
    rng = np.random.default_rng(2)
    ground = rng.integers(20, 70, SIZE).astype(np.uint8)
    square = rng.integers(160, 240, (24, 24)).astype(np.uint8)
    stack = np.repeat(ground[None], count, axis=0)
    for page in range(count):
        stack[page, 18:42, 15 + 4 * page : 39 + 4 * page] = square
    return stack


@pytest.fixture
def frames(tmp_path):
    folder = tmp_path / "frames"
    folder.mkdir()
    for number, page in enumerate(pages()):
        Image.fromarray(page).save(folder / f"{number:03}.png")
    return folder


@pytest.fixture
def marked(make_window, frames, qtbot):
    """Return a window with the first of several frames marked and answered."""
    window = make_window(frames, Trainer)
    window.session.add_stroke(Stroke(((22.0, 30.0), (30.0, 30.0)), 4.0, 0))
    window.session.add_stroke(Stroke(((80.0, 8.0), (80.0, 50.0)), 4.0, 1))
    qtbot.waitUntil(lambda: window.session.answers.is_current, timeout=30_000)
    return window


def propagate(qtbot, window, command="propagate"):
    window.commands[command].trigger()
    qtbot.waitUntil(lambda: not window.stacks._jobs.busy, timeout=60_000)


def go_to(qtbot, window, page):
    window.stacks.go_to(page)
    qtbot.waitUntil(
        lambda: (
            window.stacks.page == page
            and not window.files.is_reading
            and window.session.answers.shown is not None
        ),
        timeout=30_000,
    )


def test_numbered_frames_are_a_stack_and_other_pictures_are_none(make_window, frames, tmp_path):
    window = make_window(frames)
    assert window.stack_bar.isVisibleTo(window)
    assert window.commands["propagate"].isEnabled()
    others = tmp_path / "others"
    others.mkdir()
    for name in ("cat", "dog", "fox", "hen", "owl", "rat"):
        Image.new("L", (6, 5)).save(others / f"{name}.png")
    window = make_window(others)
    assert not window.stack_bar.isVisibleTo(window)
    assert not window.commands["propagate"].isEnabled()


def test_sliders_go_along_times_and_slices(make_window, tmp_path, qtbot):
    path = tmp_path / "cells.ome.tif"
    values = np.zeros((3, 4, 2, 30, 40), np.uint16)
    values += np.arange(12, dtype=np.uint16).reshape(3, 4, 1, 1, 1)
    tifffile.imwrite(path, values, metadata={"axes": "TZCYX"})
    window = make_window(path)
    qtbot.waitUntil(lambda: window.stacks.page == 0, timeout=10_000)
    bar = window.stack_bar
    lengths = [axis.slider.maximum() for axis in (bar.time_axis, bar.slice_axis, bar.channel_axis)]
    assert lengths == [2, 3, 1]
    bar.slice_axis.slider.setValue(2)
    qtbot.waitUntil(lambda: window.stacks.page == 2, timeout=10_000)
    window.commands["next_time"].trigger()
    qtbot.waitUntil(lambda: window.stacks.page == 6, timeout=10_000)
    assert window.session.picture.raw_image.values[0, 0, 0] == 6
    bar.channel_axis.slider.setValue(1)
    assert window.session.document.display.channels == (1,)


@pytest.mark.slow
def test_marks_of_one_page_give_all_pages_a_result_which_undo_takes_back(marked, qtbot):
    propagate(qtbot, marked)
    assert marked.stacks.stack.answered == list(range(6))
    go_to(qtbot, marked, 4)
    found = marked.session.answers.shown.labels == 0
    truth = np.zeros(SIZE, bool)
    truth[18:42, 31:55] = True
    assert (found & truth).sum() / (found | truth).sum() > 0.85
    marked.commands["unsure_page"].trigger()
    least = marked.stacks.stack.least_certain()
    qtbot.waitUntil(lambda: marked.stacks.page == least, timeout=10_000)
    assert marked.session.document.initial is not None
    marked.commands["undo_propagation"].trigger()
    assert not marked.stacks.stack.answers
    assert marked.session.document.initial is None
    assert not marked.commands["undo_propagation"].isEnabled()


@pytest.mark.slow
def test_a_corrected_page_holds_and_its_stroke_counts(marked, qtbot):
    propagate(qtbot, marked)
    go_to(qtbot, marked, 3)
    marked.session.add_stroke(Stroke(((80.0, 55.0),), 2.0, 0))
    qtbot.waitUntil(lambda: marked.session.answers.is_current, timeout=30_000)
    propagate(qtbot, marked)
    stack = marked.stacks.stack
    assert stack.marked == [0, 3]
    assert stack.labels(3)[55, 80] == 0
    assert marked.session.document.strokes


@pytest.mark.slow
def test_pages_between_two_marked_ones_are_interpolated(marked, qtbot):
    propagate(qtbot, marked)
    go_to(qtbot, marked, 4)
    marked.session.add_stroke(Stroke(((40.0, 30.0),), 3.0, 0))
    qtbot.waitUntil(lambda: marked.session.answers.is_current, timeout=30_000)
    propagate(qtbot, marked)
    go_to(qtbot, marked, 2)
    propagate(qtbot, marked, "interpolate")
    assert marked.stacks.stack.answer(2).others == (0, 4)


@pytest.mark.slow
def test_a_stack_is_exported_as_it_is_shown(marked, qtbot, tmp_path):
    propagate(qtbot, marked)
    marked.stacks.export(tmp_path / "out")
    qtbot.waitUntil(lambda: not marked.stacks._jobs.busy, timeout=60_000)
    labels = tifffile.imread(tmp_path / "out" / "labels.ome.tif")
    for page in range(6):
        assert ((labels[page] == 1) == (marked.stacks.stack.labels(page) == 0)).all()


def test_pages_play_one_after_the_other(make_window, frames, qtbot):
    window = make_window(frames)
    window.commands["play"].setChecked(True)
    qtbot.waitUntil(lambda: window.stacks.page == 2, timeout=10_000)
    window.commands["play"].setChecked(False)


def test_a_projection_shows_the_brightest_values(make_window, frames, qtbot):
    window = make_window(frames)
    shown = []
    window.stacks._show_projection = lambda title, rgb: shown.append(rgb)
    window.commands["project_max"].trigger()
    qtbot.waitUntil(lambda: bool(shown) and shown[-1] is not None, timeout=10_000)
    assert (shown[-1][..., 0] == pages().max(axis=0)).all()
