"""A look inside: what was learnt for the last answer, to be saved and compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QBuffer, QByteArray, QIODevice
from PySide6.QtGui import QImage, QImageWriter
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from segapp.files.insight_file import insight_csv, insight_json
from segapp.qt.files.default_folder import documents_folder
from segapp.qt.files.small_files import ask_where, save_bytes
from segapp.qt.panels.compare_answers import CompareAnswers
from segapp.qt.panels.insight_view import InsightView

if TYPE_CHECKING:
    from PySide6.QtGui import QShowEvent

    from segapp.qt.panels.compared_answer import ComparedAnswer
    from segapp.values.document import ClassInfo
    from segapp.values.updates import Insight

# Answers that are kept to be compared: as many as one tells apart in a list.
_MOST_KEPT = 12
# Image pixels for each of the panel's: a drawing for a paper.
_FINE = 2


class ModelPanel(QScrollArea):
    """Shows an `Insight`; without one it says what will be here."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shown: tuple[Insight, tuple[ClassInfo, ...]] | None = None
        self._kept: tuple[ComparedAnswer, ...] = ()
        self._is_looked_at = False
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setAccessibleName(self.tr("Look inside"))
        self._empty = QLabel(
            self.tr("Once there is an answer, you see here what was learnt to give it.")
        )
        self._empty.setWordWrap(True)
        self.view = InsightView()
        self._save = QPushButton(self.tr("Save…"))
        self._save.setToolTip(self.tr("Save as a drawing (PNG), as a table (CSV) or as JSON"))
        self._save.clicked.connect(self._ask_and_save)
        self._compare = QPushButton(self.tr("Compare…"))
        self._compare.setToolTip(self.tr("Put two of the last answers side by side"))
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
        """Show what was learnt for these classes, once somebody looks."""
        self._empty.setVisible(insight is None)
        self._content.setVisible(insight is not None)
        self._shown = None if insight is None else (insight, classes)
        self._show()

    def look(self, is_looked_at: bool) -> None:  # noqa: FBT001 - a dock's signal passes it by place
        """Follow whether somebody looks: behind another tab it is hidden, but visible to Qt."""
        self._is_looked_at = is_looked_at
        self._show()

    def showEvent(self, event: QShowEvent) -> None:
        """Show what came meanwhile."""
        super().showEvent(event)
        self.look(is_looked_at=True)

    def _show(self) -> None:
        if self._is_looked_at and self._shown is not None:
            self.view.show_insight(*self._shown)

    # Comparing ----------------------------------------------------------------------------

    def keep(self, answer: ComparedAnswer) -> None:
        """Keep a new answer to be compared with those before it."""
        self._kept = (*self._kept, answer)[-_MOST_KEPT:]
        self._compare.setEnabled(len(self._kept) > 1)

    def forget_kept(self) -> None:
        """Begin anew with another picture."""
        self._kept = ()
        self._compare.setEnabled(False)

    @property
    def kept(self) -> tuple[ComparedAnswer, ...]:
        """The answers that can be compared, the newest last."""
        return self._kept

    def _open_comparison(self) -> None:
        dialog = CompareAnswers(self._kept, self)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    # Saving -------------------------------------------------------------------------------

    def _ask_and_save(self) -> None:
        kinds = (self.tr("Drawing") + " (*.png)", "CSV (*.csv)", "JSON (*.json)")
        proposed = documents_folder() / "look-inside.png"
        path = ask_where(self, self.tr("Save What Was Learnt"), proposed, kinds)
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
