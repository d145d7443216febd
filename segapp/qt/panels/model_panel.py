"""A look inside: kernel weights, codewords, objective and timing of the last answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QLabel,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from segapp.qt.panels.charts import Bars, CodewordGrid, Curve
from segapp.qt.panels.wheel_guard import WheelGuard

if TYPE_CHECKING:
    from segapp.values.document import ClassInfo
    from segapp.values.updates import Insight


class ModelPanel(QScrollArea):
    """Shows an `Insight`; without one it says what will be here."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._insight: Insight | None = None
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setAccessibleName(self.tr("Look inside"))
        self._weights = Bars(self.tr("Kernel weights"))
        self._bit = QComboBox()
        self._bit.setAccessibleName(self.tr("Bit whose kernel weights are shown"))
        self._bit.currentIndexChanged.connect(self._show_weights)
        WheelGuard(self).watch(self._bit)
        self._codewords = CodewordGrid()
        self._objective = Curve(self.tr("Objective"))
        self._timing = Bars(self.tr("Timing"))
        self._empty = QLabel(
            self.tr("Once there is an answer, you see here what was learnt to give it.")
        )
        self._empty.setWordWrap(True)
        self._content = QWidget()
        inner = self._column(self._content, margin=0)
        self._section(
            inner,
            self.tr("Kernel weights"),
            self.tr("What counted: how much each feature at each scale had a say."),
            self._bit,
            self._weights,
        )
        self._section(
            inner,
            self.tr("Codewords"),
            self.tr("The hash codes that stand for the classes: filled is +1, empty −1."),
            self._codewords,
        )
        self._section(
            inner,
            self.tr("Objective"),
            self.tr("What learning lowers, step after step."),
            self._objective,
        )
        self._section(
            inner, self.tr("Timing"), self.tr("Seconds spent in each step."), self._timing
        )
        body = QWidget()
        outer = self._column(body, margin=10)
        outer.addWidget(self._empty)
        outer.addWidget(self._content)
        outer.addStretch(1)
        self.setWidget(body)
        self.show_insight(None, ())

    @staticmethod
    def _column(holder: QWidget, margin: int) -> QVBoxLayout:
        column = QVBoxLayout(holder)
        column.setContentsMargins(margin, margin // 2, margin, margin)
        column.setSpacing(6)
        return column

    @staticmethod
    def _section(column: QVBoxLayout, title: str, tip: str, *parts: QWidget) -> None:
        heading = QLabel(f"<b>{title}</b>")
        heading.setToolTip(tip)
        heading.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        column.addWidget(heading)
        for part in parts:
            if not part.toolTip():
                part.setToolTip(tip)
            column.addWidget(part)
        column.addSpacing(8)

    def show_insight(self, insight: Insight | None, classes: tuple[ClassInfo, ...]) -> None:
        """Show what was learnt for these classes."""
        self._insight = insight
        self._empty.setVisible(insight is None)
        self._content.setVisible(insight is not None)
        if insight is None:
            return
        n_bits = insight.kernel_weights.shape[0]
        if self._bit.count() != n_bits + 1:
            self._bit.clear()
            self._bit.addItem(self.tr("All bits, mean"))
            self._bit.addItems([self.tr("Bit {}").format(bit + 1) for bit in range(n_bits)])
        self._show_weights()
        self._codewords.show_codewords(insight.codewords, classes)
        self._objective.show_values(insight.objective)
        self._timing.show_rows(
            tuple((name, seconds, f"{seconds:.3f} s") for name, seconds in insight.seconds.items())
        )

    def _show_weights(self) -> None:
        if self._insight is None:
            return
        weights, bit = self._insight.kernel_weights, self._bit.currentIndex() - 1
        shown = weights.mean(axis=0) if bit < 0 else weights[bit]
        self._weights.show_rows(
            tuple(
                (name.replace("sigma", "σ"), float(weight), f"{weight:.3f}")
                for name, weight in zip(self._insight.kernels, shown, strict=True)
            )
        )
