"""Small things that decide whether one can read and reach what is there."""

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, QRect, Qt
from PySide6.QtGui import QColor, QPalette
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QFileDialog,
    QHeaderView,
    QListWidget,
    QToolButton,
    QTreeWidget,
)

from segapp.engine.suggestion import Spot
from segapp.model.classes import PALETTE
from segapp.model.document import Document
from segapp.qt.canvas.brush import Brush, BrushUnit
from segapp.qt.canvas.canvas import Canvas
from segapp.qt.canvas.layers import Layer, add_alpha
from tests.segapp.qt.window.test_accessibility import contrast

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def window(make_window, picture_file):
    return make_window(picture_file())


@pytest.fixture
def theme(request, make_window, picture_file):
    """Return a window in the theme that the test is asked for; the next one is light again."""
    window = make_window(picture_file())
    window.commands[f"theme_{request.param}"].trigger()
    yield window
    window.commands["theme_light"].trigger()


in_both = pytest.mark.parametrize("theme", ["light", "dark"], indirect=True)


def best_contrast(image, ground):
    """Return the contrast of the pixel that stands out most."""
    colours = {
        image.pixelColor(x, y).rgb() for x in range(image.width()) for y in range(image.height())
    }
    return max(contrast(QColor(rgb), ground) for rgb in colours)


def beyond(bar):
    """Return the tools that have fallen off a tool bar."""
    return [a.text() for a in bar.actions() if not bar.widgetForAction(a).isVisible()]


@pytest.mark.parametrize("height", [560, 540])
def test_in_a_low_window_the_tools_stand_closer_and_the_last_is_reached(
    make_window, picture_file, two_strokes, qtbot, height
):
    window = make_window(picture_file(), size=(1024, 640))
    tools = window.bars[1]
    clear = tools.widgetForAction(window.commands["clear"])
    apart = clear.height()
    assert not beyond(tools)
    window.resize(1024, height)
    qtbot.waitUntil(lambda: clear.height() < apart)
    qtbot.waitUntil(lambda: not beyond(tools))
    window.session.add_stroke(two_strokes[0])
    qtbot.mouseClick(clear, LEFT)
    assert not window.session.document.strokes
    window.resize(1024, 640)
    qtbot.waitUntil(lambda: clear.height() == apart)


@pytest.mark.qt_log_ignore("grabbing the keyboard")
@in_both
def test_tools_without_room_are_behind_a_visible_button(theme, qtbot):
    window = theme
    window.resize(760, 460)
    (more,) = [
        b
        for b in window.bars[1].findChildren(QToolButton)
        if b.objectName().endswith("ext_button")
    ]
    qtbot.waitUntil(more.isVisible)
    ground = window.palette().color(QPalette.ColorRole.Window)
    assert best_contrast(more.grab().toImage(), ground) > 2.5
    assert "Clear" in " ".join(beyond(window.bars[1]))


@in_both
def test_the_status_of_the_chosen_picture_is_read_on_its_ground(theme, picture_file, qtbot):
    for name in ("a", "b"):
        picture_file(f"folder/{name}.png")
    window = theme
    with qtbot.waitSignal(window.files.opened):
        window.files.open(picture_file("folder/a.png").parent)
    view = window.file_list.view
    qtbot.waitUntil(lambda: view.selectionModel().hasSelection())
    row = view.visualRect(view.selectionModel().selectedIndexes()[0])
    word = row.adjusted(90, row.height() // 2, -8, -6)  # behind the dot, below the name
    seen = view.viewport().grab(word).toImage()
    ground = seen.pixelColor(seen.width() - 1, 0)
    assert best_contrast(seen, ground) > 4.5


@in_both
def test_the_file_dialogs_arrows_are_seen(theme, tmp_path, qtbot):
    dialog = QFileDialog(theme, "Open", str(tmp_path))
    dialog.setOption(QFileDialog.Option.DontUseNativeDialog)
    qtbot.addWidget(dialog)
    dialog.show()
    ground = theme.palette().color(QPalette.ColorRole.Window)
    for name in ("backButton", "forwardButton", "toParentButton"):
        drawn = dialog.findChild(QToolButton, name).icon().pixmap(16, 16).toImage()
        assert best_contrast(drawn, ground) > 2.9, name
    dialog.close()


@pytest.mark.parametrize("ground", ["black", "white", "#202878"])
@pytest.mark.parametrize("colour", PALETTE)
def test_the_ring_is_seen_on_every_picture(qtbot, ground, colour):
    canvas = Canvas()
    qtbot.addWidget(canvas)
    canvas.resize(400, 300)
    canvas.show()
    qtbot.waitExposed(canvas)
    rgb = np.empty((60, 80, 3), np.uint8)
    rgb[...] = QColor(ground).toTuple()[:3]
    canvas.set_picture(Layer(add_alpha(rgb)))
    canvas.set_document(Document())
    canvas.set_brush(Brush(10.0, BrushUnit.SCREEN, left_colour=colour))
    place = canvas.viewport.view.to_widget(QPointF(40, 30)).toPoint()
    qtbot.mouseMove(canvas, place / 2)
    qtbot.mouseMove(canvas, place)
    seen = canvas.grab(QRect(place.x() - 14, place.y() - 14, 29, 29)).toImage()
    assert seen.pixelColor(14, 14) == QColor(ground)
    assert best_contrast(seen, QColor(ground)) > 3


def test_keys_stand_apart_from_their_meaning(make_window, picture_file, qtbot):
    window = make_window(picture_file())
    window.activateWindow()
    window.canvas.setFocus()
    QTest.keyClick(window.canvas, Qt.Key.Key_F1)
    sheet = QApplication.activeModalWidget()
    rows = sheet.findChild(QTreeWidget)
    header = rows.header()
    assert header.sectionResizeMode(0) is QHeaderView.ResizeMode.ResizeToContents
    longest = max(
        rows.fontMetrics().horizontalAdvance(rows.topLevelItem(row).text(0))
        for row in range(rows.topLevelItemCount())
    )
    assert header.sectionSize(0) >= longest + 14
    sheet.reject()


def test_a_long_format_of_a_folders_export_is_read_whole(make_window, picture_file, qtbot):
    path = picture_file("folder/a.png")
    picture_file("folder/b.png")
    window = make_window(path.parent)
    window.commands["export_folder"].trigger()
    box = window.folder.export.form
    qtbot.waitUntil(box.isVisible)
    wanted = [box.fontMetrics().horizontalAdvance(box.itemText(row)) for row in range(box.count())]
    assert box.view().minimumWidth() > max(wanted)  # the list may be wider than the box
    box.setCurrentIndex(box.count() - 1)
    assert box.currentText() in box.toolTip()


def test_holding_h_shows_the_bare_image_whichever_panel_has_the_keys(window, answered, qtbot):
    answered(window)
    window.activateWindow()
    qtbot.waitUntil(lambda: not window.labelling_view.busy)
    place = window.canvas.viewport.view.to_widget(QPointF(30, 5)).toPoint()

    def seen():
        return window.canvas.grab().toImage().pixelColor(place).name()

    tinted, kinds = seen(), (QAbstractSpinBox, QComboBox, QListWidget, QToolButton)
    for kind in kinds:
        parts = window.findChildren(kind)
        part = next(each for each in parts if each.isVisible() and each.isEnabled())
        part.setFocus()
        qtbot.keyPress(part, Qt.Key.Key_H)
        assert seen() != tinted, kind
        qtbot.keyRelease(part, Qt.Key.Key_H)
        assert seen() == tinted, kind


def test_no_setting_moves_when_the_way_back_to_the_defaults_appears(window, qtbot):
    panel = window.settings_panel
    shown = [each for each in panel.findChildren(QAbstractSpinBox) if each.isVisible()]
    before = [each.mapTo(panel, QPoint(0, 0)) for each in shown]
    assert panel._defaults.isHidden()
    window.session.set_settings(replace(window.session.settings, prototypes=300))
    QApplication.processEvents()
    assert panel._defaults.isVisible()
    assert [each.mapTo(panel, QPoint(0, 0)) for each in shown] == before


def test_the_menu_brings_a_panel_behind_others_to_the_front(window):
    measures, settings = window.measuring.dock, window.docks.settings
    measures.toggleViewAction().trigger()
    QApplication.processEvents()
    assert not measures.visibleRegion().isEmpty()
    assert settings.visibleRegion().isEmpty()


def test_where_to_scribble_next_does_not_move_an_image_that_is_seen_whole(window, answered, qtbot):
    answered(window)
    qtbot.waitUntil(lambda: window.canvas._overlay is not None)
    window.answer_commands._spot = Spot(5.0, 6.0, 4.0)
    corner = window.canvas.viewport.view.to_widget(QPointF(0, 0))
    window.commands["spot"].trigger()
    assert window.canvas.viewport.view.to_widget(QPointF(0, 0)) == corner
