import html
import os
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from PySide6.QtCore import QLocale, QPoint, Qt, QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtGui import Qt as RichText
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QDialog,
    QLabel,
    QMenu,
    QMessageBox,
    QStatusBar,
)

from segapp.io.images import load_image
from segapp.io.pages import open_image_file
from segapp.io.project import Project, load_project, save_project
from segapp.model.classes import ClassInfo
from segapp.model.display import DisplaySettings, Levels
from segapp.model.document import Document, Stroke
from segapp.model.settings import PRESETS
from segapp.qt.dialogs.export_dialog import ExportDialog
from segapp.qt.files import file_dialogs, opening
from segapp.qt.files.file_dialogs import Conflict
from segapp.qt.files.opening import natural_sorted
from segapp.qt.widgets import Banner
from tests.segapp.qt.conftest import press_save, save_now


@pytest.fixture
def told(monkeypatch):
    """Collect the complaints instead of display them."""
    sentences = []
    monkeypatch.setattr(
        file_dialogs, "complain", lambda _, sentence, details="": sentences.append(sentence)
    )
    return sentences


def opens(qtbot, window, path):
    with qtbot.waitSignal(window.files.opened):
        window.files.open(path)


@pytest.mark.parametrize("language", [QLocale.Language.C, QLocale.Language.German])
def test_names_are_sorted_as_people_count(language):
    names = ["1.png", "2.png", "10.png", "a 2.png", "a 10.png", "B.jpg"]
    before = QLocale()
    QLocale.setDefault(QLocale(language))
    try:
        found = natural_sorted([Path(name) for name in sorted(names)])
    finally:
        QLocale.setDefault(before)
    assert [path.name for path in found] == names


def test_a_folder_is_listed_as_people_count(make_window, picture_file):
    for name in ("f/10.png", "f/2.png", "f/B.jpg", "f/a.png"):
        picture_file(name)
    window = make_window(picture_file("f/1.png").parent)
    assert [path.name for path in window.files.workspace.images] == [
        "1.png",
        "2.png",
        "10.png",
        "a.png",
        "B.jpg",
    ]


def test_previous_and_next_and_every_image_keeps_its_strokes(
    make_window, picture_file, two_strokes, qtbot
):
    first, second = picture_file("folder/1.png"), picture_file("folder/2.png")
    window = make_window(first.parent)
    assert window.session.state.path == first
    assert not window.commands["previous"].isEnabled()
    window.session.add_stroke(two_strokes[0])
    with qtbot.waitSignal(window.files.opened):
        window.commands["next"].trigger()
    assert window.session.state.path == second
    assert tuple(window.session.document.strokes) == ()
    assert not window.commands["next"].isEnabled()
    model = window.file_list.model
    tips = [model.index(row).data(Qt.ItemDataRole.ToolTipRole) for row in range(2)]
    assert "marked" in tips[0]
    assert "untouched" in tips[1]
    window.session.add_stroke(two_strokes[1])
    with qtbot.waitSignal(window.files.opened):
        window.commands["previous"].trigger()
    assert tuple(window.session.document.strokes) == two_strokes[:1]
    assert window.session.state.history.undo_name == "stroke of foreground"
    with qtbot.waitSignal(window.files.opened):
        window.file_list.view.clicked.emit(window.file_list.view.model().index(1, 0))
    assert tuple(window.session.document.strokes) == two_strokes[1:]
    qtbot.waitUntil(lambda: not window.session.unsaved_states())
    for path, stroke in ((first, two_strokes[0]), (second, two_strokes[1])):
        assert tuple(load_project(path.with_suffix(".segapp")).document.strokes) == (stroke,)


def test_a_project_brings_strokes_classes_and_settings_back(
    make_window, picture_file, answered, qtbot, tmp_path
):
    window = answered(make_window(picture_file()))
    window.session.set_settings(PRESETS["paper"])
    target = tmp_path / "é 中.segapp"
    assert save_now(window, target)
    assert not window.isWindowModified()
    document = window.session.document
    qtbot.waitUntil(lambda: window.session.answers.is_current)
    labels = window.session.answers.shown.labels
    other = make_window(target)
    assert other.session.document == document
    assert other.session.settings == PRESETS["paper"]
    assert not other.isWindowModified()
    qtbot.waitUntil(lambda: other.session.answers.is_current)
    assert (other.session.answers.shown.labels == labels).all()


def test_the_project_beside_an_image_opens_with_it(make_window, picture_file, two_strokes, qtbot):
    path = picture_file()
    window = make_window(path)
    window.session.add_stroke(two_strokes[0])
    assert save_now(window)
    other = make_window(path)
    assert tuple(other.session.document.strokes) == two_strokes[:1]


def test_saving_under_a_name_and_then_again(make_window, picture_file, two_strokes, monkeypatch):
    window = make_window(picture_file())
    asked = []

    def ask(_, proposed):
        asked.append(proposed)
        return proposed

    monkeypatch.setattr(file_dialogs, "ask_project", ask)
    window.session.add_stroke(two_strokes[0])
    window.commands["save"].trigger()  # and again, before it is written
    window.session.add_stroke(two_strokes[1])
    assert window.isWindowModified()
    press_save(window)
    assert len(asked) == 1
    assert tuple(load_project(asked[0]).document.strokes) == two_strokes
    assert not window.isWindowModified()
    window.session.undo()
    assert window.isWindowModified()
    window.session.redo()
    assert not window.isWindowModified()


def test_a_project_is_found_again_where_its_saving_was_proposed(
    make_window, picture_file, two_strokes, monkeypatch, tmp_path
):
    png, bmp = picture_file("cat.png"), picture_file("cat.bmp")
    save_project(tmp_path / "cat.segapp", Project(Document(), PRESETS["best"], bmp, ""))
    window = make_window(png)
    monkeypatch.setattr(file_dialogs, "ask_project", lambda _, proposed: proposed)
    window.session.add_stroke(two_strokes[0])
    press_save(window)
    assert not window.isWindowModified()
    assert tuple(make_window(png).session.document.strokes) == two_strokes[:1]
    assert tuple(make_window(bmp).session.document.strokes) == ()


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="this user may write everywhere"
)
def test_a_folder_without_permission_is_reported(make_window, picture_file, told, tmp_path):
    window = make_window(picture_file())
    tmp_path.chmod(0o500)
    assert not save_now(window, tmp_path / "x.segapp")
    tmp_path.chmod(0o700)
    assert told


def test_a_failed_save_keeps_the_old_file_and_the_unsaved_mark(
    make_window, picture_file, two_strokes, told, tmp_path
):
    window = make_window(picture_file())
    window.session.add_stroke(two_strokes[0])
    assert not save_now(window, tmp_path / "no folder" / "x.segapp")
    assert "no folder" in told[0]
    assert window.isWindowModified()


@pytest.mark.parametrize("kind", ["missing", "text", "cut", "project"])
def test_a_failed_load_leaves_everything_as_it_is(
    make_window, picture_file, two_strokes, told, qtbot, tmp_path, kind
):
    window = make_window(picture_file())
    window.session.add_stroke(two_strokes[0])
    state, title = window.session.state, window.windowTitle()
    bad = tmp_path / ("bad.segapp" if kind == "project" else "bad.png")
    if kind in ("text", "project"):
        bad.write_text("not at all")
    elif kind == "cut":
        bad.write_bytes(picture_file("whole.png").read_bytes()[:60])
    window.files.open(bad)
    qtbot.waitUntil(lambda: bool(told))
    assert "bad" in told[0]
    assert window.session.state is state
    assert window.windowTitle() == title


def test_an_empty_folder_is_reported(make_window, picture_file, told, tmp_path, qtbot):
    window = make_window(picture_file())
    empty = tmp_path / "empty"
    empty.mkdir()
    window.files.open(empty)
    qtbot.waitUntil(lambda: bool(told))
    assert "no image" in told[0]
    assert window.session.state is not None


def test_recent_files_open_again_and_lost_ones_are_dropped(make_window, picture_file, told, qtbot):
    first, second = picture_file("one.png"), picture_file("two.png")
    window = make_window(first)
    opens(qtbot, window, second)
    entries = [action.text() for action in window.menus.recent.actions()]
    assert entries == [str(second), str(first)]
    with qtbot.waitSignal(window.files.opened):
        window.menus.recent.actions()[1].trigger()
    assert window.session.state.path == first
    second.unlink()
    window.menus.recent.actions()[1].trigger()
    qtbot.waitUntil(lambda: bool(told))
    assert [action.text() for action in window.menus.recent.actions()] == [str(first)]


def test_recent_files_whose_names_are_no_text_open_again(make_window, picture_file, qtbot):
    path = picture_file("caf\udce9/caf\udce9.png")
    window = make_window(path)
    window.preferences.flush()
    again = make_window()
    (entry,) = again.menus.recent.actions()
    assert "caf\ufffd" in entry.text()
    with qtbot.waitSignal(again.files.opened):
        entry.trigger()
    assert again.session.state.path == path
    again.preferences.drop_recent(path)
    assert again.preferences.recent() == []


def moved_project(picture_file, tmp_path):
    image = picture_file("old/picture.png")
    picture = load_image(image)
    path = tmp_path / "old" / "work.segapp"
    save_project(path, Project(Document(), PRESETS["best"], image, picture.sha256))
    return image, path


def test_a_moved_folder_opens(make_window, picture_file, tmp_path):
    moved_project(picture_file, tmp_path)
    (tmp_path / "old").rename(tmp_path / "new")
    window = make_window(tmp_path / "new" / "work.segapp")
    assert window.session.state.path == tmp_path / "new" / "picture.png"


def test_a_lost_image_is_asked_for(make_window, picture_file, tmp_path, monkeypatch, qtbot):
    image, path = moved_project(picture_file, tmp_path)
    elsewhere = tmp_path / "elsewhere.png"
    image.rename(elsewhere)
    window = make_window(picture_file("other.png"))
    titles = []

    def ask(_, title, __):
        titles.append(title)
        return None if len(titles) == 1 else elsewhere

    monkeypatch.setattr(file_dialogs, "ask_image", ask)
    window.files.open(path)
    qtbot.waitUntil(lambda: "missing" in window.status.currentMessage())
    assert window.session.state.path.name == "other.png"
    opens(qtbot, window, path)
    assert "picture.png" in titles[0]
    assert window.session.state.path == elsewhere
    assert window.session.state.location.path == path


def test_a_changed_image_is_reported(make_window, picture_file, tmp_path, qtbot):
    image, path = moved_project(picture_file, tmp_path)
    Image.new("RGB", (80, 60), "green").save(image)
    window = make_window(path)
    assert "not the same file" in window.status.currentMessage()


def test_strokes_come_from_a_palette_picture(make_window, picture_file, tmp_path, monkeypatch):
    marks = Image.new("P", (80, 60), 0)
    marks.putpalette([0, 0, 0, 255, 0, 0, 0, 255, 0])
    for x in range(5, 15):
        marks.putpixel((x, 20), 1)
        marks.putpixel((x + 50, 20), 2)
    path = tmp_path / "marks.png"
    marks.save(path)
    window = make_window(picture_file())
    monkeypatch.setattr(file_dialogs, "ask_image", lambda *_: path)
    before = replace(
        window.session.document.with_class(ClassInfo("own", (9, 9, 9))),
        retouches=(Stroke(((3.0, 3.0),), 2.0, 2),),
        display=DisplaySettings((), (Levels(0.0, 99.0),)),
    )
    window.session.edit("own", before)
    window.commands["import_strokes"].trigger()
    document = window.session.document
    assert {mark.label for mark in document.strokes} == {0, 1}
    assert replace(document, strokes=()) == before  # nothing else has changed
    assert window.commands["undo"].text() == "&Undo importing marks.png"


def test_opening_by_the_menu(make_window, picture_file, monkeypatch, qtbot):
    window = make_window(picture_file())
    other = picture_file("x/other.png")
    monkeypatch.setattr(file_dialogs, "ask_open", lambda *_: other)
    monkeypatch.setattr(file_dialogs, "ask_folder", lambda *_: other.parent)
    with qtbot.waitSignal(window.files.opened):
        window.commands["open"].trigger()
    assert window.session.state.path == other
    assert window.files.workspace.images == []
    with qtbot.waitSignal(window.files.opened):
        window.commands["open_folder"].trigger()
    assert window.files.workspace.images == [other]


def test_a_bundled_sample_opens_from_the_menu(make_window, qtbot):
    window = make_window()
    entries = window.menus.samples.actions()
    assert len(entries) >= 3
    with qtbot.waitSignal(window.files.opened, timeout=10_000):
        entries[0].trigger()
    assert isinstance(window.session.state.path, Path)


def test_the_conversion_of_a_deep_image_is_reported(make_window, tmp_path):
    path = tmp_path / "deep.png"
    Image.fromarray(np.arange(48 * 64, dtype=np.uint16).reshape(48, 64) * 20).save(path)
    window = make_window(path)
    assert "16-bit" in window.status.currentMessage()


# Nothing is lost on the way --------------------------------------------------------------------


@pytest.fixture
def gate(monkeypatch):
    """Hold back the reading of images until the test lets it go on."""
    go_on, reading = threading.Event(), threading.Event()

    def slow(path, *display):
        reading.set()
        assert go_on.wait(10)
        return load_image(path, *display)

    def hold():
        monkeypatch.setattr(opening, "load_image", slow)
        return reading, go_on

    yield hold
    go_on.set()


def test_strokes_saved_while_the_image_is_read_again_stay_and_no_other_is_taken(
    make_window, picture_file, two_strokes, qtbot, tmp_path, gate
):
    path = picture_file()
    window = make_window(path)
    window.session.add_stroke(two_strokes[0])
    reading, go_on = gate()
    window.files.open(path)
    qtbot.waitUntil(reading.is_set)
    window.session.add_stroke(two_strokes[1])
    window.session.undo()
    assert save_now(window, tmp_path / "meanwhile.segapp")
    with qtbot.waitSignal(window.files.opened):
        go_on.set()
    assert tuple(window.session.document.strokes) == two_strokes[:1]
    assert window.session.state.location.path == tmp_path / "meanwhile.segapp"
    assert not window.isWindowModified()
    assert window.session.state.history.undo_name == "stroke of foreground"


def test_nothing_meant_for_the_next_image_reaches_the_open_one(
    make_window, picture_file, two_strokes, qtbot, gate
):
    first, second = picture_file("folder/1.png"), picture_file("folder/2.png")
    window = make_window(first.parent)
    window.files._prefetch.close()
    window.files._prefetch.clear()
    window.session.add_stroke(two_strokes[0])
    before, canvas = window.session.state, window.canvas
    reading, go_on = gate()
    at = canvas.rect().center()
    QTest.mousePress(canvas, Qt.MouseButton.LeftButton, pos=at)  # and not yet released
    window.commands["next"].trigger()
    assert window.session.state.path == first
    begun = window.session.document
    assert len(begun.strokes) == 2, "a stroke that was begun before belongs to the old one"
    qtbot.waitUntil(reading.is_set)
    QTest.mouseRelease(canvas, Qt.MouseButton.LeftButton, pos=at + QPoint(20, 0))
    QTest.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=at)
    for name in ("done", "clear", "undo", "save", "export", "learn_anew", "rename_class"):
        assert not window.commands[name].isEnabled(), name
    window.session.set_settings(PRESETS["paper"])
    window.class_panel.paint_box.radius_changed.emit(7.0)  # the brush is of no picture
    assert window.session.state.document == begun
    assert window.session.state.settings == before.settings
    qtbot.waitUntil(lambda: canvas._greyed)
    with qtbot.waitSignal(window.files.opened):
        go_on.set()
    assert window.session.state.path == second
    assert not canvas._greyed
    assert window.commands["done"].isEnabled()
    QTest.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=at)
    assert len(window.session.document.strokes) == 1


def test_fifteen_presses_do_not_wait_for_the_images_between(
    make_window, picture_file, qtbot, monkeypatch
):
    paths = [picture_file(f"folder/{number:02}.png") for number in range(17)]
    window = make_window(paths[0].parent)
    window.files._prefetch.close()
    window.files._prefetch.clear()
    begun, real = [], opening.load_image

    def endless(path, *display):
        begun.append(path)
        while path != paths[15]:  # a huge file, read in pieces
            with open_image_file(path) as file:
                file.read(1)
        return real(path, *display)

    monkeypatch.setattr(opening, "load_image", endless)
    for _ in range(15):
        window.commands["next"].trigger()
    qtbot.waitUntil(lambda: window.session.state.path == paths[15], timeout=5000)
    assert begun[-1] != paths[0]


def test_a_project_that_is_saved_while_it_is_read_is_read_once_more(
    make_window, picture_file, two_strokes, qtbot, tmp_path, gate
):
    window = make_window(picture_file())
    target = tmp_path / "work.segapp"
    assert save_now(window, target)
    window.session.add_stroke(two_strokes[0])
    reading, go_on = gate()
    window.files.open(target)
    qtbot.waitUntil(reading.is_set)
    assert save_now(window, target)
    with qtbot.waitSignal(window.files.opened):
        go_on.set()
    assert window.session.document == load_project(target).document
    assert tuple(window.session.document.strokes) == two_strokes[:1]
    assert not window.isWindowModified()
    window.session.undo()
    assert tuple(window.session.document.strokes) == ()


def test_a_project_opened_over_unsaved_strokes_is_an_edit_that_undo_takes_back(
    make_window, picture_file, two_strokes, qtbot, tmp_path
):
    path = picture_file()
    window = make_window(path)
    window.session.add_stroke(two_strokes[0])
    target = tmp_path / "work.segapp"
    assert save_now(window, target)
    window.session.undo()
    window.session.add_stroke(two_strokes[1])
    opens(qtbot, window, target)
    assert tuple(window.session.document.strokes) == two_strokes[:1]
    assert not window.isWindowModified()
    assert "undo brings them back" in window.status.currentMessage()
    assert window.commands["undo"].text() == "&Undo opening work.segapp"
    window.commands["undo"].trigger()
    assert tuple(window.session.document.strokes) == two_strokes[1:]
    assert window.isWindowModified()
    window.commands["redo"].trigger()
    assert not window.isWindowModified()


@pytest.fixture
def two_windows(make_window, picture_file, two_strokes, tmp_path):
    """Open one project in two windows, and let the second one save it."""
    mine = make_window(picture_file())
    mine.session.add_stroke(two_strokes[0])
    target = tmp_path / "picture.segapp"
    assert save_now(mine, target)
    other = make_window(target)
    other.session.clear()
    press_save(other)
    assert tuple(load_project(target).document.strokes) == ()
    mine.session.add_stroke(two_strokes[1])
    return mine, other, target


def test_a_save_of_another_window_is_not_replaced_without_a_question(
    two_windows, two_strokes, monkeypatch, qtbot, tmp_path
):
    mine, other, target = two_windows
    asked, answers = [], iter([Conflict.CANCEL, Conflict.SAVE_AS, Conflict.OPEN_THEIRS])

    def ask(_, path):
        asked.append(path)
        return next(answers)

    monkeypatch.setattr(file_dialogs, "ask_conflict", ask)
    press_save(mine)
    assert tuple(load_project(target).document.strokes) == ()
    assert mine.isWindowModified()
    elsewhere = tmp_path / "elsewhere.segapp"
    monkeypatch.setattr(file_dialogs, "ask_project", lambda *_: elsewhere)
    press_save(mine)
    assert tuple(load_project(elsewhere).document.strokes) == two_strokes
    assert tuple(load_project(target).document.strokes) == ()
    press_save(mine)  # elsewhere it belongs to no other window
    assert len(asked) == 2
    assert save_now(other, elsewhere)
    with qtbot.waitSignal(mine.files.opened):
        press_save(mine)
    assert tuple(mine.session.document.strokes) == ()
    mine.session.undo()
    assert tuple(mine.session.document.strokes) == two_strokes


def test_the_file_of_another_window_is_replaced_when_that_is_wanted(
    two_windows, two_strokes, monkeypatch
):
    mine, _, target = two_windows
    monkeypatch.setattr(file_dialogs, "ask_conflict", lambda *_: Conflict.REPLACE)
    press_save(mine)
    assert tuple(load_project(target).document.strokes) == two_strokes
    assert not mine.isWindowModified()


@pytest.mark.parametrize("button", list(Conflict))
def test_the_question_about_the_other_file_has_a_button_for_each_answer(
    make_window, qtbot, tmp_path, button
):
    window = make_window()
    words = {"replace": "Replace", "save as": "Save as", "open theirs": "Open", "cancel": "Cancel"}

    def click():
        box = window.findChild(QMessageBox)
        (chosen,) = [each for each in box.buttons() if words[button.value] in each.text()]
        chosen.click()

    QTimer.singleShot(50, click)
    assert file_dialogs.ask_conflict(window, tmp_path / "x.segapp") is button


def test_an_image_with_a_damaged_project_opens_and_the_project_stays(
    make_window, picture_file, two_strokes, told, monkeypatch
):
    path = picture_file()
    damaged = path.with_suffix(".segapp")
    damaged.write_bytes(b"PK half a project")
    window = make_window(path)
    assert window.session.state.path == path
    assert "picture.segapp" in told[0]
    assert "left as it is" in told[0]
    proposed = []

    def ask(_, where):
        proposed.append(where)
        return where

    monkeypatch.setattr(file_dialogs, "ask_project", ask)
    window.session.add_stroke(two_strokes[0])
    press_save(window)
    assert proposed[0] != damaged
    assert tuple(load_project(proposed[0]).document.strokes) == two_strokes[:1]
    assert damaged.read_bytes() == b"PK half a project"


# What goes wrong is told with its details ------------------------------------------------------


def boxes(window):
    return [box for box in window.findChildren(QMessageBox) if box.isVisible()]


def test_names_of_files_are_shown_as_they_are_and_not_as_html(
    make_window, picture_file, qtbot, tmp_path
):
    name = "<h1>Your disk is full\u202e\x9b.png"
    shown = "<h1>Your disk is full\ufffd\ufffd.png"
    (tmp_path / "folder").mkdir()
    path = picture_file(f"folder/{name}")
    window = make_window(path.parent)
    model = window.file_list.model
    tip = model.index(0).data(Qt.ItemDataRole.ToolTipRole)
    assert html.escape(shown) in tip
    assert tip.startswith("<qt>")
    path.write_bytes(b"no image")
    window.files.open_list([path])
    window.files.open(tmp_path / name)
    qtbot.waitUntil(lambda: len(boxes(window)) > 0)
    for box in boxes(window):
        assert shown in box.text()
        assert box.textFormat() is Qt.TextFormat.PlainText
        box.accept()
    banner = Banner(window.canvas)
    banner.ask(name, ())
    assert banner.label.textFormat() is Qt.TextFormat.PlainText


def shown_texts(widget):
    """Yield texts that a widget shows, each with whether Qt may take it for HTML."""
    has_tips = not isinstance(widget, QMenu) or widget.toolTipsVisible()
    for each in (widget, *widget.actions() * has_tips):
        yield each.toolTip(), RichText.mightBeRichText(each.toolTip())
    yield widget.windowTitle(), False
    yield from ((action.text(), False) for action in widget.actions())
    if isinstance(widget, QLabel):
        told = widget.textFormat()
        is_rich = told is Qt.TextFormat.RichText or RichText.mightBeRichText(widget.text())
        yield widget.text(), is_rich and told is not Qt.TextFormat.PlainText
    if isinstance(widget, QAbstractButton):
        yield widget.text(), False
    if isinstance(widget, QStatusBar):
        yield widget.currentMessage(), False


def test_no_widget_shows_a_name_as_html_or_turns_the_text_around(
    make_window, picture_file, two_strokes, qtbot, tmp_path
):
    bad = "<h1>bad\u202e\x9b"
    (tmp_path / bad).mkdir()
    for number in range(2):
        picture_file(f"{bad}/{bad}{number}.png")
    (tmp_path / bad / f"notes.{bad}").write_text("left out")
    window = make_window(tmp_path / bad)
    document = window.session.document
    for label, info in enumerate(document.classes):
        document = document.with_class_changed(label, replace(info, name=f"<h1>bad{label}"))
    window.session.edit(f"renaming {bad}", document)
    for stroke in two_strokes:
        window.session.add_stroke(stroke)
    qtbot.waitUntil(lambda: window.session.answers.is_current)
    window.commands["export"].trigger()
    qtbot.waitUntil(lambda: window.findChild(ExportDialog)._export.isEnabled())
    file_dialogs.complain(window, f"{bad} cannot be read.")
    window.show_message(f"Opening {bad} …")
    window.files.busy_changed.emit(bad)
    texts = [each for widget in QApplication.allWidgets() for each in shown_texts(widget)]
    for box in window.findChildren(QDialog):
        box.reject()
    assert window.file_commands.close(5)
    window.files.busy_changed.emit("")
    assert not [text for text, is_html in texts if is_html and "<h1>bad" in text]
    assert not [text for text, _ in texts if "\u202e" in text or "\x9b" in text]
    assert sum("<h1>bad" in text for text, _ in texts) > 8


def test_an_error_of_the_learner_is_reported_and_the_next_stroke_works(
    make_window, picture_file, quick_segmenter, two_strokes, qtbot
):
    class Stumbling(quick_segmenter):
        stumbled = False

        def updates(self, document, settings):
            if len(document.strokes) == 2 and not Stumbling.stumbled:
                Stumbling.stumbled = True
                raise ZeroDivisionError("no luck")
            yield from super().updates(document, settings)

    window = make_window(picture_file(), Stumbling)
    for stroke in two_strokes:
        window.session.add_stroke(stroke)
    qtbot.waitUntil(lambda: bool(boxes(window)))
    (box,) = boxes(window)
    assert "no luck" in box.text()
    assert "Traceback" in box.detailedText()
    (copy,) = [button for button in box.buttons() if "Copy" in button.text()]
    qtbot.mouseClick(copy, Qt.MouseButton.LeftButton)
    assert "ZeroDivisionError" in QGuiApplication.clipboard().text()
    window.session.add_stroke(two_strokes[0])
    qtbot.waitUntil(lambda: window.session.answers.is_current)


def test_an_unexpected_error_keeps_the_strokes_and_is_reported_once_at_a_time(
    make_window, picture_file, two_strokes, qtbot, tmp_path, capsys
):
    window = make_window(picture_file())
    window.session.add_stroke(two_strokes[0])
    error = LookupError("what is this")
    for _ in range(3):
        window.report(LookupError, error, None)
    (box,) = boxes(window)
    assert "what is this" in box.text()
    assert "LookupError" in box.detailedText()
    qtbot.waitUntil(lambda: len(list(tmp_path.glob("recovery/*/*.segapp"))) == 1)
    assert "LookupError" in capsys.readouterr().err
    box.accept()


def test_closing_waits_for_all_threads_together(make_window, picture_file, qtbot, monkeypatch):
    window = make_window(picture_file())
    busy, over = [], threading.Event()

    def endless():
        busy.append(1)
        over.wait(10)
        yield 1

    parts = (window.labelling_view, window.files, window.answer_commands, window.autosave)
    for part in parts:
        part._jobs.run(endless, busy.append, pytest.fail)
    qtbot.waitUntil(lambda: len(busy) == len(parts))
    began = time.monotonic()
    assert not window.close()  # it is not known whether all is saved
    window.close()
    assert time.monotonic() - began < 2.7  # one after the other: 3.6 s
    assert not window.threads_ended
    over.set()
