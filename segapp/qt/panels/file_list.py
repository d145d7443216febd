"""The images of a folder, and which of them have strokes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QColor, QIcon, QPainter, QPixmap
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QVBoxLayout, QWidget

from segapp.qt.files.opening import project_beside

if TYPE_CHECKING:
    from pathlib import Path

    from PySide6.QtGui import QMouseEvent

    from segapp.qt.session.session import Session


_WIDTH = 170  # widget pixels at first; the user may widen it
_SAVED, _UNSAVED = QColor(0, 158, 115), QColor(230, 159, 0)


def _sign(colour: QColor | None, ratio: float) -> QIcon:
    """Draw a dot; without a colour it is empty, so that all names begin alike."""
    drawn = QPixmap(round(10 * ratio), round(10 * ratio))
    drawn.setDevicePixelRatio(ratio)
    drawn.fill(Qt.GlobalColor.transparent)
    if colour is not None:
        painter = QPainter(drawn)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour)
        painter.drawEllipse(1, 1, 8, 8)
        painter.end()
    sign = QIcon(drawn)
    sign.addPixmap(drawn, QIcon.Mode.Selected)
    return sign


class _Names(QListWidget):
    """Takes the left button alone: another one opens nothing, so it highlights nothing."""

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Choose with the left button."""
        if event.button() is Qt.MouseButton.LeftButton:
            super().mousePressEvent(event)


class FileList(QWidget):
    """Lists paths; one is the open one."""

    chosen = Signal(object)  # Path

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._paths: list[Path] = []
        self._list = _Names()
        self._list.setAccessibleName(self.tr("Images of the folder"))
        self._list.setAccessibleDescription(
            self.tr("Return opens the chosen image; each says whether its strokes are saved")
        )
        self._list.setUniformItemSizes(True)
        self._list.setIconSize(QSize(10, 10))
        self._list.setSpacing(2)
        self._list.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self._list.itemActivated.connect(self._choose)
        self._list.itemClicked.connect(self._choose)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(10, 4, 10, 10)
        layout.addWidget(self._list)
        session.document_changed.connect(self._mark)

    def show_paths(self, paths: list[Path]) -> None:
        """List other images."""
        self._paths = list(paths)
        with QSignalBlocker(self._list):
            self._list.clear()
            for path in paths:
                item = QListWidgetItem(path.name)
                item.setToolTip(str(path))
                self._list.addItem(item)
        for row in range(len(paths)):
            self._mark_row(row)

    def sizeHint(self) -> QSize:
        """Ask for the width of a name, and leave the rest to the picture."""
        return QSize(_WIDTH, super().sizeHint().height())

    def _choose(self, item: QListWidgetItem) -> None:
        path = self._paths[self._list.row(item)]
        state = self._session.state
        if state is None or state.path != path:
            self.chosen.emit(path)

    def _mark(self) -> None:
        state = self._session.state
        if state is None or state.path not in self._paths:
            return
        row = self._paths.index(state.path)
        self._mark_row(row)
        with QSignalBlocker(self._list):
            self._list.setCurrentRow(row)

    def _mark_row(self, row: int) -> None:
        """Tell by a sign whether an image has strokes, and whether they are saved."""
        path = self._paths[row]
        known = self._session.state_of(path)
        item = self._list.item(row)
        if known is not None and known.unsaved:
            colour, told = _UNSAVED, self.tr("strokes not saved")
        elif (known is not None and known.project) or project_beside(path).is_file():
            colour, told = _SAVED, self.tr("strokes saved")
        else:
            colour, told = None, self.tr("no strokes")
        item.setIcon(_sign(colour, self.devicePixelRatioF()))
        item.setToolTip(f"{path}\n{told}")
        item.setData(Qt.ItemDataRole.AccessibleTextRole, f"{path.name}, {told}")
