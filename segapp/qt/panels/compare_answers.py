"""Two answers side by side: what they look like, and what was learnt for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QPixmap
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFrame,
    QHBoxLayout,
    QLabel,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from segapp.qt.canvas.qimage import qimage_over
from segapp.qt.canvas.screen_pixels import opaque
from segapp.qt.dialog_size import open_at
from segapp.qt.language import number
from segapp.qt.panels.insight_view import InsightView
from segapp.qt.panels.wheel_guard import WheelGuard

if TYPE_CHECKING:
    from segapp.qt.panels.compared_answer import ComparedAnswer

_PICTURE = QSize(380, 260)


class _Side(QWidget):
    """One answer: a choice, its picture, and what was learnt."""

    def __init__(self, answers: tuple[ComparedAnswer, ...], name: str, chosen: int) -> None:
        super().__init__()
        self._answers = answers
        self.choice = QComboBox()
        self.choice.setAccessibleName(name)
        self.choice.setToolTip(self.tr("One of the last answers for this picture"))
        self.choice.addItems([answer.name for answer in answers])
        WheelGuard(self).watch(self.choice)
        self._picture = QLabel()
        self._picture.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._picture.setFixedHeight(_PICTURE.height())
        self._view = InsightView()
        column = QVBoxLayout(self)
        column.setContentsMargins(6, 6, 6, 6)
        column.setSpacing(10)
        column.addWidget(self.choice)
        column.addWidget(self._picture)
        column.addWidget(self._view)
        column.addStretch(1)
        self.choice.currentIndexChanged.connect(self._show)
        self.choice.setCurrentIndex(chosen)
        self._show()

    @property
    def answer(self) -> ComparedAnswer:
        """The one that is shown."""
        return self._answers[max(self.choice.currentIndex(), 0)]

    def _show(self) -> None:
        answer = self.answer
        image = qimage_over(opaque(answer.shown)).copy()
        ratio = self.devicePixelRatioF()
        fitted = image.scaled(
            _PICTURE * ratio,
            Qt.AspectRatioMode.KeepAspectRatio,
            Qt.TransformationMode.SmoothTransformation,
        )
        fitted.setDevicePixelRatio(ratio)
        self._picture.setPixmap(QPixmap.fromImage(fitted))
        self._picture.setAccessibleName(answer.name)
        self._view.show_insight(answer.insight, answer.classes)


class CompareAnswers(QDialog):
    """Lets two kept answers be chosen; the last but one and the last at first."""

    def __init__(self, answers: tuple[ComparedAnswer, ...], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Compare Answers"))
        self.left = _Side(answers, self.tr("Answer on the left"), max(len(answers) - 2, 0))
        self.right = _Side(answers, self.tr("Answer on the right"), len(answers) - 1)
        self._told = QLabel()
        self._told.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        sides = QWidget()
        row = QHBoxLayout(sides)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self.left, 1)
        row.addWidget(self.right, 1)
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setAccessibleName(self.tr("Both answers"))
        scroll.setWidget(sides)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.addWidget(self._told)
        layout.addWidget(scroll, 1)
        layout.addWidget(buttons)
        for side in (self.left, self.right):
            side.choice.currentIndexChanged.connect(self._tell)
        self._tell()
        open_at(self, 860, 760)

    @property
    def told(self) -> str:
        """What is said about the two."""
        return self._told.text()

    def _tell(self) -> None:
        share = self.left.answer.share_that_differs(self.right.answer)
        self._told.setText(self.tr("{}% of the pixels differ.").format(number(100 * share, 1)))
