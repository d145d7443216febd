"""Measures in the window: the table, the part in the picture, the file; nothing while hidden."""

import csv
import io

import numpy as np
import pytest
from PIL import Image
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication

from segapp.io.desktop import SAMPLES
from segapp.io.export.formats import ExportChoices, formats
from segapp.model.document import Stroke
from segapp.model.picture import Scale
from segapp.qt.files import file_dialogs
from segapp.qt.panels.measures_panel import heading

AREA = 6  # the column
AREAS = {(10, 10): 5, (10, 50): 7, (40, 30): 3}  # place of the corner, and half a square's side


@pytest.fixture
def window(make_window, tmp_path, qtbot):
    """Open three red squares on blue ground, answered."""
    rgb = np.full((60, 80, 3), (40, 40, 200), np.uint8)
    for (top, left), half in AREAS.items():
        rgb[top : top + 2 * half, left : left + 2 * half] = (200, 40, 40)
    path = tmp_path / "squares.png"
    Image.fromarray(rgb).save(path)
    opened = make_window(path)
    for stroke in ((12.0, 12.0, 0), (70.0, 50.0, 1)):
        x, y, label = stroke
        opened.session.add_stroke(_dot(x, y, label))
    qtbot.waitUntil(lambda: opened.session.answers.is_current)
    return opened


def _dot(x, y, label):
    return Stroke(((x, y),), 1.0, label)


def look(window, qtbot):
    """Show the table and wait for its rows."""
    window.measuring.dock.show()
    window.measuring.dock.raise_()
    panel = window.measuring.panel
    qtbot.waitUntil(lambda: bool(panel.texts()))
    return panel


def test_nothing_is_measured_while_the_panel_is_hidden(window, qtbot):
    panel = window.measuring.panel
    assert not panel.isVisible()
    assert not window.measuring._jobs.busy
    assert panel.texts() == []
    assert "3 objects" in look(window, qtbot).text


def test_rows_are_those_of_the_file(window, qtbot, tmp_path):
    panel = look(window, qtbot)
    session = window.session
    (path,) = formats(ExportChoices())["measures"].write(
        tmp_path / "m.csv", session.answers.answer.labelling, session.document, session.picture
    )
    header, *rows = csv.reader(path.read_text(encoding="utf-8").splitlines())
    assert panel.texts() == rows
    assert header[AREA] == "area_px"
    assert [row[AREA] for row in rows[1:]] == ["100", "196", "36"]


def test_sorting_goes_by_size_and_not_by_letters(window, qtbot):
    panel = look(window, qtbot)
    panel.view.sortByColumn(AREA, Qt.SortOrder.AscendingOrder)
    assert [row[AREA] for row in panel.texts()] == ["36", "100", "196", "332"]
    panel.view.sortByColumn(AREA, Qt.SortOrder.DescendingOrder)
    assert [row[AREA] for row in panel.texts()] == ["332", "196", "100", "36"]


def test_choosing_a_row_outlines_its_part_and_return_goes_near(window, qtbot):
    panel, canvas = look(window, qtbot), window.canvas
    panel.view.selectRow(2)
    lines = canvas._selection
    corners = {(point.x(), point.y()) for line in lines for point in (line.p1(), line.p2())}
    xs, ys = zip(*corners, strict=True)
    assert (min(xs), max(xs), min(ys), max(ys)) == (50, 64, 10, 24)
    assert sum(line.length() for line in lines) == 4 * 14
    scale = canvas.viewport.view.scale
    panel.view.setCurrentIndex(panel.view.model().index(2, 0))
    qtbot.keyClick(panel.view, Qt.Key.Key_Return)
    assert canvas.viewport.view.scale > scale
    window.measuring.dock.hide()
    assert canvas._selection == ()


def test_picture_table_and_plot_choose_the_same_objects(window, qtbot):
    panel, objects = look(window, qtbot), window.object_commands
    qtbot.waitUntil(lambda: objects.found is not None)
    objects.select([(0, 2)])
    assert [index.row() for index in panel.view.selectionModel().selectedRows()] == [2]
    panel.view.selectRow(3)
    assert objects.selected == ((0, 3),)
    plot = panel.plot
    plot.across.setCurrentIndex(plot.across.findData("area_px"))
    plot.up.setCurrentIndex(plot.up.findData("mean_red"))
    areas = plot._shown.column("area_px").tolist()
    assert areas == [100, 196, 36]
    assert set(plot._shown.colours) == {window.session.document.classes[0].colour}
    plot.area.resize(300, 200)
    point = plot.area.points()[0]
    qtbot.mouseClick(plot.area, Qt.MouseButton.LeftButton, pos=point.toPoint())
    assert objects.selected == ((0, 1),)
    assert [index.row() for index in panel.view.selectionModel().selectedRows()] == [1]
    plot.up.setCurrentIndex(0)  # the histogram
    places, edges = plot.area.bins()
    assert [int(place) for place in np.digitize(areas, edges[1:-1])] == places.tolist()
    last = plot.area._frame.topRight().toPoint()
    last.setX(last.x() - 2)
    qtbot.mouseClick(plot.area, Qt.MouseButton.LeftButton, pos=last)
    assert objects.selected == ((0, 2),)


def test_the_scale_bar_is_shown_where_pixels_have_a_size(window, qtbot):
    panel, canvas = look(window, qtbot), window.canvas
    assert canvas._scene().scale is None
    panel.scale_box.unit.setText("mm")
    panel.scale_box.pixel.setValue(0.5)
    assert canvas._scene().scale == window.session.picture.scale
    window.commands["show_scale_bar"].trigger()
    assert canvas._scene().scale is None


def test_a_typed_scale_holds_for_the_folder(window, qtbot, make_window, tmp_path):
    panel = look(window, qtbot)
    box = panel.scale_box
    assert not box.source.isVisible()
    box.unit.setText("mm")
    box.pixel.setValue(0.5)
    assert panel.texts()[1][AREA + 1] == "25"  # 100 pixels of a quarter of a square millimetre
    assert box.source.text() == "from the folder"
    other = tmp_path / "other.png"
    Image.new("RGB", (30, 20)).save(other)
    again = make_window(other)
    assert again.session.picture.scale == Scale(0.5, "mm", "the folder")
    assert window.session.picture.scale == Scale(0.5, "mm", "the folder")


def test_a_class_that_splits_is_measured_by_its_pieces(window, qtbot):
    panel = look(window, qtbot)
    session = window.session
    before = session.answers.answer
    session.edit("split", session.document.with_all_split())
    qtbot.waitUntil(lambda: session.answers.is_current and session.answers.answer is not before)
    qtbot.waitUntil(lambda: bool(panel.texts()))
    assert "3 objects" in panel.text


def test_a_new_answer_is_measured_anew_and_none_withdraws_the_table(window, qtbot):
    panel = look(window, qtbot)
    window.session.add_stroke(_dot(70.0, 5.0, 0))
    qtbot.waitUntil(lambda: window.session.answers.is_current)
    qtbot.waitUntil(lambda: bool(panel.texts()))
    window.commands["clear"].trigger()
    qtbot.waitUntil(lambda: panel.texts() == [])
    assert "no result" in panel.text
    assert not panel.export.isEnabled()


def test_copy_takes_what_is_chosen_or_all(window, qtbot):
    panel = look(window, qtbot)
    for chosen, wanted in ((None, 4), (1, 1)):
        if chosen is not None:
            panel.view.selectRow(chosen)
        qtbot.mouseClick(panel.copy, Qt.MouseButton.LeftButton)
        text = QGuiApplication.clipboard().text()
        rows = list(csv.reader(io.StringIO(text), delimiter="\t"))
        assert len(rows) == 1 + wanted


def test_the_file_equals_the_export(window, qtbot, tmp_path, monkeypatch):
    panel, path = look(window, qtbot), tmp_path / "out.csv"
    monkeypatch.setattr(file_dialogs, "ask_table", lambda *_: path)
    qtbot.mouseClick(panel.export, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: "out.csv" in window.status.currentMessage())
    rows = list(csv.reader(path.read_text(encoding="utf-8").splitlines()))
    assert rows[1:] == panel.texts()


def test_the_file_of_a_sample_goes_among_the_users_files(
    make_window, qtbot, tmp_path, monkeypatch, documents
):
    window = make_window(sorted(SAMPLES.glob("*.jpg"))[0])
    for stroke in ((200.0, 200.0, 0), (10.0, 10.0, 1)):
        window.session.add_stroke(_dot(*stroke))
    qtbot.waitUntil(lambda: window.session.answers.is_current)
    proposed = []
    monkeypatch.setattr(file_dialogs, "ask_table", lambda _, path: proposed.append(path))
    panel = look(window, qtbot)
    qtbot.mouseClick(panel.export, Qt.MouseButton.LeftButton)
    assert proposed[0].parent == documents


def test_numbers_have_no_idle_zeros(window, qtbot):
    box = look(window, qtbot).scale_box.pixel
    assert box.text() == "1"
    box.setValue(0.25)
    assert box.text() == "0.25"
    box.setValue(100)
    assert box.text() == "100"


def test_columns_are_named_for_people():
    names = {
        "class": "class",
        "area_px": "area px",
        "area_µm2": "area µm²",
        "perimeter_µm": "perimeter µm",
        "mean_red": "mean red",
        "mean_channel_4": "mean channel 4",
        "x": "x",
    }
    assert {name: heading(name) for name in names} == names


# Truth -----------------------------------------------------------------------------------------


def test_each_answer_is_compared_with_the_truth(
    make_window, picture_file, answered, qtbot, tmp_path
):
    window = answered(make_window(picture_file()))
    labels = window.session.answers.shown.labels
    truth = np.where(labels == 0, 255, 0).astype(np.uint8)
    truth[:10] = 128  # not judged
    truth[20:30, :20] = 0
    Image.fromarray(truth).save(tmp_path / "truth.png")
    chip = window.status.truth
    assert not chip.isVisible()
    window.truth_commands.load(tmp_path / "truth.png")
    qtbot.waitUntil(chip.isVisible)
    scored, found = truth != 128, (labels == 0) & (truth != 128)
    wanted = (found & (truth == 255)).sum() / ((found | (truth == 255)) & scored).sum()
    assert chip.text() == f"IoU {100 * wanted:.1f} %"
    assert "background: " in chip.toolTip()
    chip.click()
    assert sum(line.length() for line in window.canvas._selection) == 2 * (10 + 20)
    with qtbot.waitSignal(window.files.opened):
        window.files.open(picture_file("other.png"))
    assert not chip.isVisible()
    assert not window.canvas._selection


def test_a_truth_that_does_not_fit_is_refused_in_a_sentence(
    make_window, picture_file, answered, monkeypatch, tmp_path
):
    window = answered(make_window(picture_file()))
    Image.fromarray(np.zeros((3, 5), np.uint8)).save(tmp_path / "small.png")
    told = []
    monkeypatch.setattr(file_dialogs, "complain", lambda _, text, *more: told.append(text))
    window.truth_commands.load(tmp_path / "small.png")
    assert told == ["small.png has 5 x 3 pixels: wanted the image's 80 x 60."]
    assert not window.status.truth.isVisible()
