import threading
from dataclasses import replace

import numpy as np
import pytest
import shiboken6
from PIL import Image
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QDesktopServices, QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QApplication, QColorDialog, QMessageBox

from segapp.io.export.datasets import AnnotationScope
from segapp.io.export.formats import FORMATS, ExportChoices, formats
from segapp.model.document import Stroke
from segapp.model.picture import Scale
from segapp.qt.dialogs import export_dialog
from segapp.qt.files import file_dialogs
from segapp.qt.files.preferences import remembered_choices


@pytest.fixture
def dialog(make_window, picture_file, answered, qtbot):
    window = answered(make_window(picture_file()))
    qtbot.keyClick(window.canvas, Qt.Key.Key_E, Qt.KeyboardModifier.ControlModifier)
    opened = QApplication.activeModalWidget()
    opened.window_ = window
    yield opened
    if shiboken6.isValid(opened) and opened.isVisible():
        opened.reject()


def choose(dialog, name):
    dialog._list.setCurrentRow(list(FORMATS).index(name))


@pytest.mark.parametrize("name", list(FORMATS))
def test_every_format_is_offered_previewed_explained_and_written(dialog, qtbot, name, tmp_path):
    choose(dialog, name)
    assert dialog._values.text() == FORMATS[name].values
    preview = dialog._preview
    qtbot.waitUntil(lambda: preview.image is not None or bool(preview.text))
    target = tmp_path / f"out{FORMATS[name].suffix}"
    dialog._path.setText(str(target))
    window = dialog.window_
    session = window.session
    expected = FORMATS[name].write(
        tmp_path / f"expected{FORMATS[name].suffix}",
        session.answers.shown,
        session.document,
        session.picture,
    )
    with qtbot.waitSignal(dialog.exported) as signal:
        qtbot.mouseClick(dialog._export, Qt.MouseButton.LeftButton)
    written = signal.args[0]
    assert [path.name for path in written] == [
        path.name.replace("expected", "out") for path in expected
    ]
    if name != "numpy":  # an archive holds the time of writing
        assert [path.read_bytes() for path in written] == [path.read_bytes() for path in expected]
    assert "out" in window.status.currentMessage()


def test_the_preview_shows_the_file_as_it_will_be(dialog, qtbot):
    choose(dialog, "mask")
    qtbot.waitUntil(lambda: dialog._preview.image is not None)
    shown = dialog._preview.image
    assert shown.pixelColor(10, 30).name() == "#ffffff"
    assert shown.pixelColor(70, 30).name() == "#000000"


def test_return_in_the_path_exports(dialog, qtbot, tmp_path):
    dialog._path.setText(str(tmp_path / "typed"))  # the suffix is added
    with qtbot.waitSignal(dialog.exported):
        qtbot.keyClick(dialog._path, Qt.Key.Key_Return)
    mask = np.array(Image.open(tmp_path / "typed.png"))
    labels = dialog.window_.session.answers.shown.labels
    np.testing.assert_array_equal(mask, np.where(labels == 0, 255, 0))


@pytest.mark.parametrize("typed", ["/", "/tmp/", "~", ".", "", "a/../b.", "~nobody/x"])
def test_half_a_name_is_no_reason_to_stumble(dialog, qtbot, typed):
    dialog._path.clear()
    qtbot.keyClicks(dialog._path, typed)
    target = dialog._target()
    assert (target is not None) == dialog._export.isEnabled()
    assert target is None or target.name.strip(".")


def test_another_format_changes_the_suffix_of_a_chosen_name(dialog):
    dialog._path.setText("/some/where/mine.png")
    dialog._note_edit()
    choose(dialog, "labelme")
    assert dialog._path.text() == "/some/where/mine.json"


def test_export_waits_for_the_newest_answer(make_window, picture_file, gated, two_strokes, qtbot):
    window = make_window(picture_file(), gated)
    gated.gate.release(3)
    for stroke in two_strokes:
        window.session.add_stroke(stroke)
    qtbot.waitUntil(lambda: window.session.answers.is_current)
    window.session.add_stroke(Stroke(((60.0, 10.0),), 6.0, 0))
    window.commands["export"].trigger()
    dialog = QApplication.activeModalWidget()
    assert not dialog._export.isEnabled()
    assert dialog._state.text().startswith("Waiting for the result: ")
    dialog._write()  # as Return in the path would
    assert not dialog._writing.busy
    gated.gate.release(3)
    qtbot.waitUntil(lambda: dialog._export.isEnabled())
    assert not dialog._state.text()
    dialog.reject()


def test_a_folder_that_cannot_be_written_is_reported_and_the_dialog_stays(
    dialog, qtbot, tmp_path, monkeypatch
):
    told = []
    monkeypatch.setattr(QMessageBox, "warning", lambda *args: told.append(args[2]))
    dialog._path.setText(str(tmp_path / "nowhere" / "x.png"))
    qtbot.mouseClick(dialog._export, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: bool(told))
    assert "nowhere" in told[0]
    assert dialog.isVisible()
    qtbot.waitUntil(lambda: dialog._export.isEnabled())


def test_replacing_a_file_is_said_before(dialog, tmp_path):
    path = tmp_path / "there.png"
    path.write_text("old")
    dialog._path.setText(str(path))
    dialog._note_edit()
    assert "replaces" in dialog._state.text()
    dialog._path.setText(str(tmp_path / "new.png"))
    dialog._note_edit()
    assert dialog._state.text() == ""


def test_the_last_format_comes_back(dialog, qtbot, tmp_path):
    choose(dialog, "cutout")
    dialog._path.setText(str(tmp_path / "cut.png"))
    with qtbot.waitSignal(dialog.exported):
        qtbot.mouseClick(dialog._export, Qt.MouseButton.LeftButton)
    dialog.window_.commands["export"].trigger()
    again = QApplication.activeModalWidget()
    assert again.form.name == "cutout"
    again.reject()


def test_without_an_answer_the_dialog_says_why(make_window, picture_file, qtbot):
    window = make_window(picture_file())
    window.commands["export"].trigger()
    dialog = QApplication.activeModalWidget()
    assert not dialog._export.isEnabled()
    qtbot.waitUntil(lambda: "foreground" in dialog._state.text())
    dialog.reject()


def test_after_a_preview_and_undo_the_last_answer_is_shown_and_exported(
    make_window, picture_file, gated, two_strokes, qtbot, tmp_path
):
    window = make_window(picture_file(), gated)
    for stroke in two_strokes:
        window.session.add_stroke(stroke)
    gated.gate.release(3)
    answers = window.session.answers
    qtbot.waitUntil(lambda: answers.is_current)
    final = answers.shown.labels
    window.session.add_stroke(Stroke(((60.0, 10.0),), 6.0, 0))
    gated.gate.release(2)
    qtbot.waitUntil(lambda: not np.array_equal(answers.shown.labels, final))
    assert not window.commands["copy_mask"].isEnabled()
    window.commands["undo"].trigger()
    np.testing.assert_array_equal(answers.shown.labels, final)
    assert window.status.state_text == "Up to date"
    assert window.commands["copy_mask"].isEnabled()
    window.commands["export"].trigger()
    dialog = QApplication.activeModalWidget()
    choose(dialog, "mask")
    dialog._path.setText(str(tmp_path / "mask.png"))
    with qtbot.waitSignal(dialog.exported):
        qtbot.mouseClick(dialog._export, Qt.MouseButton.LeftButton)
    mask = np.array(Image.open(tmp_path / "mask.png"))
    np.testing.assert_array_equal(mask, np.where(final == 0, 255, 0))


def test_closing_waits_for_no_file_that_is_being_written(
    make_window, picture_file, answered, qtbot, monkeypatch
):
    window = answered(make_window(picture_file()))
    began, may_end = threading.Event(), threading.Event()

    def write(*_):
        began.set()
        may_end.wait(20)
        return ()

    held = FORMATS | {"mask": replace(FORMATS["mask"], write=write)}
    monkeypatch.setattr(export_dialog, "formats", lambda _choices: held)
    window.commands["export"].trigger()
    dialog = QApplication.activeModalWidget()
    qtbot.mouseClick(dialog._export, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(began.is_set)
    timer = threading.Timer(3, may_end.set)
    timer.start()
    dialog.reject()
    assert not may_end.is_set()
    assert not dialog.isVisible()
    assert window.file_commands.close(0) is False
    with qtbot.waitSignal(dialog.threads_ended):
        may_end.set()
    timer.cancel()
    timer.join()
    assert window.file_commands.close(0)


def test_the_dialog_requests_an_answer_that_no_job_is_making(
    make_window, picture_file, two_strokes, qtbot
):
    window = make_window(picture_file())
    window.session.answers.set_live(False)
    for stroke in two_strokes:
        window.session.add_stroke(stroke)
    assert not window.session.answers.is_current
    window.commands["export"].trigger()
    dialog = QApplication.activeModalWidget()
    qtbot.waitUntil(dialog._export.isEnabled)
    dialog.reject()


def test_a_picture_whose_name_is_no_text_is_exported_beside_it(
    make_window, picture_file, answered, qtbot
):
    path = picture_file("caf\udce9/caf\udce9.png")
    window = answered(make_window(path))
    window.commands["export"].trigger()
    dialog = QApplication.activeModalWidget()
    with qtbot.waitSignal(dialog.exported) as signal:
        qtbot.mouseClick(dialog._export, Qt.MouseButton.LeftButton)
    (written,) = signal.args[0]
    assert written == path.with_name("caf\udce9-mask.png")
    assert written.exists()
    assert window.preferences.folder("export/folder") == path.parent


@pytest.mark.parametrize(("name", "edge"), [("cutout", 0.0), ("cutout", 3.0), ("alpha", 3.0)])
def test_the_edge_is_chosen_written_and_remembered(dialog, qtbot, tmp_path, name, edge):
    choose(dialog, name)
    box = dialog.choices_box
    assert box.edge.isVisible()
    assert not box.scale_box.isVisible()
    box.edge.kind.setCurrentIndex(1 if edge == 0 else 2)
    box.edge.width_box.setValue(edge or 7.0)
    window, target = dialog.window_, tmp_path / "out.png"
    dialog._path.setText(str(target))
    session = window.session
    (expected,) = formats(ExportChoices(edge))[name].write(
        tmp_path / "expected.png", session.answers.shown, session.document, session.picture
    )
    with qtbot.waitSignal(dialog.exported):
        qtbot.mouseClick(dialog._export, Qt.MouseButton.LeftButton)
    assert target.read_bytes() == expected.read_bytes()
    assert remembered_choices(window.preferences) == ExportChoices(edge)


def test_measures_take_a_scale(dialog, qtbot, tmp_path):
    choose(dialog, "measures")
    box = dialog.choices_box.scale_box
    assert box.isVisible()
    assert not dialog.choices_box.edge.isVisible()
    box.unit.setText("µm")
    box.pixel.setValue(0.25)
    choices = ExportChoices(None, Scale(0.25, "µm"))
    assert dialog.choices_box.choices == choices
    session, target = dialog.window_.session, tmp_path / "out.csv"
    dialog._path.setText(str(target))
    (expected,) = formats(choices)["measures"].write(
        tmp_path / "expected.csv", session.answers.shown, session.document, session.picture
    )
    with qtbot.waitSignal(dialog.exported):
        qtbot.mouseClick(dialog._export, Qt.MouseButton.LeftButton)
    assert target.read_bytes() == expected.read_bytes()


def test_a_background_is_seen_written_and_remembered(dialog, qtbot, monkeypatch, tmp_path):
    choose(dialog, "mask")
    assert not dialog.choices_box.isVisible()
    choose(dialog, "cutout")
    shown = dialog._preview  # until it is that of the cut-out, it is the mask's
    qtbot.waitUntil(lambda: shown.image is not None and shown.image.hasAlphaChannel())
    box = dialog.choices_box.backdrop
    monkeypatch.setattr(QColorDialog, "getColor", lambda *_: QColor(10, 200, 30))
    box.choice.setCurrentIndex(3)
    box.choice.activated.emit(3)
    assert dialog.choices_box.choices.backdrop == (10, 200, 30)
    window, target = dialog.window_, tmp_path / "out.png"
    dialog._path.setText(str(target))
    with qtbot.waitSignal(dialog.exported):
        qtbot.mouseClick(dialog._export, Qt.MouseButton.LeftButton)
    written = np.asarray(Image.open(target))
    inside = window.session.answers.shown.labels == 0
    assert written.shape == (*inside.shape, 3)
    assert (written[~inside][-1] == (10, 200, 30)).all()
    assert remembered_choices(window.preferences).backdrop == (10, 200, 30)
    assert window.view_bar.cutout.backdrop.backdrop == (10, 200, 30)


def test_after_an_export_its_folder_can_be_shown(dialog, qtbot, monkeypatch, tmp_path):
    window, opened = dialog.window_, []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url.toLocalFile()))
    assert not window.status.folder.isVisible()
    dialog._path.setText(str(tmp_path / "out.png"))
    qtbot.waitUntil(dialog._export.isEnabled)
    with qtbot.waitSignal(dialog.exported):
        qtbot.mouseClick(dialog._export, Qt.MouseButton.LeftButton)
    qtbot.mouseClick(window.status.folder, Qt.MouseButton.LeftButton)
    assert opened == [str(tmp_path)]
    window.show_message("something else")
    assert not window.status.folder.isVisible()


def test_a_cancelled_or_broken_background_changes_nothing(dialog, monkeypatch, tmp_path):
    choose(dialog, "cutout")
    box = dialog.choices_box.backdrop
    broken = tmp_path / "broken.jpg"
    broken.write_bytes(b"no image")
    told = []
    monkeypatch.setattr(QMessageBox, "warning", lambda *words: told.append(words[-1]))
    for answer in (None, broken):
        monkeypatch.setattr(file_dialogs, "ask_image", lambda *_, path=answer: path)
        box.choice.activated.emit(4)
        assert box.backdrop is None
        assert box.choice.currentIndex() == 0
    assert len(told) == 1
    assert "broken.jpg" in told[0]


def test_the_preview_is_coarse_first_and_zooms(dialog, qtbot):
    images, show = [], dialog._preview.show_preview

    def note(image, text):
        images.append((image, text))
        show(image, text)

    dialog._preview.show_preview = note
    choose(dialog, "cutout")
    qtbot.waitUntil(lambda: images[-1][0] is not None and not images[-1][1])
    coarse = [text for image, text in images if image is not None]
    assert coarse[0] == "Coarse preview"
    preview = dialog._preview
    centre = QPointF(preview.rect().center())
    corner = QPointF(preview.width() * 0.3, preview.height() * 0.3)
    before = preview._share_at(corner)
    for _ in range(4):
        wheel(preview, corner, 120)
    assert preview.zoom == pytest.approx(1.25**4)
    after = preview._share_at(corner)
    assert (after.x(), after.y()) == pytest.approx((before.x(), before.y()), abs=0.02)
    start = preview._centre
    qtbot.mousePress(preview, Qt.MouseButton.LeftButton, pos=centre.toPoint())
    preview.mouseMoveEvent(moved(preview, centre - QPointF(20, 0)))
    qtbot.mouseRelease(preview, Qt.MouseButton.LeftButton)
    assert preview._centre.x() > start.x()
    qtbot.mouseDClick(preview, Qt.MouseButton.LeftButton)
    assert preview.zoom == 1.0


def wheel(widget, at, notches):
    event = QWheelEvent(
        at,
        QPointF(widget.mapToGlobal(at.toPoint())),
        QPoint(),
        QPoint(0, notches),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(widget, event)


def moved(widget, at):
    return QMouseEvent(
        QEvent.Type.MouseMove,
        at,
        widget.mapToGlobal(at),
        Qt.MouseButton.NoButton,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )


def test_of_several_classes_one_can_be_chosen(
    make_window, picture_file, answered, qtbot, tmp_path
):
    window = answered(make_window(picture_file()))
    document = window.session.document
    three = document.with_class(replace(document.classes[0], name="cat"))
    window.session.edit("a third", three)
    qtbot.waitUntil(lambda: window.session.answers.is_current)
    qtbot.keyClick(window.canvas, Qt.Key.Key_E, Qt.KeyboardModifier.ControlModifier)
    dialog = QApplication.activeModalWidget()
    choose(dialog, "indexed")
    assert not dialog.choices_box.isVisible()
    choose(dialog, "mask")
    only = dialog.choices_box.only
    assert only.isVisible()
    assert [only.itemData(row) for row in range(only.count())] == [
        None,
        *(info.name for info in three.classes),
    ]
    labels = window.session.answers.shown.labels
    for row, white in ((0, labels != three.background), (2, labels == 1)):
        only.setCurrentIndex(row)
        qtbot.waitUntil(lambda: dialog._preview.image is not None)
        path = tmp_path / f"{row}.png"
        formats(dialog.choices_box.choices)["mask"].write(
            path, window.session.answers.shown, three, window.session.picture
        )
        with Image.open(path) as image:
            assert (np.array(image) == np.where(white, 255, 0)).all()
    dialog.reject()


def held_cutout(monkeypatch, steps):
    """Let the cut-out be made step by step; return how often it was begun."""
    begun = []

    def long(path, *_):
        begun.append(path)
        for step in range(4):
            steps.acquire(timeout=20)
            yield step / 4
        path.write_bytes(b"made")
        return (path,)

    made = formats(ExportChoices())
    cutout = replace(made["cutout"], write_steps=long)
    monkeypatch.setattr(export_dialog, "formats", lambda _: made | {"cutout": cutout})
    return begun


def test_a_long_export_reports_its_progress_and_is_not_made_twice(
    dialog, qtbot, monkeypatch, tmp_path
):
    steps = threading.Semaphore(0)
    begun = held_cutout(monkeypatch, steps)
    choose(dialog, "cutout")
    for _ in range(3):
        steps.release()
    qtbot.waitUntil(lambda: "50 %" in dialog._preview.text)
    for _ in range(9):
        steps.release()
    qtbot.waitUntil(lambda: dialog._content == b"made")
    dialog._path.setText(str(tmp_path / "out.png"))
    with qtbot.waitSignal(dialog.exported):
        dialog._export.click()
    assert (tmp_path / "out.png").read_bytes() == b"made"
    assert len(begun) == 1


def test_a_long_export_is_stopped_by_closing(dialog, qtbot, monkeypatch, tmp_path):
    steps = threading.Semaphore(0)
    begun = held_cutout(monkeypatch, steps)
    choose(dialog, "cutout")
    dialog._path.setText(str(tmp_path / "out.png"))
    qtbot.waitUntil(lambda: len(begun) == 1)
    dialog._export.click()  # before its preview is there: which is given up
    steps.release()
    qtbot.waitUntil(lambda: len(begun) == 2)
    for _ in range(2):
        steps.release()
    qtbot.waitUntil(lambda: "%" in dialog._state.text())
    with qtbot.waitSignal(dialog.threads_ended):
        dialog.reject()
        steps.release(8)  # the two may have taken their steps in any order
    assert not (tmp_path / "out.png").exists()


def test_one_annotation_per_part_object_or_class(dialog, qtbot, tmp_path):
    """Where it makes a difference, it is offered, written and remembered."""
    box = dialog.choices_box
    for name, form in FORMATS.items():
        choose(dialog, name)
        assert box.per.isVisible() == form.per_region
    assert {name for name, form in FORMATS.items() if form.per_region} == {
        "coco-rle",
        "coco-polygons",
        "labelme",
        "rois",
    }
    choose(dialog, "coco-rle")
    box.per.setCurrentIndex(2)
    assert dialog.form.write.keywords["per"] is AnnotationScope.CLASS
    dialog._path.setText(str(tmp_path / "out.json"))
    with qtbot.waitSignal(dialog.exported):
        qtbot.mouseClick(dialog._export, Qt.MouseButton.LeftButton)
    assert remembered_choices(dialog.window_.preferences).per is AnnotationScope.CLASS
