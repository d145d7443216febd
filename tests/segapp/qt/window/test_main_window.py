import gc
import weakref

import numpy as np
import pytest
import shiboken6
from PySide6.QtCore import (
    QCoreApplication,
    QEvent,
    QLibraryInfo,
    QMimeData,
    QPoint,
    QPointF,
    Qt,
    QTimer,
    QUrl,
    QVersionNumber,
)
from PySide6.QtGui import (
    QColor,
    QDragEnterEvent,
    QDropEvent,
    QGuiApplication,
    QImage,
    QPalette,
)
from PySide6.QtWidgets import QApplication, QMenu, QTabBar, QWidget

from segapp.app.project_store import pasted_folder
from segapp.app.state import Stage
from segapp.imaging.overlay import ViewMode
from segapp.io.export.formats import ExportChoices
from segapp.io.export.rasters import make_matte
from segapp.qt.canvas.brush import Tool
from segapp.qt.files import file_dialogs
from segapp.qt.files.file_dialogs import Unsaved
from segapp.qt.files.preferences import Preferences, remember_choices
from segapp.qt.session.answer_service import AnswerService
from segapp.qt.session.encoder_service import EncoderService
from segapp.qt.session.session import Session
from segapp.qt.window import main_window
from segapp.qt.window.startup import build_window, open_initial
from segapp.qt.window.theme import ThemeChoice
from tests.segapp.qt.conftest import QuickSegmenter
from tests.segapp.qt.window.by_hand import paint, pixels

LEFT, RIGHT = Qt.MouseButton.LeftButton, Qt.MouseButton.RightButton


def menu_actions(menu):
    for action in menu.actions():
        if action.menu() is not None:
            yield from menu_actions(action.menu())
        elif not action.isSeparator():
            yield action


@pytest.fixture
def window(make_window, picture_file):
    return make_window(picture_file())


def test_two_strokes_give_an_answer_on_the_screen(window, qtbot):
    bare = pixels(window.canvas.grab().toImage())
    paint(qtbot, window, LEFT, (10, 10), (25, 40))
    paint(qtbot, window, RIGHT, (55, 10), (70, 40))
    qtbot.waitUntil(lambda: window.session.answers.is_current)
    labels = window.session.answers.shown.labels
    assert (labels[:, :40] == 0).all()
    assert (labels[:, 40:] == 1).all()
    place = window.canvas.viewport.view.to_widget(QPointF(35, 55)).toPoint()
    qtbot.waitUntil(
        lambda: (
            pixels(window.canvas.grab().toImage())[place.y(), place.x()].tolist()
            != bare[place.y(), place.x()].tolist()
        )
    )


def test_a_stroke_refreshes_the_window_at_most_four_times(window, answered, qtbot, monkeypatch):
    answered(window)
    refreshed, enabled, refresh = [], [], window.refresh
    monkeypatch.setattr(window, "refresh", lambda: (refreshed.append(1), refresh()))
    enable = main_window.enable_commands
    monkeypatch.setattr(
        main_window, "enable_commands", lambda *parts: (enabled.append(1), enable(*parts))
    )
    with qtbot.waitSignal(window.session.answers.live_preview_ended):
        place = window.canvas.viewport.view.to_widget(QPointF(50, 20)).toPoint()
        qtbot.mousePress(window.canvas, LEFT, pos=place)
        for _ in range(20):
            place += QPoint(4, 2)
            qtbot.mouseMove(window.canvas, place)
            qtbot.wait(5)
    qtbot.mouseRelease(window.canvas, LEFT, pos=place)
    qtbot.waitUntil(lambda: window.session.answers.is_current)
    qtbot.waitUntil(lambda: not window.labelling_view.busy)
    assert 1 <= len(refreshed) <= len(enabled) <= 4
    assert window.commands["undo"].text() == "&Undo stroke of foreground"
    assert not window.commands["stop"].isEnabled()


@pytest.mark.parametrize(("command", "parts"), [("stop", "stop stop"), ("update", "read update")])
def test_stop_and_update_are_for_the_encoder_and_the_learner(
    command, parts, make_window, picture_file, monkeypatch
):
    called = []
    for kind in (EncoderService, AnswerService):
        monkeypatch.setattr(kind, "stop", lambda _: called.append("stop"))
    monkeypatch.setattr(EncoderService, "update", lambda _: called.append("read"))
    monkeypatch.setattr(AnswerService, "update_now", lambda _: called.append("update"))
    window = make_window(picture_file())
    called.clear()
    window.commands[command].setEnabled(True)
    window.commands[command].trigger()
    assert called == parts.split()


def test_undo_and_redo_are_named_in_the_menu_and_answer_to_their_keys(window, qtbot):
    paint(qtbot, window, LEFT, (10, 10), (25, 40))
    assert window.commands["undo"].text() == "&Undo stroke of foreground"
    qtbot.keyClick(window.canvas, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert tuple(window.session.document.strokes) == ()
    assert not window.commands["undo"].isEnabled()
    assert window.commands["redo"].text() == "&Redo stroke of foreground"
    shift = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    qtbot.keyClick(window.canvas, Qt.Key.Key_Z, shift)
    assert len(window.session.document.strokes) == 1


def test_every_command_is_in_a_menu_with_a_tip(window):
    found = set()
    for menu in window.menuBar().findChildren(QMenu):
        found |= set(menu_actions(menu))
    for name in window.commands:
        action = window.commands[name]
        assert action in found, name
        assert action.toolTip(), name
        assert action.statusTip(), name


def test_no_two_commands_share_a_shortcut(window):
    keys = [window.commands[name].shortcut().toString() for name in window.commands]
    keys = [key for key in keys if key]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize("mode", [mode for mode in ViewMode if mode is not ViewMode.COMPONENTS])
def test_every_view_mode_shows_something_else(window, answered, qtbot, mode):
    answered(window)
    window.commands["show_strokes"].setChecked(False)
    window.commands["mark_spot"].setChecked(False)
    shown = []
    window.labelling_view.rendered.connect(shown.append)
    number = list(ViewMode).index(mode)
    qtbot.keyClick(
        window.canvas, Qt.Key(Qt.Key.Key_1 + number), Qt.KeyboardModifier.ControlModifier
    )
    assert window.labelling_view.mode is mode
    assert window.commands[f"view_{mode.value}"].isChecked()
    if mode is not ViewMode.OVERLAY:
        qtbot.waitUntil(lambda: bool(shown) and shown[-1].mode is mode)
    qtbot.waitUntil(lambda: window.canvas._overlay is not None and not window.labelling_view.busy)
    inside = window.canvas.viewport.view.to_widget(QPointF(30, 55)).toPoint()
    outside = window.canvas.viewport.view.to_widget(QPointF(50, 55)).toPoint()
    image = window.canvas.grab().toImage()
    inner, outer = image.pixelColor(inside), image.pixelColor(outside)
    if mode is ViewMode.MASK:
        assert (inner.name(), outer.name()) == ("#ffffff", "#000000")
    elif mode is ViewMode.CUTOUT:
        assert inner.red() == 200
        assert outer.red() == outer.blue()  # grey or white of the chequerboard
    elif mode is ViewMode.OUTLINE:
        assert inner.red() == 200
    elif mode is ViewMode.OVERLAY:
        assert inner.green() > 60
        assert outer.blue() == 200
    elif mode is ViewMode.CODES:
        assert inner != outer
        assert inner.red() != 200


def test_the_opacity_slider_fades_the_answer(window, answered, qtbot):
    answered(window)
    qtbot.waitUntil(lambda: window.canvas._overlay is not None)
    place = window.canvas.viewport.view.to_widget(QPointF(35, 55)).toPoint()
    window.class_panel.paint_box.answer.setValue(0)
    assert window.canvas.grab().toImage().pixelColor(place).name() == "#c82828"
    window.class_panel.paint_box.answer.setValue(100)
    assert window.canvas.grab().toImage().pixelColor(place).name() == "#e69f00"


def test_brackets_change_the_brush(window, qtbot):
    before = window.brush.brush.radius
    qtbot.keyClick(window.canvas, Qt.Key.Key_BracketRight)
    larger = window.brush.brush.radius
    qtbot.keyClick(window.canvas, Qt.Key.Key_BracketLeft)
    qtbot.keyClick(window.canvas, Qt.Key.Key_BracketLeft)
    assert window.brush.brush.radius < before < larger
    assert window.canvas.brush.radius == window.brush.brush.radius


def test_tools_are_taken_by_key(window, qtbot):
    qtbot.keyClick(window.canvas, Qt.Key.Key_E)
    assert window.canvas.brush.tool is Tool.ERASER
    paint(qtbot, window, LEFT, (10, 10))
    assert window.session.document.strokes[-1].label is None
    qtbot.keyClick(window.canvas, Qt.Key.Key_B)
    assert window.canvas.brush.tool is Tool.BRUSH
    assert window.commands["brush"].isChecked()


def test_the_status_says_why_there_is_no_answer(window, qtbot):
    paint(qtbot, window, LEFT, (10, 10))
    qtbot.waitUntil(lambda: "background" in window.status.state_text)
    assert not window.commands["copy_mask"].isEnabled()


def test_progress_shows_step_time_and_bar_and_stop_stops(
    make_window, picture_file, gated, two_strokes, qtbot
):
    window = make_window(picture_file(), gated)
    for stroke in two_strokes:
        window.session.add_stroke(stroke)
    qtbot.waitUntil(lambda: window.status.state_text == "waiting")
    assert window.status.fraction == pytest.approx(0.1)
    first = window.status.elapsed_text
    qtbot.waitUntil(lambda: window.status.elapsed_text != first)
    assert window.status.elapsed_text.endswith(" s")
    qtbot.waitUntil(lambda: window.status._bar.isVisible())
    assert window.commands["stop"].isEnabled()
    window.commands["stop"].trigger()
    assert window.session.answers.progress.stage is Stage.WAITING
    assert not window.commands["stop"].isEnabled()


def test_intermediate_answers_are_painted_as_they_come(
    make_window, picture_file, gated, two_strokes, qtbot
):
    window = make_window(picture_file(), gated)
    for stroke in two_strokes:
        window.session.add_stroke(stroke)
    gated.gate.release(2)
    qtbot.waitUntil(lambda: window.canvas._overlay is not None)
    halfway = window.canvas._overlay
    assert not window.session.answers.is_current
    gated.gate.release(1)
    qtbot.waitUntil(lambda: window.session.answers.is_current)
    qtbot.waitUntil(lambda: window.canvas._overlay is not halfway)


def test_an_unexpected_error_is_reported_and_strokes_are_kept(
    window, two_strokes, qtbot, tmp_path, capsys
):
    window.session.add_stroke(two_strokes[0])
    window.report(ZeroDivisionError, ZeroDivisionError("a surprise"), None)
    box = QApplication.activeModalWidget()
    assert "a surprise" in box.text()
    box.accept()
    qtbot.waitUntil(lambda: len(list((tmp_path / "recovery").glob("*/*.segapp"))) == 1)
    assert "a surprise" in capsys.readouterr().err


def test_live_update_is_switched_and_update_now_answers_to_f5(window, two_strokes, qtbot):
    window.commands["live"].setChecked(False)
    for stroke in two_strokes:
        window.session.add_stroke(stroke)
    assert "Update Now" in window.status.state_text
    qtbot.keyClick(window.canvas, Qt.Key.Key_F5)
    qtbot.waitUntil(lambda: window.session.answers.is_current)


def test_the_least_certain_region_is_marked_and_brought_into_view(window, answered, qtbot):
    answered(window)
    qtbot.waitUntil(lambda: window.canvas._overlay is not None)
    spot = (5.0, 6.0, 4.0)
    window.answer_commands._spot = None
    window.commands["spot"].trigger()
    assert "certain everywhere" in window.status.currentMessage()
    from segapp.engine.suggestion import Spot

    window.answer_commands._spot = Spot(*spot)
    window.canvas.viewport.zoom(8.0)
    qtbot.keyClick(window.canvas, Qt.Key.Key_N)
    place = window.canvas.viewport.view.to_widget(QPointF(5, 6))
    assert window.canvas.rect().contains(place.toPoint())
    ring = window.canvas.viewport.view.to_widget(QPointF(5 + 4, 6)).toPoint()
    with_ring = window.canvas.grab().toImage().pixelColor(ring)
    window.commands["mark_spot"].setChecked(False)
    assert window.canvas.grab().toImage().pixelColor(ring) != with_ring


def test_mask_and_cut_out_go_to_the_clipboard(window, answered, qtbot):
    answered(window)
    window.commands["copy_mask"].trigger()
    mask = pixels(QGuiApplication.clipboard().image())
    labels = window.session.answers.shown.labels
    np.testing.assert_array_equal(mask[..., 0], np.where(labels == 0, 255, 0))
    inside, picture = labels == 0, window.session.picture

    def copied():
        QGuiApplication.clipboard().clear()
        window.commands["copy_cutout"].trigger()
        qtbot.waitUntil(lambda: not QGuiApplication.clipboard().image().isNull())
        return pixels(QGuiApplication.clipboard().image())

    remember_choices(window.preferences, ExportChoices(edge=0.0))
    cutout = copied()
    np.testing.assert_array_equal(cutout[..., 3], np.where(inside, 255, 0))
    np.testing.assert_array_equal(cutout[inside][:, :3], picture.rgb[inside])
    remember_choices(window.preferences, ExportChoices(edge=6.0))
    np.testing.assert_array_equal(copied()[..., 3], make_matte(inside, picture, 6.0).alpha)


def drop(window, *paths):
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    drop_data(window, data)


def drop_data(window, data):
    copy = Qt.DropAction.CopyAction
    # Qt 6.12 wants a point of fractions here, and earlier releases one of whole pixels.
    spot = QPointF(50, 50) if QLibraryInfo.version() >= QVersionNumber(6, 12) else QPoint(50, 50)
    enter = QDragEnterEvent(spot, copy, data, LEFT, Qt.KeyboardModifier.NoModifier)
    QApplication.sendEvent(window, enter)
    assert enter.isAccepted()
    event = QDropEvent(QPointF(50, 50), copy, data, LEFT, Qt.KeyboardModifier.NoModifier)
    QApplication.sendEvent(window, event)


def test_files_and_folders_are_dropped_on_the_window(window, picture_file, qtbot):
    other = picture_file("more/éá 中.png")
    with qtbot.waitSignal(window.files.opened):
        drop(window, other)
    assert window.session.state.path == other
    picture_file("more/b.png")
    with qtbot.waitSignal(window.files.opened):
        drop(window, other.parent)
    assert [path.name for path in window.files.workspace.images] == ["b.png", "éá 中.png"]
    assert window.docks.files.isVisible()


def test_a_picture_without_a_file_is_dropped_on_the_window(window, qtbot):
    image = QImage(30, 20, QImage.Format.Format_RGB32)
    image.fill(QColor(10, 200, 30))
    data = QMimeData()
    data.setUrls([QUrl("https://example.org/green.png")])
    data.setImageData(image)
    with qtbot.waitSignal(window.files.opened):
        drop_data(window, data)
    assert window.session.picture.rgb.shape == (20, 30, 3)
    assert tuple(window.session.picture.rgb[5, 5]) == (10, 200, 30)
    assert window.session.state.path.parent == pasted_folder()


def test_closing_asks_when_something_is_unsaved(window, qtbot, monkeypatch):
    asked = []

    def ask(_, states, overlaid):
        assert not overlaid
        asked.append(states)
        return Unsaved.CANCEL

    monkeypatch.setattr(file_dialogs, "ask_unsaved", ask)
    paint(qtbot, window, LEFT, (10, 10))
    assert window.isWindowModified()
    assert not window.close()
    assert window.isVisible()
    assert [state.path.name for state in asked[0]] == ["picture.png"]
    monkeypatch.setattr(file_dialogs, "ask_unsaved", lambda *_: Unsaved.DISCARD)
    assert window.close()


def test_closing_and_saving_writes_the_project(window, qtbot, monkeypatch, tmp_path):
    from segapp.io.project import load_project

    target = tmp_path / "kept.segapp"
    monkeypatch.setattr(file_dialogs, "ask_unsaved", lambda *_: Unsaved.SAVE)
    monkeypatch.setattr(file_dialogs, "ask_project", lambda *_: target)
    paint(qtbot, window, LEFT, (10, 10))
    document = window.session.document
    assert window.close()
    assert load_project(target).document == document


def test_a_cancelled_save_keeps_the_window_and_the_strokes(window, qtbot, monkeypatch):
    monkeypatch.setattr(file_dialogs, "ask_unsaved", lambda *_: Unsaved.SAVE)
    monkeypatch.setattr(file_dialogs, "ask_project", lambda *_: None)
    paint(qtbot, window, LEFT, (10, 10))
    assert not window.close()
    assert len(window.session.document.strokes) == 1


def test_closing_while_learning_waits_for_no_answer(
    make_window, picture_file, gated, two_strokes, qtbot
):
    window = make_window(picture_file(), gated)
    for stroke in two_strokes:
        window.session.add_stroke(stroke)
    qtbot.waitUntil(lambda: window.status.state_text == "waiting")
    assert window.close()  # whose patience is less than a second
    assert window.threads_ended


def test_the_window_has_its_turns_while_learning(
    make_window, picture_file, quick_segmenter, two_strokes, turns_as_in_the_program, qtbot
):
    """Counted in rounds of the work, not in time: how long one takes is the machine's affair."""
    rounds, turns = 0, set()

    class Busy(quick_segmenter):
        """Keeps a core busy with Python and NumPy between its reports."""

        def updates(self, document, settings):
            nonlocal rounds
            for update in super().updates(document, settings):
                for _ in range(200):
                    np.linalg.svd(np.ones((60, 60)) + np.eye(60))
                    sum(index * index for index in range(2000))
                    rounds += 1
                yield update

    window = make_window(picture_file(), Busy)
    heart = QTimer()
    heart.timeout.connect(lambda: turns.add(rounds))
    heart.start(5)
    for stroke in two_strokes:
        window.session.add_stroke(stroke)
    qtbot.waitUntil(lambda: window.session.answers.is_current, timeout=60_000)
    heart.stop()
    assert rounds >= 600
    assert len(turns) > rounds / 30


def test_light_dark_and_system(window):
    def lightness():
        return QApplication.palette().color(QPalette.ColorRole.Window).lightness()

    window.commands["theme_dark"].trigger()
    assert lightness() < 80
    dark_icon = window.commands["open"].icon().pixmap(24, 24).toImage()
    window.commands["theme_light"].trigger()
    assert lightness() > 180
    assert window.commands["open"].icon().pixmap(24, 24).toImage() != dark_icon
    window.commands["theme_system"].trigger()
    assert window.theme.choice is ThemeChoice.SYSTEM


def test_the_windows_state_comes_back(make_window, picture_file):
    first = make_window(picture_file(), size=(780, 600))  # of the 800 x 800 there are
    first.commands["theme_dark"].trigger()
    first.commands["view_outline"].trigger()
    first.commands["live"].setChecked(False)
    first.docks.inside.hide()
    first.brush.set_radius(17.5)
    first.class_panel.paint_box.answer.setValue(33)
    first.close()
    second = make_window(size=None)
    assert second.size() == first.size()
    assert second.theme.choice is ThemeChoice.DARK
    assert second.labelling_view.mode is ViewMode.OUTLINE
    assert not second.session.answers.live
    assert second.docks.inside.isHidden()
    assert second.brush.brush.radius == 17.5
    assert second.class_panel.paint_box.answer.value() == 33
    second.commands["theme_light"].trigger()


def test_everything_that_takes_the_focus_has_a_name_for_screen_readers(window):
    unnamed = []
    for widget in window.findChildren(QWidget):
        takes_focus = widget.focusPolicy() != Qt.FocusPolicy.NoFocus
        # Qt names the parts of its own widgets and the tabs of a bar by itself.
        of_qt = widget.objectName().startswith("qt_") or isinstance(widget, QTabBar)
        if not takes_focus or of_qt or not widget.isVisible() or not widget.isEnabled():
            continue
        if not (widget.accessibleName() or getattr(widget, "text", str)() or widget.toolTip()):
            unnamed.append(f"{type(widget).__name__} in {type(widget.parent()).__name__}")
    assert unnamed == []


def test_the_shortcut_sheet_lists_every_key(window, qtbot):
    qtbot.keyClick(window.canvas, Qt.Key.Key_F1)
    sheet = QApplication.activeModalWidget()
    rows = [*sheet._fixed, *sheet._commands]
    text = " ".join(row.text(0) + row.text(1) for row in rows)
    for name in window.commands:
        keys = window.commands[name].shortcut().toString()
        assert keys in text
    sheet._search.setText("eraser")
    visible = [row for row in rows if not row.isHidden()]
    assert 0 < len(visible) < len(rows)
    sheet.reject()


def test_a_later_start_goes_on_with_the_last_file(make_window, picture_file, qtbot):
    path = picture_file()
    make_window(path).close()
    window = make_window()
    with qtbot.waitSignal(window.files.opened):
        open_initial(window, None)
    assert window.session.state.path == path
    assert not window.hint.isVisible()


def test_texts_are_ready_for_translation(window):
    from PySide6.QtCore import QTranslator

    class Shouting(QTranslator):
        def translate(self, context, source, disambiguation=None, n=-1):
            return source.upper()

        def isEmpty(self):
            return False

    translator = Shouting()
    QApplication.installTranslator(translator)
    try:
        from segapp.qt.actions import Actions

        shouted = Actions()
        for name in shouted:
            if name.startswith("language_"):  # each in its own language, for who cannot read this
                continue
            assert shouted[name].text() == shouted[name].text().upper()
    finally:
        QApplication.removeTranslator(translator)


def test_a_closed_window_is_freed(picture_file, qtbot, tmp_path):
    """Connections keep their callables, which keep the window, unless all parts end with it."""
    window = build_window(Session(QuickSegmenter), Preferences(), tmp_path / "recovery")
    window.show()
    with qtbot.waitSignal(window.files.opened):
        window.files.open(picture_file())
    held = [weakref.ref(window), weakref.ref(window.session)]
    window.close()
    window.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    assert not shiboken6.isValid(window)
    del window
    gc.collect()
    assert [reference() for reference in held] == [None, None]
