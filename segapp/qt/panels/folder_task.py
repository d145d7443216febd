"""Long work on a folder: what it is, how far it is, and a button that stops it."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QGridLayout, QLabel, QProgressBar, QToolButton, QWidget


class FolderTask(QWidget):
    """A line under the list while something runs."""

    stop_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._told = QLabel()
        self._bar = QProgressBar()
        self._bar.setTextVisible(False)
        self._bar.setFixedHeight(6)
        self._bar.setAccessibleName(self.tr("Progress of the work on the folder"))
        self._bar.setToolTip(self.tr("How far the work on all images has come"))
        stop = QToolButton()
        stop.setText(self.tr("Stop"))
        stop.setToolTip(self.tr("Stop; what is done stays"))
        stop.clicked.connect(self.stop_wanted)
        layout = QGridLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._told, 0, 0)
        layout.addWidget(self._bar, 1, 0)
        layout.addWidget(stop, 0, 1, 2, 1)
        layout.setColumnStretch(0, 1)
        self.hide()

    @property
    def told(self) -> str:
        """What is said."""
        return self._told.text()

    def show_progress(self, text: str, done: int, total: int) -> None:
        """Say what is going on."""
        self._told.setText(text)
        self._bar.setMaximum(max(total, 1))
        self._bar.setValue(done)
        self.show()
