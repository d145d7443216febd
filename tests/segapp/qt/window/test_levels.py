"""Levels and channels in the window: shown, learnt from, undone, remembered, and kept."""

import numpy as np
import pytest
import tifffile
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtWidgets import QCheckBox, QToolButton

from segapp.io.folder_files import DISPLAY_FILE, read_display
from segapp.io.images import load_image
from segapp.io.project import load_project
from segapp.model.display import DEFAULT_DISPLAY, ColourMap, DisplaySettings, Levels
from segapp.model.document import Stroke
from segapp.model.settings import PRESETS, FeatureGroup, with_channels
from segapp.qt.panels.levels_panel import Handle, LevelsPanel, counts_of, span_of
from segapp.qt.panels.status import depth_text, measured_text
from tests.segapp.qt.conftest import save_now

RNG = np.random.default_rng(5)
VALUES = RNG.integers(100, 1000, (60, 80, 4), dtype=np.uint16)
VALUES[:, 40:, 3] += 20000  # what only the fourth channel sees


@pytest.fixture
def image(tmp_path):
    def save(name="cells.tif"):
        path = tmp_path / "cells" / name
        path.parent.mkdir(exist_ok=True)
        tifffile.imwrite(path, VALUES, photometric="minisblack", planarconfig="contig")
        return path

    return save


def panel_of(window):
    window.commands["levels"].trigger()
    return window.findChild(LevelsPanel)


def shown(qtbot, window, display):
    qtbot.waitUntil(lambda: window.session.picture.display == display)


def test_the_chip_shows_depth_and_levels_and_opens_the_panel(make_window, image):
    window = make_window(image())
    low, high = np.percentile(VALUES[..., :3], (0.1, 99.9))
    assert window.status.chip.text() == f"16-bit, {low:.5g}–{high:.5g}"
    window.status.chip.click()
    assert window.findChild(LevelsPanel).isVisible()
    assert not window.findChild(LevelsPanel).isModal()


def test_the_pointer_shows_measured_values(make_window, image):
    window = make_window(image())
    window.canvas.pointer_moved.emit(QPointF(7.5, 4.5))
    told = " | ".join(str(value) for value in VALUES[4, 7].tolist())
    assert window.status._pixel.text() == f"7, 4:  {told}"
    assert measured_text(window.session.picture, 7, 4) == told


def test_a_channel_is_shown_learnt_from_and_undone(
    qtbot, make_window, answered, image, quick_segmenter
):
    seen = []

    class Watching(quick_segmenter):
        def __init__(self, rgb, channels=None):
            seen.append(rgb.copy())
            super().__init__(rgb)

    path = image()
    window = answered(make_window(path, Watching))
    before, session = window.session.answers.answer.labelling.labels.copy(), window.session
    window.canvas.viewport.zoom(2)
    zoom = window.canvas.viewport.view.scale
    panel = panel_of(window)
    panel.one.setCurrentIndex(panel.one.findText("channel 4"))
    panel.one.activated.emit(panel.one.currentIndex())
    wanted = DisplaySettings((3,))
    shown(qtbot, window, wanted)
    qtbot.waitUntil(lambda: session.answers.is_current)
    assert (seen[-1] == load_image(path, wanted).rgb).all()
    labels = session.answers.answer.labelling.labels
    assert (labels[:, :40] == 0).mean() > 0.95
    assert (labels[:, 40:] == 1).mean() > 0.95
    assert window.canvas.viewport.view.scale == zoom
    assert "channel" in session.picture.note
    session.undo()
    shown(qtbot, window, DEFAULT_DISPLAY)
    qtbot.waitUntil(lambda: session.answers.is_current)
    assert (session.answers.answer.labelling.labels == before).all()


def test_a_stroke_during_the_change_is_learnt_from_the_new_pixels(
    qtbot, make_window, two_strokes, image, quick_segmenter
):
    window = make_window(image(), quick_segmenter)
    session = window.session
    session.add_stroke(two_strokes[0])
    session.edit("levels", session.document.__class__(display=DisplaySettings((3,))))
    for each in two_strokes:  # before the picture has arrived
        session.add_stroke(each)
    session.answers.update_now()
    assert not session.answers.is_current
    qtbot.waitUntil(lambda: session.answers.is_current)
    assert session.picture.display == DisplaySettings((3,))
    assert (session.answers.answer.labelling.labels[:, 40:] == 1).mean() > 0.95


def test_handles_set_levels_and_reset_takes_them_back(qtbot, make_window, image):
    window = make_window(image())
    panel = panel_of(window)
    histogram = panel.histogram
    y = histogram.height() - 5
    start = QPoint(round(histogram.position_of(Handle.WHITE)), y)
    qtbot.mousePress(histogram, Qt.MouseButton.LeftButton, pos=start)
    qtbot.mouseMove(histogram, QPoint(histogram.width() // 2, y))
    qtbot.mouseRelease(histogram, Qt.MouseButton.LeftButton, pos=QPoint(10, y))
    qtbot.waitUntil(lambda: window.session.picture.display != DEFAULT_DISPLAY)
    levels = window.session.picture.levels
    assert len(set(levels)) == 1  # all shown channels
    assert levels[0].white < 999
    assert depth_text(window.session.picture).endswith(f"–{levels[0].white:.5g}")
    panel.reset.click()
    shown(qtbot, window, DEFAULT_DISPLAY)


def test_a_drag_is_seen_before_it_ends_and_teaches_nothing(qtbot, make_window, image):
    window = make_window(image())
    panel, session = panel_of(window), window.session
    histogram, picture = panel.histogram, session.picture
    before = window.canvas._image
    y = histogram.height() - 5
    start = QPoint(round(histogram.position_of(Handle.WHITE)), y)
    qtbot.mousePress(histogram, Qt.MouseButton.LeftButton, pos=start)
    for x in range(start.x(), start.x() // 2, -3):
        qtbot.mouseMove(histogram, QPoint(x, y))
    wanted = Levels(panel.black.value(), panel.white.value())
    last = np.stack([wanted.apply(VALUES[..., channel]) for channel in range(3)], axis=2)

    def seen():
        pixels = window.canvas._image._shared.pixels
        return np.abs(pixels.astype(int) - last).max() <= 1

    qtbot.waitUntil(seen)
    assert window.canvas._image is not before
    assert session.picture is picture
    assert not session.state.unsaved
    qtbot.mouseRelease(histogram, Qt.MouseButton.LeftButton, pos=start)
    qtbot.waitUntil(lambda: session.picture is not picture)


def test_numbers_full_range_and_colours(qtbot, make_window, image):
    window = make_window(image())
    panel = panel_of(window)
    panel.one.setCurrentIndex(panel.one.findText("channel 2"))
    panel.one.activated.emit(panel.one.currentIndex())
    shown(qtbot, window, DisplaySettings((1,)))
    panel.full.click()
    part = VALUES[..., 1]
    full = DisplaySettings((1,), (None, Levels(part.min(), part.max())))
    shown(qtbot, window, full)
    panel.gamma.setValue(2.0)
    bent = full.with_levels(1, Levels(part.min(), part.max(), 2.0))
    shown(qtbot, window, bent)
    panel.colour_map.setCurrentIndex(panel.colour_map.findText("fire"))
    panel.colour_map.activated.emit(panel.colour_map.currentIndex())
    shown(qtbot, window, DisplaySettings(bent.channels, bent.levels, ColourMap.FIRE))
    panel.auto.click()
    low, high = np.percentile(part, (0.1, 99.9))
    qtbot.waitUntil(lambda: window.session.picture.levels == (Levels(low, high),))


def test_red_green_and_blue_are_chosen_one_by_one(qtbot, make_window, image):
    window = make_window(image())
    panel = panel_of(window)
    panel.one.setCurrentIndex(panel.one.findText("channels as colours"))
    panel.one.activated.emit(panel.one.currentIndex())
    shown(qtbot, window, DisplaySettings((0, 1, 2)))
    red = panel.three[0]
    red.setCurrentIndex(red.findText("channel 4"))
    red.activated.emit(red.currentIndex())
    shown(qtbot, window, DisplaySettings((3, 1, 2)))
    for box in panel.three:
        box.setCurrentIndex(0)
        box.activated.emit(0)
    shown(qtbot, window, DisplaySettings((None, None, 2)))  # something is always shown


def test_a_folder_remembers_and_a_project_holds_it(qtbot, make_window, answered, image):
    first = image("a.tif")
    image("b.tif")
    window = make_window(first.parent)
    panel = panel_of(window)
    panel.one.setCurrentIndex(panel.one.findText("channel 4"))
    panel.one.activated.emit(panel.one.currentIndex())
    wanted = DisplaySettings((3,))
    shown(qtbot, window, wanted)
    assert read_display(first.parent) == wanted
    with qtbot.waitSignal(window.files.opened):
        window.files.open_neighbour(1)
    assert window.session.picture.display == wanted
    assert not window.session.state.unsaved
    answered(window)
    project = first.with_name("kept.segapp")
    assert save_now(window, project)
    assert load_project(project).document.display == wanted
    window.close()
    again = make_window(project)
    assert again.session.picture.display == wanted
    qtbot.waitUntil(lambda: again.session.answers.is_current)


def test_damaged_display_settings_are_reported_and_left_alone(qtbot, make_window, image):
    path = image()
    (path.parent / DISPLAY_FILE).write_text("{")
    window = make_window()
    told = []
    window.files.failed.disconnect()
    window.files.failed.connect(lambda sentence, _: told.append(sentence))
    with qtbot.waitSignal(window.files.opened):
        window.files.open(path.parent)
    assert told
    assert DISPLAY_FILE in told[0]
    window.files.folder.share_display(DisplaySettings((3,)))
    assert (path.parent / DISPLAY_FILE).read_text() == "{"


def test_pages_are_pictures_of_the_list(qtbot, make_window, tmp_path):
    folder = tmp_path / "stacks"
    folder.mkdir()
    pages = RNG.integers(0, 5000, (11, 20, 30), dtype=np.uint16)
    tifffile.imwrite(folder / "stack.tif", pages, photometric="minisblack")
    window = make_window(folder)
    names = ["stack.tif", *(f"stack[{number}].tif" for number in range(2, 12))]
    assert [path.name for path in window.files.workspace.images] == names
    with qtbot.waitSignal(window.files.opened):
        window.files.open_neighbour(1)
    assert (window.session.picture.raw_image.values[..., 0] == pages[1]).all()


def test_counts_are_those_of_all_values():
    part = VALUES[..., 0]
    span = span_of(part, Levels(200, 300))
    assert span == (part.min(), part.max())
    assert (counts_of(part, span) == np.histogram(part, 256, span)[0]).all()


def test_a_channel_without_numbers_has_an_empty_histogram():
    part = np.full((4, 4), np.nan)
    assert counts_of(part, span_of(part, Levels(np.inf, np.inf))).sum() == 0


def test_all_channels_can_be_learnt_from_where_there_are_more(
    qtbot, make_window, image, quick_segmenter, picture_file
):
    given = []

    class Watching(quick_segmenter):
        def __init__(self, rgb, channels=None):
            given.append(channels)
            super().__init__(rgb)

        def updates(self, document, settings):
            self.groups = settings.features
            return super().updates(document, settings)

    window = make_window(image(), Watching)
    box = window.settings_panel.findChild(QCheckBox, "features_channels")
    assert box.isEnabled()
    assert not box.isChecked()
    box.click()
    assert FeatureGroup.CHANNELS in window.session.settings.features
    for name in ("alike", "best"):  # any way may be gone with all channels
        window.settings_panel.findChild(QToolButton, f"way_{name}").click()
        assert window.session.settings == with_channels(PRESETS[name], wanted=True)
    window.session.set_settings(PRESETS["best"])
    window.session.set_settings(with_channels(PRESETS["best"], wanted=True))
    window.session.edit(
        "two strokes",
        window.session.document.with_stroke(Stroke(((10, 10),), 3, 0)).with_stroke(
            Stroke(((60, 30),), 3, 1)
        ),
    )
    qtbot.waitUntil(lambda: window.session.answers.is_current)
    np.testing.assert_array_equal(given[-1], VALUES)
    window.files.open(picture_file())
    qtbot.waitUntil(lambda: window.session.picture.path.suffix == ".png")
    window.session.set_settings(PRESETS["best"])
    assert not box.isEnabled()  # three channels of eight bits are all seen


def test_thumbnails_look_as_the_folder_is_shown(qtbot, make_window, image):
    first, others = image("a.tif"), [image(f"{name}.tif") for name in "bc"]
    window = make_window(first.parent)
    thumbnails = window.file_list.thumbnails

    def sides(path):
        """Return the mean grey of the left and of the right half."""
        drawn = thumbnails.of(path)
        if drawn is None:
            return 0, 0
        small = drawn.toImage().scaled(2, 1, mode=Qt.TransformationMode.SmoothTransformation)
        return small.pixelColor(0, 0).lightness(), small.pixelColor(1, 0).lightness()

    for path in (first, *others):  # three channels without anything in them
        qtbot.waitUntil(lambda path=path: sides(path) != (0, 0))
        left, right = sides(path)
        assert abs(left - right) < 40
    panel = panel_of(window)
    panel.one.setCurrentIndex(panel.one.findText("channel 4"))
    panel.one.activated.emit(panel.one.currentIndex())
    shown(qtbot, window, DisplaySettings((3,)))
    for path in (first, *others):
        qtbot.waitUntil(lambda path=path: sides(path)[1] - sides(path)[0] > 150)
