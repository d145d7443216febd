"""The wheel turns a value only when somebody has chosen that value before."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QApplication, QScrollArea, QWidget


class WheelGuard(QObject):
    """Lets the wheel scroll a panel; only a value that has the focus turns with it."""

    def __init__(self, owner: QWidget) -> None:
        super().__init__(owner)
        self._area = owner if isinstance(owner, QScrollArea) else None

    def watch(self, editor: QWidget) -> None:
        """Guard one editor; the wheel no longer gives it the focus either."""
        editor.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        editor.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Hand the wheel on to the scroll bar unless the editor has the focus."""
        is_wheel = event.type() == QEvent.Type.Wheel
        if is_wheel and isinstance(watched, QWidget) and not watched.hasFocus():
            if self._area is not None:
                QApplication.sendEvent(self._area.verticalScrollBar(), event)
            return True
        return super().eventFilter(watched, event)
