"""Keys and focus: Tab through visible widgets, one letter for each entry of a menu."""

import re
from collections import Counter

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDockWidget, QLineEdit, QMenu, QTabBar

from segapp.qt.window.startup import store_window


@pytest.fixture
def window(make_window, picture_file):
    made = make_window(picture_file())
    made.activateWindow()
    made.canvas.setFocus()
    return made


def dock_of(widget):
    while widget is not None and not isinstance(widget, QDockWidget):
        widget = widget.parentWidget()
    return widget


def walk(window, key=Qt.Key.Key_Tab):
    """Press Tab until the focus is back at the canvas; return where it has been."""
    window.canvas.setFocus()
    stops = []
    for _ in range(200):
        QTest.keyClick(QApplication.focusWidget(), key)
        stops.append(QApplication.focusWidget())
        if stops[-1] is window.canvas:
            return stops
    raise AssertionError("Tab never came back")


def test_tab_visits_no_widget_that_is_hidden(window, answered, qtbot):
    answered(window)  # so that the look inside has something to hold the focus
    stops = walk(window)
    assert window.docks.inside not in {dock_of(stop) for stop in stops}
    assert {window.docks.paint, window.docks.settings} <= {dock_of(stop) for stop in stops}
    window.docks.inside.raise_()
    qtbot.waitUntil(lambda: window.docks.settings.visibleRegion().isEmpty())
    stops = walk(window)
    assert window.docks.settings not in {dock_of(stop) for stop in stops}
    assert window.model_panel.view.bit in stops


def test_tab_goes_in_reading_order_and_shift_tab_back(window):
    stops = walk(window)
    back = walk(window, Qt.Key.Key_Backtab)
    assert back[:-1] == stops[:-1][::-1]
    docks = [dock_of(stop) for stop in stops]
    assert docks.index(window.docks.paint) < docks.index(window.docks.settings)
    kinds = [type(stop) for stop in stops]
    assert docks.index(window.docks.paint) < kinds.index(QTabBar)
    assert kinds.index(QTabBar) < docks.index(window.docks.settings)


def test_tab_scrolls_to_where_it_goes(window, qtbot):
    window.settings_panel.fold.setChecked(True)
    qtbot.wait(20)  # until the panel has its new length
    seed = window.settings_panel.widget().findChild(object, "seed")
    assert seed.visibleRegion().isEmpty()
    while QApplication.focusWidget() is not seed:
        QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Tab)
    assert not seed.visibleRegion().isEmpty()


def test_tab_hides_the_panels_of_who_paints_and_brings_them_back(window, qtbot):
    canvas, docks = window.canvas, window.docks
    window.docks.inside.raise_()
    before = canvas.width()
    qtbot.mousePress(canvas, Qt.MouseButton.MiddleButton)
    qtbot.mouseRelease(canvas, Qt.MouseButton.MiddleButton)
    qtbot.keyClick(canvas, Qt.Key.Key_Tab)
    assert canvas.hasFocus()
    assert not any(dock.isVisible() for dock in docks.all())
    qtbot.waitUntil(lambda: canvas.width() > before + 200)
    qtbot.keyClick(canvas, Qt.Key.Key_Tab)
    assert docks.paint.isVisible()
    assert not docks.files.isVisible(), "what was hidden before stays so"
    qtbot.waitUntil(lambda: not docks.inside.visibleRegion().isEmpty())
    window.commands["hide_panels"].trigger()
    store_window(window)
    assert docks.paint.isVisible(), "the next window begins with panels"


def seen(window, widget):
    """Return what is to be seen of a widget, and of the little around it."""
    room = widget.rect().adjusted(-3, -3, 3, 3).translated(widget.mapTo(window, QPoint()))
    return window.grab(room).toImage()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_wherever_tab_goes_it_is_seen(window, answered, theme, qtbot):
    answered(window)
    window.commands[f"theme_{theme}"].trigger()
    window.settings_panel.fold.setChecked(True)
    qtbot.wait(20)  # until the panel has its new length
    window.canvas.setFocus()
    unseen = []
    while True:
        QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Tab)
        stop = QApplication.focusWidget()
        if stop is window.canvas:
            break
        held = seen(window, stop)
        stop.clearFocus()
        if seen(window, stop) == held:
            unseen.append((type(stop).__name__, stop.objectName(), stop.accessibleName()))
        stop.setFocus(Qt.FocusReason.TabFocusReason)
    window.commands["theme_light"].trigger()
    assert not unseen, "\n".join(map(str, unseen))


@pytest.mark.qt_log_ignore("grabbing the keyboard")
def test_the_menus_are_left_by_escape_and_show_where_the_keys_are_meanwhile(window):
    bar = window.menuBar()
    before = bar.grab().toImage()
    QTest.keyClick(window, Qt.Key.Key_V, Qt.KeyboardModifier.AltModifier)
    QTest.keyClick(QApplication.activePopupWidget(), Qt.Key.Key_Escape)
    assert QApplication.activePopupWidget() is None
    assert QApplication.focusWidget() is bar  # it waits for another menu
    assert bar.grab().toImage() != before
    QTest.keyClick(bar, Qt.Key.Key_Escape)
    assert QApplication.focusWidget() is window.canvas
    assert bar.grab().toImage() == before


def test_no_two_entries_of_a_menu_share_a_letter(window):
    for menu in (window.menuBar(), *window.menuBar().findChildren(QMenu)):
        letters = [
            found.group(1).casefold()
            for action in menu.actions()
            if (found := re.search(r"&([^&])", action.text().replace("&&", "")))
        ]
        twice = [letter for letter, count in Counter(letters).items() if count > 1]
        assert not twice, f"{menu.objectName() or menu.title()}: {twice}"


def test_every_entry_of_a_menu_has_a_letter(window):
    for menu in window.menuBar().findChildren(QMenu):
        named = menu not in (
            window.menus.recent,
            window.menus.samples,
            window.menus.left_class,
            window.menus.right_class,
            window.menus.panels,
            window.commands["language_en"].associatedObjects()[0],
        )
        for action in menu.actions():
            if named and not action.isSeparator():
                assert re.search(r"&[^&]", action.text()), action.text()


def test_tool_tips_begin_with_name_and_key(window):
    for name in window.commands:
        action = window.commands[name]
        first = action.toolTip().splitlines()[0]
        assert first.startswith(window.commands.name_of(name)), name
        keys = action.shortcut().toString(action.shortcut().SequenceFormat.NativeText)
        assert keys in first, name


@pytest.mark.parametrize("key", [Qt.Key.Key_F1, Qt.Key.Key_F2, Qt.Key.Key_F5, Qt.Key.Key_F11])
def test_function_keys_do_nothing_while_the_user_types(window, qtbot, key):
    fired = []
    for name in window.commands:
        window.commands[name].triggered.connect(lambda _=False, n=name: fired.append(n))
    numbers = window.settings_panel.findChild(QLineEdit, "bandwidths")
    window.settings_panel.fold.setChecked(True)
    numbers.setFocus()
    QTest.keyClick(numbers, key)
    assert fired == []
    window.canvas.setFocus()
    QTest.keyClick(window.canvas, Qt.Key.Key_F5)
    assert fired == ["update"]


def test_the_right_button_in_the_list_of_images_moves_no_highlight(
    make_window, picture_file, qtbot
):
    paths = [picture_file(f"folder/{name}.png") for name in "abc"]
    window = make_window(paths[0])
    window.files.open_several([paths[0].parent])
    names = window.file_list.view
    qtbot.waitUntil(lambda: names.model().rowCount() == 3 and names.currentIndex().row() == 0)
    place = names.visualRect(names.model().index(2, 0)).center()
    qtbot.mouseClick(names.viewport(), Qt.MouseButton.RightButton, pos=place)
    assert names.currentIndex().row() == 0
    assert [index.row() for index in names.selectedIndexes()] == [0]
    qtbot.mouseClick(names.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert names.currentIndex().row() == 2
    qtbot.waitUntil(lambda: window.session.state.path == paths[2])
