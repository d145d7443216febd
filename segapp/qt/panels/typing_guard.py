"""While somebody types, keys write; no command answers to them."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractSpinBox, QApplication, QLineEdit, QTextEdit, QWidget

_FIELDS = (QLineEdit, QTextEdit, QAbstractSpinBox)
_COMMANDING = (
    Qt.KeyboardModifier.ControlModifier
    | Qt.KeyboardModifier.AltModifier
    | Qt.KeyboardModifier.MetaModifier
)
# With Ctrl these still edit text; Qt's fields do not claim all of them.
_EDITING = (Qt.Key.Key_Delete, Qt.Key.Key_Backspace, Qt.Key.Key_Left, Qt.Key.Key_Right)


class TypingGuard(QObject):
    """Watches the text field that has the focus, whichever it is."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        application = QApplication.instance()
        if isinstance(application, QApplication):
            application.focusChanged.connect(self._follow)

    def _follow(self, before: QWidget | None, now: QWidget | None) -> None:
        if isinstance(before, _FIELDS):
            before.removeEventFilter(self)
        if isinstance(now, _FIELDS):
            now.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Claim the keys that write or edit before any shortcut can."""
        if (
            isinstance(event, QKeyEvent)
            and event.type() == QEvent.Type.ShortcutOverride
            and (event.key() in _EDITING or not event.modifiers() & _COMMANDING or _writes(event))
        ):
            event.accept()
            return True
        return super().eventFilter(watched, event)


def _writes(event: QKeyEvent) -> bool:
    """Tell a letter of AltGr, which Windows calls Ctrl+Alt, from a command."""
    both = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier
    text = event.text().strip()
    return event.modifiers() & both == both and bool(text) and text.isprintable()
