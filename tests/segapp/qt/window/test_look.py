"""Appearance of the window: sizes, themes, cards, views."""

import itertools
import threading
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, QRect, Qt, QTimer
from PySide6.QtGui import QColor, QGuiApplication, QImage, QWheelEvent
from PySide6.QtWidgets import QApplication, QLabel, QToolButton, QToolTip

from segapp.app.project_store import pasted_folder
from segapp.engine.suggestion import Spot
from segapp.imaging.overlay import ViewMode, bright_margin, confidence_colours
from segapp.io.desktop import SAMPLES
from segapp.model.answer import Preview
from segapp.model.classes import TWO_CLASSES
from segapp.model.document import Stroke
from segapp.qt.files.opening import save_pasted
from segapp.qt.i18n import number
from segapp.qt.panels.view_bar import ColourBar
from segapp.qt.widgets import Banner, Card
from segapp.qt.window.startup import default_geometry, open_initial
from tests.segapp.qt.conftest import save_now
from tests.segapp.qt.window.by_hand import paint, pixels

LEFT, RIGHT = Qt.MouseButton.LeftButton, Qt.MouseButton.RightButton


@pytest.fixture
def window(make_window, picture_file):
    return make_window(picture_file())


# Theme and size -------------------------------------------------------------------------------


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_tool_tip_can_be_read(window, qtbot, theme):
    window.commands[f"theme_{theme}"].trigger()
    button = next(b for b in window.findChildren(QToolButton) if b.isVisible() and b.toolTip())
    QToolTip.showText(button.mapToGlobal(QPoint(5, 5)), "some words to read", button)
    tips = [w for w in QApplication.topLevelWidgets() if w.inherits("QTipLabel")]
    qtbot.waitUntil(lambda: any(tip.isVisible() for tip in tips))
    grey = pixels(tips[-1].grab().toImage())[..., :3].mean(axis=2)
    ground = np.median(grey)
    assert np.abs(grey - ground).max() > 150
    QToolTip.hideText()
    window.commands["theme_light"].trigger()


@pytest.mark.parametrize(
    "screen", [(1024, 640), (1280, 800), (1366, 768), (1920, 1080), (3840, 2160)]
)
def test_a_first_window_fits_the_screen(screen):
    available = QRect(10, 30, screen[0], screen[1])
    place = default_geometry(available)
    assert available.contains(place)
    assert place.height() + 30 <= available.height()  # with its title bar
    assert place.width() >= min(screen[0] * 0.9, 1600)


def test_the_window_opens_within_the_screen_and_is_remembered_for_it(make_window, picture_file):
    window = make_window(picture_file(), size=None)
    available = window.screen().availableGeometry()
    assert available.contains(window.geometry())
    window.setGeometry(QRect(20, 30, 760, 640))
    window.close()
    assert make_window(size=None).size() == window.size()


# The empty window ---------------------------------------------------------------------------


def test_the_empty_window_invites(make_window, picture_file, qtbot):
    window = make_window()
    assert window.welcome.isVisible()
    assert "-1" not in " ".join(label.text() for label in window.status.findChildren(QLabel))
    qtbot.mouseMove(window.canvas, QPoint(5, 5))
    assert "-1" not in " ".join(label.text() for label in window.status.findChildren(QLabel))
    samples = [
        button
        for button in window.welcome.findChildren(QToolButton)
        if button.accessibleName().startswith("Sample")
    ]
    assert len(samples) == len(list(SAMPLES.glob("*.jpg")))
    with qtbot.waitSignal(window.files.opened):
        qtbot.mouseClick(samples[0], LEFT)
    assert not window.welcome.isVisible()


def test_nothing_can_be_done_to_classes_before_there_is_a_picture(
    make_window, picture_file, qtbot
):
    window = make_window()
    doings = ("add", "rename", "recolour", "background")
    names = [f"{doing}_class" for doing in doings] + ["class_down"]
    assert not any(window.commands[name].isEnabled() for name in names)
    assert not window.commands["class_up"].isEnabled()
    with qtbot.waitSignal(window.files.opened):
        window.files.open(picture_file())
    assert all(window.commands[name].isEnabled() for name in names)
    assert not window.commands["class_up"].isEnabled()


def test_recent_files_are_offered(make_window, picture_file, qtbot):
    path = picture_file()
    make_window(path).close()
    window = make_window()
    recent = [b for b in window.welcome.findChildren(QToolButton) if b.text() == path.name]
    with qtbot.waitSignal(window.files.opened):
        qtbot.mouseClick(recent[0], LEFT)
    assert window.session.state.path == path


def test_a_picture_is_pasted_and_saved_elsewhere(make_window, qtbot, tmp_path):
    window = make_window()
    image = QImage(30, 20, QImage.Format.Format_RGB32)
    image.fill(QColor(200, 10, 10))
    QGuiApplication.clipboard().setImage(image)
    with qtbot.waitSignal(window.files.opened):
        window.commands["paste"].trigger()
    state = window.session.state
    assert state.path.parent == pasted_folder()
    assert window.session.picture.rgb.shape == (20, 30, 3)
    assert not window.store.proposed(state).path.is_relative_to(pasted_folder())
    QGuiApplication.clipboard().clear()
    window.commands["paste"].trigger()
    assert "no image" in window.status.currentMessage()


def test_a_pasted_picture_is_packed_beside_the_window(make_window, qtbot, monkeypatch):
    packed = []

    def note(image, path):
        packed.append(threading.current_thread())
        save_pasted(image, path)

    monkeypatch.setattr("segapp.qt.files.opening.save_pasted", note)
    window = make_window()
    QGuiApplication.clipboard().setImage(QImage(40, 30, QImage.Format.Format_RGB32))
    with qtbot.waitSignal(window.files.opened):
        window.commands["paste"].trigger()
    QGuiApplication.clipboard().clear()
    assert len(packed) == 1
    assert packed[0] is not threading.main_thread()


def test_a_pasted_picture_that_cannot_be_kept_gives_a_sentence(
    make_window, qtbot, monkeypatch, tmp_path
):
    window = make_window()
    (tmp_path / "file").touch()
    monkeypatch.setattr("segapp.qt.files.opening.pasted_folder", lambda: tmp_path / "file" / "no")
    told = []
    window.files.failed.connect(lambda sentence, _: told.append(sentence))
    QGuiApplication.clipboard().setImage(QImage(3, 2, QImage.Format.Format_RGB32))
    window.commands["paste"].trigger()
    qtbot.waitUntil(lambda: bool(told))
    QGuiApplication.clipboard().clear()
    QApplication.activeModalWidget().close()
    assert window.session.state is None


def test_samples_are_saved_among_the_users_files(make_window, qtbot, tmp_path, documents):
    sample = sorted(SAMPLES.glob("*.jpg"))[0]
    window = make_window(sample)
    proposed = window.store.proposed(window.session.state).path
    assert proposed.parent == documents
    window.commands["export"].trigger()
    dialog = QApplication.activeModalWidget()
    assert dialog._path.text().startswith(str(documents))
    dialog.reject()
    other = tmp_path / "other"
    other.mkdir()
    assert save_now(window, other / "a.segapp")
    window.preferences.set("save/folder", str(other))
    window.close()
    again = make_window(sample)
    assert again.store.proposed(again.session.state).path.parent == other


def test_dialogs_about_a_sample_begin_among_the_users_files(
    make_window, picture_file, documents, monkeypatch
):
    from segapp.qt.files import file_dialogs

    begun = []
    for name in ("ask_open", "ask_folder", "ask_image", "ask_mask", "ask_model"):
        monkeypatch.setattr(
            file_dialogs,
            name,
            lambda *words, **_: begun.append(next(w for w in words if isinstance(w, Path))),
        )
    window = make_window(sorted(SAMPLES.glob("*.jpg"))[0])
    asking = ("open", "open_folder", "import_strokes", "import_mask", "apply_model")
    for command in asking:
        window.commands[command].trigger()
    assert begun == [documents] * len(asking)
    own = picture_file("pictures/own.png")
    window.preferences.add_recent(own)
    window.commands["open"].trigger()
    assert begun[-1] == own.parent


# Cards ------------------------------------------------------------------------------------------


def test_the_hint_speaks_to_the_state_until_the_first_answer(
    make_window, picture_file, monkeypatch, qtbot
):
    from segapp.qt.window import file_commands

    sample = picture_file("sample.png")
    monkeypatch.setattr(file_commands, "sample_images", lambda: [sample])
    window = make_window()
    with qtbot.waitSignal(window.files.opened):
        open_initial(window, None)
    assert window.session.state.path == sample
    assert window.hint.isVisible()
    assert "left" in window.hint.text
    paint(qtbot, window, LEFT, (10, 10), (20, 20))
    assert window.hint.isVisible()
    assert "Learning" in window.hint.text
    paint(qtbot, window, RIGHT, (60, 10), (70, 20))
    qtbot.waitUntil(lambda: window.session.answers.is_current)
    assert not window.hint.isVisible()
    window.commands["clear"].trigger()
    assert not window.hint.isVisible()


def test_codes_have_a_legend_and_the_pointer_reads_them(window, answered, qtbot):
    answered(window)
    legend = window.view_bar.codes
    assert not legend.isVisible()
    window.commands["view_codes"].trigger()
    qtbot.waitUntil(legend.isVisible)
    assert not window.canvas.isAncestorOf(legend), "it must not cover the image"
    place = window.canvas.viewport.view.to_widget(QPointF(60, 30)).toPoint()
    qtbot.mouseMove(window.canvas, place + QPoint(3, 3))
    qtbot.mouseMove(window.canvas, place)
    assert "10100" in legend.text()  # five, first bit first
    window.commands["view_overlay"].trigger()
    qtbot.waitUntil(lambda: not legend.isVisible())
    assert not window.view_bar.isVisible()


def test_confidence_has_a_colour_bar_with_the_margins_at_its_ends(window, answered, qtbot):
    answered(window)
    legend = window.view_bar.confidence
    window.commands["view_confidence"].trigger()
    qtbot.waitUntil(lambda: legend.isVisible() and bool(legend.text))
    bright = bright_margin(window.session.answers.shown)
    assert number(bright, 2) in legend.text
    bar = legend.findChild(ColourBar)
    seen = bar.grab().toImage()
    row, last = seen.height() // 2, seen.width() - 1
    for x, share in ((0, 0.0), (last // 2, 0.5), (last, 1.0)):
        colour = seen.pixelColor(x, row)
        drawn = np.array([colour.red(), colour.green(), colour.blue()])
        assert np.abs(drawn - confidence_colours(np.array([share]))[0]).max() <= 3


def test_no_card_covers_another(make_window, picture_file, answered, qtbot):
    window = make_window(picture_file(), size=(1024, 640))
    answered(window)
    window.preview_badge.show_for(is_preview=True)
    question = Banner(window.canvas, Qt.AlignmentFlag.AlignBottom)
    question.ask("Is this a long question that needs much room?" * 3, (("Yes", lambda: None),))
    window.resize(1030, 640)

    def cards():
        return [card for card in window.canvas.findChildren(Card) if card.isVisible()]

    assert {window.preview_badge, question} <= set(cards())
    for one, other in itertools.combinations(cards(), 2):
        assert not one.geometry().intersects(other.geometry()), (one.text, other.text)
    lower = window.preview_badge.geometry().bottom()
    question.hide()
    window.preview_badge.place()
    assert window.preview_badge.geometry().bottom() >= lower  # where it stood aside it comes back


def test_a_preview_of_codes_is_compared_with_its_own_codewords(window, answered, qtbot):
    answered(window)
    window.commands["view_codes"].trigger()
    qtbot.waitUntil(window.view_bar.codes.isVisible)
    rendered = []
    window.labelling_view.rendered.connect(rendered.append)
    answers = window.session.answers
    own = -answers.insight.codewords
    answers.preview = Preview(answers.answer.labelling, codewords=own)
    window.labelling_view.refresh()
    qtbot.waitUntil(lambda: bool(rendered))
    assert rendered[-1].is_preview
    assert rendered[-1].codewords is own


# Views -----------------------------------------------------------------------------------------


def shown(window, qtbot, mode):
    window.commands[f"view_{mode.value}"].trigger()
    qtbot.waitUntil(lambda: not window.labelling_view.busy)
    return window.canvas._scene()


def test_strokes_and_ring_stay_out_of_the_results(window, answered, qtbot):
    answered(window)
    qtbot.waitUntil(lambda: window.canvas._overlay is not None)
    for mode in ViewMode:
        window.canvas.set_spot(Spot(5.0, 5.0, 4.0))
        scene = shown(window, qtbot, mode)
        window.canvas.set_spot(Spot(6.0, 5.0, 4.0))
        scene = window.canvas._scene()
        assert (scene.strokes is None) == mode.is_bare, mode
        assert (scene.spot is None) == mode.is_bare, mode


def test_the_overlay_shows_on_a_picture_of_its_own_colour(make_window, tmp_path, qtbot):
    from PIL import Image

    rgb = np.empty((60, 80, 3), np.uint8)
    rgb[...] = (230, 159, 0)  # the first class's own
    rgb[:, 40:] = (230, 150, 10)
    path = tmp_path / "orange.png"
    Image.fromarray(rgb).save(path)
    window = make_window(path)
    for label, x in ((0, 10.0), (1, 60.0)):
        window.session.add_stroke(Stroke(((x, 30.0), (x + 10, 40.0)), 4.0, label))
    qtbot.waitUntil(lambda: window.session.answers.is_current)
    window.commands["mark_spot"].setChecked(False)
    qtbot.waitUntil(lambda: window.canvas._overlay is not None)
    qtbot.waitUntil(lambda: not window.labelling_view.busy)
    view = window.canvas.viewport.view
    row = view.to_widget(QPointF(40, 5)).toPoint()
    line = pixels(window.canvas.grab().toImage())[row.y(), row.x() - 6 : row.x() + 6, :3]
    assert line.max(axis=0).min() > 170  # white
    assert line.mean(axis=1).min() < 80  # beside black


def test_a_picture_of_a_classs_colour_gets_another_one(make_window, tmp_path, qtbot):
    from PIL import Image

    orange = TWO_CLASSES[0].colour
    path = tmp_path / "orange.png"
    Image.new("RGB", (80, 60), orange).save(path)
    window = make_window(path)
    first, second = window.session.document.classes
    assert first.colour != orange
    assert second == TWO_CLASSES[1]
    assert not window.session.state.unsaved
    paint(qtbot, window, LEFT, (10, 10), (30, 10))
    place = window.canvas.viewport.view.to_widget(QPointF(20, 10)).toPoint()
    window.class_panel.paint_box.strokes.setValue(100)
    assert window.canvas.grab().toImage().pixelColor(place) == QColor(*first.colour)
    window.commands["add_class"].trigger()
    assert window.session.document.classes[2].colour != orange


def test_strokes_have_an_opacity_of_their_own(window, qtbot):
    paint(qtbot, window, LEFT, (10, 10), (30, 10))
    qtbot.mouseMove(window.canvas, QPoint(2, 2))
    place = window.canvas.viewport.view.to_widget(QPointF(20, 10)).toPoint()
    window.class_panel.paint_box.strokes.setValue(0)
    assert window.canvas.grab().toImage().pixelColor(place).name() == "#c82828"
    window.class_panel.paint_box.strokes.setValue(100)
    colour = QColor(*window.session.document.classes[0].colour)
    assert window.canvas.grab().toImage().pixelColor(place) == colour


def test_a_hidden_answer_stays_hidden_whatever_has_the_keys(window, answered, qtbot):
    answered(window)
    window.activateWindow()
    window.canvas.setFocus()
    qtbot.waitUntil(lambda: not window.labelling_view.busy)
    place = window.canvas.viewport.view.to_widget(QPointF(30, 5)).toPoint()

    def seen():
        return window.canvas.grab().toImage().pixelColor(place).name()

    tinted = seen()
    qtbot.keyClick(window.canvas, Qt.Key.Key_H, Qt.KeyboardModifier.ShiftModifier)
    assert window.commands["hide_answer"].isChecked()
    bare = seen()
    assert bare != tinted
    window.class_panel.paint_box.answer.setFocus()
    assert seen() == bare
    window.canvas.setFocus()
    qtbot.keyClick(window.canvas, Qt.Key.Key_H)  # a look at what is hidden anyway
    assert seen() == bare
    window.commands["hide_answer"].trigger()
    assert seen() == tinted
    qtbot.keyPress(window.canvas, Qt.Key.Key_H)
    assert seen() == bare
    window.class_panel.paint_box.answer.setFocus()  # the release arrives elsewhere
    assert seen() == tinted


def test_views_are_chosen_by_name(window, answered, qtbot):
    answered(window)
    buttons = {b.text(): b for b in window.bars[0].findChildren(QToolButton) if b.isVisible()}
    qtbot.mouseClick(buttons["Mask"], LEFT)
    assert window.labelling_view.mode is ViewMode.MASK
    assert not buttons["Overlay"].isChecked()


def test_a_view_for_a_look_does_not_come_back_at_the_next_start(make_window, picture_file):
    window = make_window(picture_file())
    window.commands["view_codes"].trigger()
    window.close()
    again = make_window()
    assert again.labelling_view.mode is ViewMode.OVERLAY
    assert again.commands["view_overlay"].isChecked()


def test_the_ring_is_named_until_the_first_stroke_beside_it(window, answered, qtbot):
    answered(window)
    qtbot.waitUntil(lambda: window.canvas._overlay is not None)
    window.answer_commands._spot = Spot(20.0, 30.0, 6.0)
    window.answer_commands._show_spot()
    assert "add a stroke" in window.canvas._scene().spot_name
    paint(qtbot, window, LEFT, (20, 30))
    assert window.canvas._scene().spot_name == ""
    assert window.answer_commands.ring_known


def test_the_wheel_over_the_bit_leaves_it_alone(window, answered, qtbot):
    answered(window)
    window.docks.inside.raise_()
    box = window.model_panel.view.bit
    qtbot.waitUntil(lambda: box.isVisible() and box.count() > 1)
    middle = QPointF(box.rect().center())
    event = QWheelEvent(
        middle,
        box.mapToGlobal(middle),
        QPoint(),
        QPoint(0, -120),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(box, event)
    assert box.currentIndex() == 0


def test_the_window_can_be_as_small_as_a_laptop_screen_at_double_scale(make_window):
    window = make_window(size=None)
    least = window.minimumSizeHint()
    assert (least.width() <= 600, least.height() <= 400) == (True, True)
    assert window.status.minimumSizeHint().width() <= 500


@pytest.mark.qt_log_ignore("grabbing the keyboard")
def test_in_a_narrow_window_the_views_are_one_button(make_window, picture_file, answered, qtbot):
    window = answered(make_window(picture_file(), size=(760, 460)))

    def shown():
        names = {window.commands.name_of(f"view_{mode.value}") for mode in ViewMode}
        buttons = window.bars[0].findChildren(QToolButton)
        return [b for b in buttons if b.isVisible() and b.text() in names]

    qtbot.waitUntil(lambda: len(shown()) == 1)
    (button,) = shown()
    assert button.text() == "Overlay"
    assert button.geometry().right() <= window.width()
    opened = []
    button.menu().aboutToShow.connect(lambda: opened.append(button.menu()))
    QTimer.singleShot(0, button.menu().close)
    qtbot.mouseClick(button, LEFT)
    assert opened
    assert [a for a in button.menu().actions() if a.isVisible()]
    button.menu().actions()[2].trigger()
    assert window.labelling_view.mode is ViewMode.MASK
    assert button.text() == "Mask"
    window.resize(1200, 700)
    # What an encoder sees is in the menu alone: few have one.
    qtbot.waitUntil(lambda: len(shown()) == len(ViewMode) - 1)
