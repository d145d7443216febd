"""Display of the learnt model: kernel weights, codewords, objective, timing."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QBuffer, QByteArray, QCoreApplication, QIODevice, QSize, Qt
from PySide6.QtGui import QImage, QImageWriter, QPixmap
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from segapp.app.project_store import documents_folder
from segapp.imaging.overlay import overlay
from segapp.io.export.tables import insight_csv, insight_json
from segapp.qt.canvas.layers import add_alpha, qimage_view
from segapp.qt.files.file_dialogs import ask_where, save_bytes
from segapp.qt.i18n import number, short_number, translate
from segapp.qt.panels.setting_texts import flat_values, setting_texts
from segapp.qt.widgets import Bars, CodewordGrid, Curve, WheelGuard, open_at

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from PySide6.QtGui import QShowEvent

    from segapp.app.state import Content
    from segapp.model.classes import ClassInfo
    from segapp.model.document import Document
    from segapp.model.labelling import Insight, Labelling
    from segapp.model.picture import Picture
    from segapp.model.settings import Settings


class InsightView(QWidget):
    """Four charts with their explanations."""

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
            self.tr("Kernel weights"),
            self.tr(
                "Two places in the image can be similar in colour, texture or "
                "position, closely or roughly (σ). The longer the bar, the more this "
                "similarity contributed: its kernel weight."
            ),
            self.bit,
            self.weights,
        )
        self._section(
            self.tr("Codewords"),
            self.tr(
                "Every place in the image gets a short code of bits. Each class has "
                "its own code, its codeword (filled is +1, empty −1), and a place "
                "belongs to the class with the nearest codeword."
            ),
            self.codewords,
        )
        self._section(
            self.tr("Objective"),
            self.tr(
                "Disagreement between codes and strokes, step by step. Learning "
                "lowers it until it levels off."
            ),
            self.objective,
        )
        self._section(self.tr("Timing"), self.tr("Seconds spent in each step."), self.timing)

    def _section(self, title: str, text: str, *parts: QWidget) -> None:
        heading, explanation = QLabel(f"<b>{title}</b>"), QLabel(text)
        heading.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        explanation.setWordWrap(True)
        explanation.setProperty("tone", "faint")
        for part in (heading, explanation, *parts):
            self._column.addWidget(part)
        for part in parts:
            part.setToolTip(text)
        self._column.addSpacing(8)

    def show_insight(self, insight: Insight, classes: tuple[ClassInfo, ...]) -> None:
        """Show a learnt model of these classes."""
        self._insight = insight
        n_bits = insight.kernel_weights.shape[0]
        if self.bit.count() != n_bits + 1:
            self.bit.clear()
            self.bit.addItem(self.tr("Mean over all bits"))
            self.bit.addItems([self.tr("Bit {}").format(bit + 1) for bit in range(n_bits)])
        self._show_weights()
        self.codewords.show_codewords(insight.codewords, classes)
        self.objective.show_values(insight.objective)
        self.timing.show_rows(
            tuple(
                (translate(name), seconds, self.tr("{} s").format(number(seconds, 3)))
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
                (kernel_title(name), float(weight), number(weight, 3))
                for name, weight in zip(self._insight.kernels, shown, strict=True)
            )
        )


def kernel_title(name: str) -> str:
    """Return the translated name of a kernel, such as "colour, sigma 0.5"."""
    return ", ".join(translate(part) for part in name.replace("sigma", "σ").split(", "))


_PICTURE = QSize(380, 260)


class _Side(QWidget):
    """One of two compared answers: a choice, its picture and its model."""

    def __init__(self, answers: tuple[ComparedAnswer, ...], name: str, chosen: int) -> None:
        super().__init__()
        self._answers = answers
        self.choice = QComboBox()
        self.choice.setAccessibleName(name)
        self.choice.setToolTip(self.tr("A recent result for this image"))
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
        """The shown answer."""
        return self._answers[max(self.choice.currentIndex(), 0)]

    def _show(self) -> None:
        answer = self.answer
        self._picture.setPixmap(_pixmap(answer.overlay, self.devicePixelRatioF()))
        self._picture.setAccessibleName(answer.name)
        self._view.show_insight(answer.insight, answer.classes)


class ComparisonDialog(QDialog):
    """Dialog with two kept answers side by side, the last two at first."""

    def __init__(self, answers: tuple[ComparedAnswer, ...], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Compare Results"))
        self.left = _Side(answers, self.tr("Result on the left"), max(len(answers) - 2, 0))
        self.right = _Side(answers, self.tr("Result on the right"), len(answers) - 1)
        self._text, self._picture = QLabel(), QLabel()
        self._picture.setAccessibleName(self.tr("Where the results differ"))
        for label in (self._text, self._picture):
            label.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self._text.setWordWrap(True)
        sides = QWidget()
        row = QHBoxLayout(sides)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self.left, 1)
        row.addWidget(self.right, 1)
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setAccessibleName(self.tr("Both results"))
        both = QWidget()
        column = QVBoxLayout(both)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._picture)
        column.addWidget(sides)
        scroll.setWidget(both)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.addWidget(self._text)
        layout.addWidget(scroll, 1)
        layout.addWidget(buttons)
        for side in (self.left, self.right):
            side.choice.currentIndexChanged.connect(self._show_difference)
        self._show_difference()
        open_at(self, 860, 760)

    @property
    def text(self) -> str:
        """The text about the difference."""
        return self._text.text()

    def _show_difference(self) -> None:
        left, right = self.left.answer, self.right.answer
        share = self.tr("{}% of the pixels differ.").format(
            number(100 * left.difference(right), 1)
        )
        changes = left.changes(right)
        told = self.tr("Left → right: {}").format("; ".join(changes))
        same = self.tr("Settings and strokes are the same.")
        legend = self.tr("{} only in the left one, {} only in the right one, {} another class")
        squares = (_square(colour) for colour in (_ONLY_LEFT, _ONLY_RIGHT, _OTHER_CLASS))
        self._text.setText(
            f"{share} {escape(told) if changes else same}<br>{legend.format(*squares)}"
        )
        self._picture.setPixmap(_pixmap(left.difference_picture(right), self.devicePixelRatioF()))


def _square(colour: tuple[int, int, int]) -> str:
    return "<span style='color:rgb({},{},{})'>■</span>".format(*colour)


def _pixmap(rgb: NDArray[np.uint8], ratio: float) -> QPixmap:
    """Return a picture in the size of the dialog's pictures."""
    fitted = (
        qimage_view(add_alpha(rgb))
        .copy()
        .scaled(
            _PICTURE * ratio,
            Qt.AspectRatioMode.KeepAspectRatio,
            Qt.TransformationMode.SmoothTransformation,
        )
    )
    fitted.setDevicePixelRatio(ratio)
    return QPixmap.fromImage(fitted)


# Pixels of the longer side of a kept answer.
_SIDE = 480
_ONLY_LEFT, _ONLY_RIGHT, _OTHER_CLASS = (213, 94, 0), (0, 114, 178), (204, 121, 167)


@dataclass(frozen=True, slots=True, eq=False)
class ComparedAnswer:
    """A learnt model with a subsample of its labels.

    Parameters
    ----------
    name
        The settings and the number of strokes.
    labels
        Class of every few pixels.
    """

    name: str
    insight: Insight
    document: Document
    settings: Settings
    picture: Picture
    labels: NDArray[np.uint8]

    @classmethod
    def of(
        cls, name: str, insight: Insight, content: Content, labelling: Labelling, picture: Picture
    ) -> ComparedAnswer:
        """Return an answer, subsampled if the picture is large."""
        step = _step(labelling.labels)
        labels = labelling.labels[::step, ::step].copy()
        return cls(name, insight, content.document, content.settings, picture, labels)

    @property
    def classes(self) -> tuple[ClassInfo, ...]:
        """The classes of its document."""
        return self.document.classes

    def changes(self, other: ComparedAnswer) -> list[str]:
        """Return what is set or painted in another way in another answer."""
        texts = setting_texts()
        before, after = flat_values(self.settings), flat_values(other.settings)
        found = [
            f"{texts[name].label if name in texts else translate(name)} "
            f"{_told(before[name])} → {_told(after[name])}"
            for name in before
            if before[name] != after[name]
        ]
        counts = [len(one.document.strokes) for one in (self, other)]
        if self.document.strokes != other.document.strokes:
            found.append(_tr("strokes {} → {}").format(*counts))
        return found

    def difference_picture(self, other: ComparedAnswer) -> NDArray[np.uint8]:
        """Return the image in grey, with the pixels of different classes in colours."""
        step = _step(self.picture.rgb)
        grey = self.picture.rgb[::step, ::step].mean(axis=2, keepdims=True) / 2 + 96
        shown = np.repeat(grey, 3, axis=2).astype(np.uint8)
        left = self.labels != self.document.background
        right = other.labels != other.document.background
        differ = self.labels != other.labels
        shown[differ & left & right] = _OTHER_CLASS
        shown[differ & left & ~right] = _ONLY_LEFT
        shown[differ & right & ~left] = _ONLY_RIGHT
        return shown

    @property
    def overlay(self) -> NDArray[np.uint8]:
        """The answer over the picture, ``H x W x 3``."""
        tint = overlay(self.labels, self.classes)
        step = _step(self.picture.rgb)
        shown = self.picture.rgb[::step, ::step].astype(np.float32)
        # Half opaque, as the canvas shows it at first.
        shown += (tint[..., :3] - shown * (tint[..., 3:] / np.float32(255))) / 2
        return shown.astype(np.uint8)

    def difference(self, other: ComparedAnswer) -> float:
        """Return the share of pixels with different classes, from 0 to 1."""
        return float((self.labels != other.labels).mean())


def _told(value: object) -> str:
    """Return a value of a setting in words."""
    if isinstance(value, bool):
        return _tr("on") if value else _tr("off")
    if isinstance(value, tuple):
        return ", ".join(_told(part) for part in value) or "–"
    if isinstance(value, str):
        return translate(value[:8]) if value else "–"  # of an encoder's digest, the beginning
    return short_number(value, 6) if isinstance(value, int | float) else str(value)


def _tr(text: str) -> str:
    return QCoreApplication.translate("ComparedAnswer", text)


def _step(pixels: NDArray[np.uint8]) -> int:
    longer: int = max(pixels.shape[:2])
    return -(-longer // _SIDE)


# Answers that are kept for comparison.
_MAX_KEPT = 12
# Image pixels per panel pixel of a saved drawing.
_FINE = 2


class ModelPanel(QScrollArea):
    """Panel that shows an `Insight`, if there is one."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shown: tuple[Insight, tuple[ClassInfo, ...]] | None = None
        self._kept: tuple[ComparedAnswer, ...] = ()
        self._is_active = False
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setAccessibleName(self.tr("Look inside"))
        self._empty = QLabel(self.tr("Once there is a result, this shows how it was learnt."))
        self._empty.setWordWrap(True)
        self.view = InsightView()
        self._save = QPushButton(self.tr("Save…"))
        self._save.setToolTip(self.tr("Export a drawing (PNG), a table (CSV) or JSON"))
        self._save.clicked.connect(self._ask_and_save)
        self._compare = QPushButton(self.tr("Compare…"))
        self._compare.setToolTip(self.tr("Show two recent results side by side"))
        self._compare.clicked.connect(self._open_comparison)
        buttons = QHBoxLayout()
        buttons.addWidget(self._save)
        buttons.addWidget(self._compare)
        buttons.addStretch(1)
        self._content = QWidget()
        inner = QVBoxLayout(self._content)
        inner.setContentsMargins(0, 0, 0, 0)
        inner.setSpacing(10)
        inner.addLayout(buttons)
        inner.addWidget(self.view)
        body = QWidget()
        outer = QVBoxLayout(body)
        outer.setContentsMargins(10, 5, 10, 10)
        outer.addWidget(self._empty)
        outer.addWidget(self._content)
        outer.addStretch(1)
        self.setWidget(body)
        self.show_insight(None, ())

    def show_insight(self, insight: Insight | None, classes: tuple[ClassInfo, ...]) -> None:
        """Show a learnt model of these classes when the panel is visible."""
        self._empty.setVisible(insight is None)
        self._content.setVisible(insight is not None)
        self._shown = None if insight is None else (insight, classes)
        self._show()

    def set_active(self, active: bool) -> None:  # noqa: FBT001 - a Qt slot
        """Follow the dock's visibility: Qt calls a panel behind another tab visible."""
        self._is_active = active
        self._show()

    def showEvent(self, event: QShowEvent) -> None:
        """Show the present model."""
        super().showEvent(event)
        self.set_active(active=True)

    def _show(self) -> None:
        if self._is_active and self._shown is not None:
            self.view.show_insight(*self._shown)

    # Comparing ----------------------------------------------------------------------------

    def keep(self, answer: ComparedAnswer) -> None:
        """Keep an answer for comparison."""
        self._kept = (*self._kept, answer)[-_MAX_KEPT:]
        self._compare.setEnabled(len(self._kept) > 1)

    def forget_kept(self) -> None:
        """Forget the answers of another picture."""
        self._kept = ()
        self._compare.setEnabled(False)

    @property
    def kept(self) -> tuple[ComparedAnswer, ...]:
        """The kept answers, the newest last."""
        return self._kept

    def _open_comparison(self) -> None:
        dialog = ComparisonDialog(self._kept, self)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    # Saving -------------------------------------------------------------------------------

    def _ask_and_save(self) -> None:
        kinds = (self.tr("Drawing") + " (*.png)", "CSV (*.csv)", "JSON (*.json)")
        proposed = documents_folder() / "look-inside.png"
        path = ask_where(self, self.tr("Export Report"), proposed, kinds)
        if path is not None and self._shown is not None:
            save_bytes(self, path, self._as_bytes(path.suffix.lower(), *self._shown))

    def _as_bytes(self, suffix: str, insight: Insight, classes: tuple[ClassInfo, ...]) -> bytes:
        if suffix == ".csv":
            return insight_csv(insight, classes).encode("utf-8")
        if suffix == ".json":
            return insight_json(insight, classes).encode("utf-8")
        return self._drawn()

    def _drawn(self) -> bytes:
        image = QImage(self.view.size() * _FINE, QImage.Format.Format_RGB32)
        image.setDevicePixelRatio(_FINE)
        image.fill(self.palette().color(self.backgroundRole()))
        self.view.render(image)
        content = QByteArray()
        buffer = QBuffer(content)
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        QImageWriter(buffer, QByteArray(b"png")).write(image)
        return bytes(content.data())
