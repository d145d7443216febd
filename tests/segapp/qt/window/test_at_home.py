"""Copying, recent files with their pictures, and a report of a problem that goes nowhere."""

import re
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QPushButton, QToolButton

from segapp.io.project import Project, save_project
from segapp.model.document import Document
from segapp.model.settings import DEFAULT_SETTINGS
from segapp.qt.dialogs.help import problem_text
from segapp.qt.files.folder import SIZE, filling, thumbnail


def test_the_picture_goes_to_the_clipboard(make_window, picture_file, qtbot):
    window = make_window()
    assert not window.commands["copy_picture"].isEnabled()
    window = make_window(picture_file())
    window.commands["copy_picture"].trigger()
    image = QGuiApplication.clipboard().image().convertToFormat(QImage.Format.Format_RGB888)
    rows = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), -1)
    rgb = rows[:, : 3 * image.width()].reshape(image.height(), image.width(), 3)
    np.testing.assert_array_equal(rgb, window.session.picture.rgb)


# Recent files -------------------------------------------------------------------------------


def test_recent_files_have_thumbnails_in_the_invitation_and_in_the_menu(
    make_window, picture_file, qtbot
):
    path = picture_file(size=(200, 300))
    make_window(path).close()
    window = make_window()
    (button,) = [b for b in window.welcome.findChildren(QToolButton) if b.toolTip() == str(path)]

    def colour(x):
        return button.icon().pixmap(SIZE).toImage().pixelColor(x, 32)

    qtbot.waitUntil(lambda: colour(10).red() > 150)
    assert colour(70).blue() > 150
    assert colour(70).red() < 100
    window.menus.recent.aboutToShow.emit()
    (entry,) = window.menus.recent.actions()
    qtbot.waitUntil(lambda: not entry.icon().isNull())


def test_a_thumbnail_is_upright_and_fills_its_place(tmp_path):
    upright = np.zeros((300, 200, 3), np.uint8)
    upright[:150] = (255, 0, 0)
    exif = Image.Exif()
    exif[0x0112] = 6  # shown turned by a quarter to the right
    lying = Image.fromarray(np.ascontiguousarray(np.rot90(upright)))
    lying.save(tmp_path / "turned.jpg", exif=exif, quality=95)
    image = filling(thumbnail(tmp_path / "turned.jpg"), 2.0).toImage()
    assert image.size() == SIZE * 2
    assert image.devicePixelRatio() == 2.0
    assert image.pixelColor(80, 10).red() > 200
    assert image.pixelColor(80, 118).red() < 60


def test_an_unreadable_file_has_no_thumbnail(tmp_path):
    (tmp_path / "no.png").write_bytes(b"not a picture")
    assert thumbnail(tmp_path / "no.png").isNull()
    assert thumbnail(tmp_path / "none.png").isNull()


def test_a_project_looks_like_its_picture(make_window, picture_file, qtbot, tmp_path):
    image = picture_file()
    project = tmp_path / "work.segapp"
    save_project(project, Project(Document(), DEFAULT_SETTINGS, image, "0" * 64))
    window = make_window()
    for path in (tmp_path / "none.segapp", project):
        window.thumbnails.of(path)
    qtbot.waitUntil(lambda: window.thumbnails.n_kept >= 2)
    assert window.thumbnails.of(tmp_path / "none.segapp") is None
    assert window.thumbnails.of(project).toImage().pixelColor(10, 32).red() > 150


# A report of a problem ----------------------------------------------------------------------


@pytest.fixture
def report(make_window, picture_file, answered, qtbot):
    window = answered(make_window(picture_file("private-name.png")))
    window.files.failed.emit("It cannot be read.", f"Traceback in {Path.home()}/secret")
    window.commands["problem"].trigger()
    dialog = QApplication.activeModalWidget()
    yield dialog
    dialog.reject()


def click(dialog, text):
    (button,) = [b for b in dialog.findChildren(QPushButton) if b.text().strip("&") == text]
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)


@pytest.fixture
def quiet(monkeypatch):
    from segapp.qt.files import file_dialogs

    monkeypatch.setattr(file_dialogs, "complain", lambda *_: None)


def test_a_report_has_versions_the_machine_and_the_log(quiet, report):
    text = report._text.toPlainText()
    for name in ("segapp", "PySide6-Essentials", "numpy", "scikit-learn", "Python", "Qt"):
        assert re.search(rf"^{name} \S+", text, re.MULTILINE), name
    assert "80 x 60" in text
    assert "2 classes, 2 strokes" in text
    assert "Up to date" in text
    assert "ERROR It cannot be read." in text
    assert str(Path.home()) + "/secret" not in text
    assert "Traceback in ~/secret" in text


def test_a_report_names_the_settings_that_were_changed(quiet, report, make_window, picture_file):
    assert "\nsettings: best\n" in report._text.toPlainText()
    window = make_window(picture_file())
    window.session.set_settings(replace(DEFAULT_SETTINGS, bits=7, smoothness=12.5))
    assert "\nsettings: bits = 7, smoothness = 12.5\n" in problem_text(window.session, "")


def test_about_shows_the_version(make_window):
    window = make_window()
    window.commands["about"].trigger()
    box = QApplication.activeModalWidget()
    assert metadata.version("segapp") in box.text()
    assert not box.iconPixmap().isNull()
    box.reject()


def test_a_report_can_be_shortened_copied_and_saved_and_is_sent_nowhere(
    quiet, report, tmp_path, monkeypatch
):
    import socket

    def refuse(*_):
        raise AssertionError("a connection")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    report._text.setPlainText("only this")
    click(report, "Copy")
    assert QGuiApplication.clipboard().text() == "only this"
    path = tmp_path / "told"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), "Text (*.txt)"))
    click(report, "Save…")
    assert (tmp_path / "told.txt").read_text() == "only this"


def test_a_report_that_cannot_be_saved_gives_a_sentence(report, tmp_path, monkeypatch):
    from segapp.qt.files import file_dialogs as small_files

    told = []
    monkeypatch.setattr(small_files, "complain", lambda _, sentence: told.append(sentence))
    path = tmp_path / "none" / "told.txt"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), ""))
    click(report, "Save…")
    assert told == [f"{path} cannot be written: No such file or directory."]


def test_the_log_keeps_its_last_lines():
    from segapp.qt.dialogs.help import EventLog

    log = EventLog()
    for number in range(1000):
        log.note(f"line {number}.")
    assert "line 999." in log.text
    assert "line 500." not in log.text
