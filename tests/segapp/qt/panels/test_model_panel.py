import numpy as np
import pytest
from PySide6.QtCore import Qt

from segapp.app.state import Content
from segapp.model.document import Document
from segapp.model.labelling import Insight
from segapp.qt.panels.model_panel import ModelPanel


@pytest.fixture
def insight():
    return Insight(
        kernels=("colour, sigma 0.5", "position, sigma 1"),
        kernel_weights=np.array([[0.75, 0.25], [0.25, 0.75]]),
        codewords=np.array([[[1, 1]], [[-1, 1]]], dtype=np.int8),
        objective=(9.0, 4.0, 1.0),
        seconds={"kernels": 0.1, "bits": 0.3},
    )


@pytest.fixture
def panel(qtbot):
    made = ModelPanel()
    qtbot.addWidget(made)
    made.resize(300, 700)
    made.show()
    return made


def test_before_there_is_an_answer_the_panel_says_so(panel):
    assert panel._empty.isVisible()
    assert not panel._content.isVisible()


def test_all_four_sections_are_shown_and_described(panel, insight):
    panel.show_insight(insight, Document().classes)
    assert panel.view.weights.accessibleDescription() == (
        "colour, σ 0.5 0.500; position, σ 1 0.500"
    )
    assert panel.view.codewords.accessibleDescription() == "foreground ++; background -+"
    assert panel.view.objective.accessibleDescription() == "from 9 to 1"
    assert "bits 0.300 s" in panel.view.timing.accessibleDescription()


def test_weights_of_one_bit(panel, insight):
    panel.show_insight(insight, Document().classes)
    panel.view.bit.setCurrentIndex(2)
    assert "position, σ 1 0.750" in panel.view.weights.accessibleDescription()


def test_each_drawing_follows_its_values(panel, insight):
    """A picture of the widget changes when what it shows changes."""
    panel.show_insight(insight, Document().classes)
    widgets = [panel.view.weights, panel.view.codewords, panel.view.objective, panel.view.timing]
    before = [widget.grab().toImage() for widget in widgets]
    other = Insight(
        kernels=insight.kernels,
        kernel_weights=np.array([[0.9, 0.1], [0.9, 0.1]]),
        codewords=-insight.codewords,
        objective=(9.0, 8.0, 7.5, 1.0),
        seconds={"kernels": 0.3, "bits": 0.1},
    )
    panel.show_insight(other, Document().classes)
    after = [widget.grab().toImage() for widget in widgets]
    assert all(a != b for a, b in zip(before, after, strict=True))


def test_codewords_are_filled_for_plus_and_empty_for_minus(panel, insight):
    panel.show_insight(insight, Document().classes)
    grid = panel.view.codewords
    grid.resize(300, grid.sizeHint().height())
    image = grid.grab().toImage()
    orange = sum(
        image.pixelColor(x, y).name() == "#e69f00"
        for x in range(image.width())
        for y in range(image.height() // 2)
    )
    blue = sum(
        image.pixelColor(x, y).name() == "#0072b2"
        for x in range(image.width())
        for y in range(image.height() // 2, image.height())
    )
    assert orange > 1.4 * blue > 0  # two filled squares against one


def test_the_windows_panel_follows_the_answer_once_it_is_visible(
    make_window, picture_file, answered, qtbot
):
    window = make_window(picture_file())
    weights = window.model_panel.view.weights
    window = answered(window)
    assert not weights.accessibleDescription()  # hidden behind the settings
    window.docks.inside.raise_()
    qtbot.waitUntil(lambda: "colour" in weights.accessibleDescription())
    answers = answered(window).session.answers
    assert window.model_panel.view._insight is answers.insight
    window.docks.settings.raise_()
    qtbot.waitUntil(lambda: not window.model_panel._is_active)
    looked_at = answers.insight
    assert answered(window).session.answers.insight is not looked_at
    assert window.model_panel.view._insight is looked_at
    window.session.clear()
    window.session.answers.update_now()


def test_a_class_without_strokes_has_no_codeword(qtbot):
    from segapp.model.classes import ClassInfo
    from segapp.qt.widgets import CodewordGrid

    grid = CodewordGrid()
    qtbot.addWidget(grid)
    classes = tuple(ClassInfo(name, (9, 9, 9)) for name in ("a", "unmarked", "b"))
    grid.show_codewords(np.array([[[1, -1]], [[0, 0]], [[-1, 1]]], np.int8), classes)
    assert grid.accessibleDescription() == "a +-; b -+"


# Saving and comparing -----------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".png", ".csv", ".json"])
def test_learnt_parameters_are_saved_as_drawing_table_or_json(
    panel, insight, tmp_path, monkeypatch, suffix
):
    from PIL import Image
    from PySide6.QtWidgets import QFileDialog

    from segapp.io.export.tables import insight_csv, insight_json

    classes = Document().classes
    panel.show_insight(insight, classes)
    path = tmp_path / f"inside{suffix}"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), ""))
    panel._save.click()
    if suffix == ".png":
        with Image.open(path) as image:
            assert image.size == (2 * panel.view.width(), 2 * panel.view.height())
            assert len(image.convert("RGB").getcolors(1 << 24)) > 20
    else:
        told = insight_csv if suffix == ".csv" else insight_json
        assert path.read_text(encoding="utf-8") == told(insight, classes)


def test_answers_are_kept_and_compared_side_by_side(
    make_window, picture_file, answered, qtbot, two_strokes
):
    from PySide6.QtWidgets import QApplication

    from segapp.model.settings import PRESETS
    from segapp.qt.panels.model_panel import ComparisonDialog

    window = make_window(picture_file())
    answered(window)
    panel, session = window.model_panel, window.session
    assert len(panel.kept) == 1
    assert not panel._compare.isEnabled()
    session.set_settings(PRESETS["paper"])
    qtbot.waitUntil(lambda: session.answers.is_current)
    # The whole right half painted over in the left one's class: half of the picture moves.
    session.add_stroke(type(two_strokes[0])(((60.0, 0.0), (60.0, 60.0)), 40.0, 0))
    session.add_stroke(two_strokes[1])
    qtbot.waitUntil(lambda: session.answers.is_current)
    window.docks.inside.raise_()
    qtbot.mouseClick(panel._compare, Qt.MouseButton.LeftButton)
    dialog = QApplication.activeModalWidget()
    assert isinstance(dialog, ComparisonDialog)
    names = [dialog.left.choice.itemText(row) for row in range(dialog.left.choice.count())]
    assert names[:2] == ["One object, 2 strokes", "Paper, 2 strokes"]
    assert dialog.right.choice.currentIndex() == len(names) - 1
    first, last = panel.kept[0], panel.kept[-1]
    dialog.left.choice.setCurrentIndex(0)
    share = (first.labels != last.labels).mean()
    assert dialog.text.startswith(f"{share:.1%} of the pixels differ.")
    assert "strokes 2 → 4" in dialog.text
    assert "Follow the edges on → off" in dialog.text
    drawn = first.difference_picture(last)
    coloured = np.ptp(drawn.astype(int), axis=2) > 0
    np.testing.assert_array_equal(coloured, first.labels != last.labels)
    dialog.left.choice.setCurrentIndex(len(names) - 1)
    assert dialog.text.startswith("0.0% of the pixels differ. Settings and strokes are the same.")
    dialog.reject()
    with qtbot.waitSignal(window.files.opened):
        window.files.open(picture_file("other.png"))
    assert panel.kept == ()


def test_a_kept_answer_of_a_large_picture_is_small_and_true():
    from pathlib import Path

    from segapp.model.labelling import Labelling
    from segapp.model.picture import Picture
    from segapp.qt.panels.model_panel import ComparedAnswer

    labels = np.zeros((3000, 2000), np.uint8)
    labels[:, 1000:] = 1
    rgb = np.full((3000, 2000, 3), 100, np.uint8)
    margin, codes = np.ones(labels.shape, np.float32), labels.astype(np.uint32)
    picture = Picture(rgb, None, Path("x.png"), "0", "")
    kept = ComparedAnswer.of("x", None, Content(), Labelling(labels, margin, codes, 2, 1), picture)
    assert max(kept.labels.shape) <= 480
    assert kept.overlay.shape == (*kept.labels.shape, 3)
    assert kept.labels.mean() == pytest.approx(0.5, abs=0.01)
    assert not np.array_equal(kept.overlay[0, 0], kept.overlay[0, -1])


def test_the_comparison_is_no_larger_than_the_screen(make_window, picture_file, qtbot, answered):
    from segapp.qt.panels.model_panel import ComparisonDialog

    window = answered(make_window(picture_file()))
    kept = window.model_panel.kept[-1]
    dialog = ComparisonDialog((kept, kept))
    qtbot.addWidget(dialog)
    dialog.show()
    room = dialog.screen().availableSize()
    assert dialog.width() < room.width()
    assert dialog.height() < room.height()
