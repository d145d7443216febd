"""What was learnt for one answer: kernel weights, codewords, objective and timing, explained."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QComboBox, QLabel, QSizePolicy, QVBoxLayout, QWidget

from segapp.qt.language import number, worded
from segapp.qt.panels.charts import Bars, CodewordGrid, Curve
from segapp.qt.panels.wheel_guard import WheelGuard

if TYPE_CHECKING:
    from segapp.values.document import ClassInfo
    from segapp.values.updates import Insight


class InsightView(QWidget):
    """Four drawings, each with its sentence."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._insight: Insight | None = None
        self.weights = Bars(self.tr("Kernel weights"))
        self.bit = QComboBox()
        self.bit.setAccessibleName(self.tr("Bit whose kernel weights are shown"))
        self.bit.currentIndexChanged.connect(self._show_weights)
        WheelGuard(self).watch(self.bit)
        self.codewords = CodewordGrid()
        self.objective = Curve(self.tr("Objective"))
        self.timing = Bars(self.tr("Timing"))
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(6)
        self._section(
            self.tr("What counted"),
            self.tr(
                "Two places of the picture are alike in colour, texture or position, closely or "
                "roughly (σ). The longer the bar, the more that likeness had a say: its kernel "
                "weight."
            ),
            self.bit,
            self.weights,
        )
        self._section(
            self.tr("Codewords"),
            self.tr(
                "Every place gets a short code of bits. Each class has a code of its own, its "
                "codeword (filled is +1, empty −1), and a place belongs to the class whose "
                "codeword is nearest."
            ),
            self.codewords,
        )
        self._section(
            self.tr("Objective"),
            self.tr(
                "How badly codes and strokes disagree, step after step. Learning lowers it until "
                "it stays."
            ),
            self.objective,
        )
        self._section(self.tr("Timing"), self.tr("Seconds spent in each step."), self.timing)

    def _section(self, title: str, told: str, *parts: QWidget) -> None:
        heading, sentence = QLabel(f"<b>{title}</b>"), QLabel(told)
        heading.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        sentence.setWordWrap(True)
        sentence.setProperty("tone", "faint")
        for part in (heading, sentence, *parts):
            self._column.addWidget(part)
        for part in parts:
            part.setToolTip(told)
        self._column.addSpacing(8)

    def show_insight(self, insight: Insight, classes: tuple[ClassInfo, ...]) -> None:
        """Show what was learnt for these classes."""
        self._insight = insight
        n_bits = insight.kernel_weights.shape[0]
        if self.bit.count() != n_bits + 1:
            self.bit.clear()
            self.bit.addItem(self.tr("All bits, mean"))
            self.bit.addItems([self.tr("Bit {}").format(bit + 1) for bit in range(n_bits)])
        self._show_weights()
        self.codewords.show_codewords(insight.codewords, classes)
        self.objective.show_values(insight.objective)
        self.timing.show_rows(
            tuple(
                (worded(name), seconds, self.tr("{} s").format(number(seconds, 3)))
                for name, seconds in insight.seconds.items()
            )
        )

    def _show_weights(self) -> None:
        if self._insight is None:
            return
        weights, bit = self._insight.kernel_weights, self.bit.currentIndex() - 1
        shown = weights.mean(axis=0) if bit < 0 else weights[bit]
        self.weights.show_rows(
            tuple(
                (_kernel(name), float(weight), number(weight, 3))
                for name, weight in zip(self._insight.kernels, shown, strict=True)
            )
        )


def _kernel(name: str) -> str:
    """Return a kernel's name, such as "colour, sigma 0.5", for people."""
    return ", ".join(worded(part) for part in name.replace("sigma", "σ").split(", "))
