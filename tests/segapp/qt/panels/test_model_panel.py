import numpy as np
import pytest

from segapp.qt.panels.model_panel import ModelPanel
from segapp.values.document import Document
from segapp.values.updates import Insight


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


def test_all_four_are_shown_and_told(panel, insight):
    panel.show_insight(insight, Document().classes)
    assert panel._weights.accessibleDescription() == ("colour, σ 0.5 0.500; position, σ 1 0.500")
    assert panel._codewords.accessibleDescription() == "foreground ++; background -+"
    assert panel._objective.accessibleDescription() == "from 9 to 1"
    assert "bits 0.300 s" in panel._timing.accessibleDescription()


def test_weights_of_one_bit(panel, insight):
    panel.show_insight(insight, Document().classes)
    panel._bit.setCurrentIndex(2)
    assert "position, σ 1 0.750" in panel._weights.accessibleDescription()


def test_each_drawing_follows_its_values(panel, insight):
    """A picture of the widget changes when what it shows changes."""
    panel.show_insight(insight, Document().classes)
    widgets = [panel._weights, panel._codewords, panel._objective, panel._timing]
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
    grid = panel._codewords
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


def test_the_windows_panel_follows_the_answer(make_window, picture_file, answered):
    window = answered(make_window(picture_file()))
    assert "colour" in window.model_panel._weights.accessibleDescription()
    window.session.clear()
    window.session.answers.update_now()


def test_a_class_without_strokes_has_no_codeword(qtbot):
    from segapp.qt.panels.charts import CodewordGrid
    from segapp.values.document import ClassInfo

    grid = CodewordGrid()
    qtbot.addWidget(grid)
    classes = tuple(ClassInfo(name, (9, 9, 9)) for name in ("a", "unmarked", "b"))
    grid.show_codewords(np.array([[[1, -1]], [[0, 0]], [[-1, 1]]], np.int8), classes)
    assert grid.accessibleDescription() == "a +-; b -+"
