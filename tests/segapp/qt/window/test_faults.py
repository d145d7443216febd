"""Faults of the window that were found once; `walkthroughs/FAULTS.md` lists them all."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from segapp.app.recovery import RecoveryFolder
from segapp.engine.trainer import Trainer
from segapp.imaging.overlay import ViewMode
from segapp.io.desktop import SAMPLES
from segapp.qt.files import file_dialogs
from segapp.qt.files.file_dialogs import Decision
from segapp.qt.window.startup import open_initial
from tests.segapp.qt.window.by_hand import paint, pixels

LEFT, RIGHT = Qt.MouseButton.LeftButton, Qt.MouseButton.RightButton
CONTROL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
ALT = Qt.KeyboardModifier.AltModifier


def press(window, key, modifiers=Qt.KeyboardModifier.NoModifier):
    window.activateWindow()
    window.canvas.setFocus()
    QTest.keyClick(window.canvas, key, modifiers)


def add_class(window):
    press(window, Qt.Key.Key_N, CONTROL | SHIFT)
    QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Return)
    QTest.qWait(1)  # the field goes when its turn comes


def zoom(canvas, notches):
    middle = QPointF(canvas.rect().center())
    event = QWheelEvent(
        middle,
        canvas.mapToGlobal(middle),
        QPoint(),
        QPoint(0, 120 * notches),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(canvas, event)


def line_width(window, size):
    """Return how many pixels of the screen the line between the halves is wide."""
    middle = QPointF(size[1] / 2, size[0] / 2)
    place = window.canvas.viewport.view.to_widget(middle).toPoint()
    row = pixels(window.canvas.grab().toImage())[place.y(), place.x() - 40 : place.x() + 40, :3]
    halves = np.array([[200, 40, 40], [40, 40, 200]])
    return int((np.abs(row.astype(int)[:, None] - halves).max(axis=2).min(axis=1) > 20).sum())


def test_3_outlines_are_as_wide_on_the_screen_whatever_the_picture_and_the_zoom(
    make_window, picture_file, qtbot
):
    widths = []
    for name, size in (("small.png", (60, 80)), ("large.png", (1500, 2000))):
        window = make_window(picture_file(name, size))
        height, width = size
        paint(qtbot, window, LEFT, (width * 0.1, height * 0.8), (width * 0.2, height * 0.8))
        paint(qtbot, window, RIGHT, (width * 0.8, height * 0.8), (width * 0.9, height * 0.8))
        qtbot.waitUntil(lambda window=window: window.session.answers.is_current, timeout=20_000)
        window.commands["mark_spot"].setChecked(False)
        press(window, Qt.Key.Key_2, CONTROL)  # the outline
        qtbot.waitUntil(lambda window=window: not window.labelling_view.busy, timeout=20_000)
        assert window.labelling_view.mode is ViewMode.OUTLINE
        widths.append(line_width(window, size))
        zoom(window.canvas, 4)
        for place in (QPoint(9, 9), QPoint(3, 3)):  # the brush's ring goes out of the way
            qtbot.mouseMove(window.canvas, place)
        widths.append(line_width(window, size))
    assert min(widths) >= 2
    assert max(widths) <= 7


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_4_the_pointer_rests_on_a_tool_and_its_tip_can_be_read(
    make_window, picture_file, qtbot, theme
):
    window = make_window(picture_file())
    window.commands[f"theme_{theme}"].trigger()
    button = window.bars[1].widgetForAction(window.commands["eraser"])
    qtbot.mouseMove(window.canvas, QPoint(200, 200))
    qtbot.mouseMove(button, button.rect().center())

    def tips():
        tops = QApplication.topLevelWidgets()
        return [tip for tip in tops if tip.inherits("QTipLabel") and tip.isVisible()]

    qtbot.waitUntil(lambda: bool(tips()))
    grey = pixels(tips()[0].grab().toImage())[..., :3].mean(axis=2)
    assert np.abs(grey - np.median(grey)).max() > 150
    assert tips()[0].text().startswith("Eraser (E)")
    tips()[0].hide()
    window.commands["theme_light"].trigger()


def test_8_samples_are_saved_and_exported_among_the_users_files(
    make_window, documents, monkeypatch, qtbot
):
    proposed = []
    monkeypatch.setattr(file_dialogs, "ask_project", lambda _, path, *__: proposed.append(path))
    window = make_window(sorted(SAMPLES.glob("*.jpg"))[0])
    paint(qtbot, window, LEFT, (50, 50), (80, 80))
    press(window, Qt.Key.Key_S, CONTROL)
    assert [path.parent for path in proposed] == [documents]
    press(window, Qt.Key.Key_E, CONTROL)
    dialog = QApplication.activeModalWidget()
    assert dialog._path.text().startswith(str(documents))
    QTest.keyClick(dialog, Qt.Key.Key_Escape)


@pytest.mark.qt_log_ignore("grabbing the keyboard")
def test_10a_a_letter_does_at_once_what_it_stands_for(make_window, picture_file, qtbot):
    window = make_window(picture_file())
    zoom(window.canvas, 5)
    near = window.canvas.viewport.view.scale
    QTest.keyClick(window, Qt.Key.Key_V, ALT)
    QTest.keyClick(QApplication.activePopupWidget(), Qt.Key.Key_T)
    assert QApplication.activePopupWidget() is None  # of two entries it would wait for one
    assert window.canvas.viewport.view.scale < near


def test_10c_what_is_restored_is_seen_within_its_folder(
    make_window, picture_file, monkeypatch, tmp_path, qtbot
):
    images = [picture_file(f"folder/{name}.png") for name in "abc"]
    window = make_window(images[0].parent)
    with qtbot.waitSignal(window.files.opened):
        window.files.open(images[1])
    paint(qtbot, window, LEFT, (10, 10), (20, 20))
    state = window.session.state
    window.close()

    orphan = RecoveryFolder(tmp_path / "recovery")
    orphan.copy(state)
    orphan._lock.release()  # as the system does when a program is killed
    monkeypatch.setattr(file_dialogs, "ask_restore", lambda _, copies: Decision(tuple(copies)))
    again = make_window()
    with qtbot.waitSignal(again.files.opened):
        open_initial(again, None)
    assert again.session.state.path == images[1]
    assert again.files.workspace.images == images
    assert again.docks.files.isVisible()


def test_10d_the_view_of_codes_does_not_come_back_at_the_next_start(
    make_window, picture_file, answered
):
    window = answered(make_window(picture_file()))
    press(window, Qt.Key.Key_6, CONTROL)
    assert window.labelling_view.mode is ViewMode.CODES
    window.close()
    assert make_window().labelling_view.mode is ViewMode.OVERLAY


def test_10f_classes_added_by_key_all_differ_in_colour(make_window, picture_file):
    window = make_window(picture_file())
    for _ in range(12):
        add_class(window)
    colours = [info.colour for info in window.session.document.classes]
    assert len(colours) == len(set(colours)) == 14


@pytest.mark.parametrize("digit", [Qt.Key.Key_3, Qt.Key.Key_4])
def test_10g_strokes_stay_out_of_mask_and_cut_out(
    make_window, picture_file, answered, qtbot, digit
):
    window = answered(make_window(picture_file()))
    press(window, digit, CONTROL)
    qtbot.waitUntil(lambda: not window.labelling_view.busy)
    qtbot.mouseMove(window.canvas, QPoint(3, 3))
    stroke = QColor(*window.session.document.classes[1].colour)
    place = window.canvas.viewport.view.to_widget(QPointF(65, 35)).toPoint()
    seen = window.canvas.grab().toImage().pixelColor(place)
    assert seen.saturation() < 10  # black, or the chequerboard
    assert seen != stroke


def test_10h_one_of_many_classes_is_marked_and_no_list_is_read_out(
    make_window, picture_file, qtbot
):
    window = make_window(picture_file(), Trainer)
    for _ in range(10):
        add_class(window)
    paint(qtbot, window, RIGHT, (10, 10), (20, 20))
    told = "Only background is marked so far: mark one other class as well."
    qtbot.waitUntil(lambda: window.status.state_text == told, timeout=20_000)
