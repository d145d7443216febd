"""Widgets that stand in several lines where one is too narrow."""

import gc

import pytest
from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtWidgets import QVBoxLayout, QWidget

from segapp.qt.widgets import WrappingRow


class Block(QWidget):
    def __init__(self, width, height):
        super().__init__()
        self._size = QSize(width, height)

    def sizeHint(self):
        return self._size

    def minimumSizeHint(self):
        return self._size


@pytest.fixture
def blocks(qtbot):
    outer = QWidget()
    qtbot.addWidget(outer)
    wrapping = WrappingRow()
    blocks = [Block(100, 20), Block(60, 30), Block(80, 20)]
    for block in blocks:
        wrapping.add(block)
    whole = QVBoxLayout(outer)
    whole.setContentsMargins(0, 0, 0, 0)
    whole.addWidget(wrapping)
    whole.addStretch()
    return outer, wrapping, blocks


def test_it_asks_for_one_line_and_does_with_the_widest(blocks):
    _, wrapping, _ = blocks
    assert wrapping.sizeHint() == QSize(100 + 6 + 60 + 6 + 80, 30)
    assert wrapping.minimumSizeHint() == QSize(100, 30)
    assert wrapping.heightForWidth(252) == 30
    assert wrapping.heightForWidth(251) == 30 + 6 + 20
    assert wrapping.heightForWidth(100) == 20 + 6 + 30 + 6 + 20


def test_lines_are_as_many_as_the_width_wants(blocks, qtbot):
    outer, wrapping, (first, second, third) = blocks
    outer.resize(170, 300)
    outer.show()
    qtbot.waitUntil(lambda: wrapping.height() == 56)
    assert [b.geometry() for b in (first, second, third)] == [
        QRect(0, 0, 100, 20),
        QRect(106, 0, 60, 30),
        QRect(0, 36, 80, 20),
    ]
    second.hide()
    qtbot.waitUntil(lambda: third.geometry() == QRect(0, 26, 80, 20))


def test_from_right_to_left(blocks, qtbot):
    outer, wrapping, (first, second, _) = blocks
    outer.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    outer.resize(170, 300)
    outer.show()
    qtbot.waitUntil(lambda: wrapping.height() == 56)
    assert first.geometry() == QRect(70, 0, 100, 20)
    assert second.geometry() == QRect(4, 0, 60, 30)


def test_its_widgets_outlive_a_collection_of_garbage(blocks, qtbot):
    """A layout written in Python did not: its items were deleted, and the window crashed."""
    outer, wrapping, _ = blocks
    outer.show()
    for _ in range(3):
        gc.collect()
        outer.layout().invalidate()
        assert outer.sizeHint().width() == wrapping.sizeHint().width()
