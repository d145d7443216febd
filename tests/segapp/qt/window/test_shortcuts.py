"""Keys are the user's: changed in the sheet, clashes shown, brought back, taken along."""

import json

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QMessageBox, QPushButton

from segapp.qt.actions import ShortcutsError
from segapp.qt.dialogs.help import ShortcutSheet

CONTROL = Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def window(make_window, picture_file):
    made = make_window(picture_file())
    made.activateWindow()
    made.canvas.setFocus()
    return made


@pytest.fixture
def sheet(window, qtbot):
    qtbot.keyClick(window.canvas, Qt.Key.Key_F1)
    made = QApplication.activeModalWidget()
    assert isinstance(made, ShortcutSheet)
    yield made
    if window.findChild(ShortcutSheet) is not None:
        made.reject()


def choose(sheet, name):
    (row,) = [row for row in sheet._commands if row.data(0, Qt.ItemDataRole.UserRole) == name]
    sheet._rows.setCurrentItem(row)
    return row


def press(sheet, key, modifiers=Qt.KeyboardModifier.NoModifier):
    sheet._edit.setFocus()
    QTest.keyClick(sheet._edit, key, modifiers)
    QTest.qWait(20)


def click(sheet, text):
    (button,) = [each for each in sheet.findChildren(QPushButton) if each.text() == text]
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)


def test_a_key_changed_in_the_sheet_works_at_once_and_the_old_one_no_more(window, sheet, qtbot):
    choose(sheet, "eraser")
    press(sheet, Qt.Key.Key_R, CONTROL)
    assert window.shortcuts.of("eraser") == "Ctrl+R"
    assert "(Ctrl+R)" in window.commands["eraser"].toolTip()
    sheet.reject()
    window.activateWindow()
    qtbot.waitUntil(lambda: QApplication.activeWindow() is window)
    window.canvas.setFocus()
    QTest.keyClick(window.canvas, Qt.Key.Key_E)
    assert window.brush.brush.tool.value == "brush"
    QTest.keyClick(window.canvas, Qt.Key.Key_R, CONTROL)
    assert window.brush.brush.tool.value == "eraser"


def test_clashes_are_shown_on_both_sides_and_reset_ends_them(window, sheet):
    row = choose(sheet, "eraser")
    press(sheet, Qt.Key.Key_B)
    assert "Brush" in sheet._note.text()
    assert "also: Brush" in row.text(1)
    assert window.shortcuts.conflicts("brush") == ("Eraser",)
    click(sheet, "Reset")
    assert window.shortcuts.of("eraser") == "E"
    assert sheet._note.text() == ""
    assert window.shortcuts.conflicts("brush") == ()


def test_keys_of_the_picture_and_the_classes_clash_as_well(window):
    window.shortcuts.set("eraser", "Space")
    assert window.shortcuts.conflicts("eraser") == ("dragging the image",)
    window.shortcuts.set("eraser", "Shift+3")
    assert window.shortcuts.conflicts("eraser") == ("class of the right button",)


def test_nothing_clashes_at_first(window):
    assert [name for name in window.commands if window.shortcuts.conflicts(name)] == []


def test_a_key_can_be_taken_away_and_all_come_back(window, sheet):
    choose(sheet, "undo")
    sheet._edit.clear()
    choose(sheet, "redo")
    press(sheet, Qt.Key.Key_Y, CONTROL)
    assert window.shortcuts.changes() == {"undo": "", "redo": "Ctrl+Y"}
    click(sheet, "Reset All")
    assert window.shortcuts.changes() == {}
    assert window.shortcuts.of("undo") == "Ctrl+Z"


def test_a_later_start_has_the_keys(make_window, window):
    window.shortcuts.set("eraser", "Ctrl+R")
    window.close()
    assert make_window().shortcuts.changes() == {"eraser": "Ctrl+R"}


def test_spoilt_preferences_are_none(make_window, window):
    window.close()
    window.preferences.set("shortcuts", "[1")
    window.preferences.flush()
    assert make_window().shortcuts.changes() == {}


def test_keys_go_to_a_file_and_come_back(window, sheet, tmp_path, monkeypatch):
    path = tmp_path / "keys"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), "JSON (*.json)"))
    window.shortcuts.set("eraser", "Ctrl+R")
    click(sheet, "Export…")
    written = tmp_path / "keys.json"
    assert json.loads(written.read_text())["keys"]["eraser"] == "Ctrl+R"
    window.shortcuts.reset()
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(written), ""))
    click(sheet, "Import…")
    assert window.shortcuts.changes() == {"eraser": "Ctrl+R"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "not JSON"),
        ("[]", "wanted “format”"),
        ('{"format": "segapp shortcuts", "version": 9, "keys": {}}', "another version"),
        ('{"format": "segapp shortcuts", "version": 1}', "wanted a key"),
        (
            '{"format": "segapp shortcuts", "version": 1, "keys": {"undo": "", "redo": 7}}',
            "redo: wanted a key such as",
        ),
        (
            '{"format": "segapp shortcuts", "version": 1, "keys": {"undo": "Ctrl+Kaffee"}}',
            "undo: wanted a key such as",
        ),
    ],
)
def test_a_wrong_file_gives_a_sentence_and_changes_nothing(window, text, told):
    with pytest.raises(ShortcutsError, match=told):
        window.shortcuts.from_text(text)
    assert window.shortcuts.changes() == {}


def test_a_file_that_cannot_be_read_gives_a_sentence(window, sheet, tmp_path, monkeypatch):
    told = []
    monkeypatch.setattr(QMessageBox, "warning", lambda *words: told.append(words[-1]))
    bad = tmp_path / "bad.json"
    bad.write_bytes(b"\xff\xfe")
    for path in (tmp_path / "none.json", bad):
        monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_, p=path: (str(p), ""))
        click(sheet, "Import…")
    assert [sentence.endswith(".") and "cannot be read" in sentence for sentence in told] == [
        True,
        True,
    ]


def test_unknown_commands_of_a_newer_program_are_left_out(window):
    text = window.shortcuts.to_text().replace('"undo"', '"sing"')
    assert window.shortcuts.from_text(text) == 1
