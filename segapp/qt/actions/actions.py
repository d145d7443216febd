"""Actions shared by menus, tool bars and keys, with icons and shortcuts."""

from __future__ import annotations

import json
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from PySide6.QtCore import QByteArray, QCoreApplication, QEvent, QObject, QRectF, Qt, Signal
from PySide6.QtGui import (
    QAction,
    QActionGroup,
    QColor,
    QIcon,
    QImage,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPalette,
    QPixmap,
)
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QApplication,
    QButtonGroup,
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QSizePolicy,
    QTextEdit,
    QToolButton,
    QWidget,
)

from segapp.io.desktop import ASSETS
from segapp.model.validation import SegappError
from segapp.qt.actions.command_table import all_commands, without_mnemonic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segapp.qt.actions.command_table import Command


class Segmented(QFrame):
    """A row of exclusive buttons in one frame, styled by its object name."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("segmented")
        self.setAccessibleName(name)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.group = QButtonGroup(self)
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(1, 1, 1, 1)
        self._row.setSpacing(0)

    def add_action(self, action: QAction) -> QToolButton:
        """Add a button for a command of an exclusive group."""
        button = QToolButton()
        button.setDefaultAction(action)
        self._add(button, without_mnemonic(action.text()))
        return button

    def add_choice(self, text: str, tip: str, number: int) -> QToolButton:
        """Add a button with a number in `group`."""
        button = QToolButton()
        button.setText(text)
        button.setToolTip(tip)
        button.setCheckable(True)
        button.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.group.addButton(button, number)
        self._add(button, text)
        return button

    def _add(self, button: QToolButton, name: str) -> None:
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        button.setAccessibleName(name)
        self._row.addWidget(button)


_FIELDS = (QLineEdit, QTextEdit, QAbstractSpinBox)
_COMMANDING = (
    Qt.KeyboardModifier.ControlModifier
    | Qt.KeyboardModifier.AltModifier
    | Qt.KeyboardModifier.MetaModifier
)
# Keys that edit text even with Ctrl; Qt's fields do not claim all of them.
_EDITING = (Qt.Key.Key_Delete, Qt.Key.Key_Backspace, Qt.Key.Key_Left, Qt.Key.Key_Right)


class TypingGuard(QObject):
    """An event filter that keeps shortcuts from the focused text field."""

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
        """Claim the keys that type or edit before a shortcut does."""
        if (
            isinstance(event, QKeyEvent)
            and event.type() == QEvent.Type.ShortcutOverride
            and (event.key() in _EDITING or not event.modifiers() & _COMMANDING or _writes(event))
        ):
            event.accept()
            return True
        return super().eventFilter(watched, event)


class HeldKey(QObject):
    """A key that acts while it is held, whichever widget without text has the focus."""

    held = Signal(bool)

    def __init__(self, key: Qt.Key, parent: QObject) -> None:
        super().__init__(parent)
        self._key = key
        application = QApplication.instance()
        if isinstance(application, QApplication):
            application.focusChanged.connect(self._follow)

    def _follow(self, before: QWidget | None, now: QWidget | None) -> None:
        if before is not None:
            before.removeEventFilter(self)
            self.held.emit(False)  # noqa: FBT003 - a Qt signal
        if now is not None and not isinstance(now, _FIELDS):
            now.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Take the key from the focused widget, as a list would search for it."""
        kinds = (QEvent.Type.KeyPress, QEvent.Type.KeyRelease)
        if not isinstance(event, QKeyEvent) or event.type() not in kinds:
            return super().eventFilter(watched, event)
        if event.key() != self._key or event.modifiers() & _COMMANDING:
            return super().eventFilter(watched, event)
        if not event.isAutoRepeat():
            self.held.emit(event.type() == QEvent.Type.KeyPress)
        return True


def _writes(event: QKeyEvent) -> bool:
    """Return whether a key types a character by AltGr, which is Ctrl+Alt on Windows."""
    both = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier
    text = event.text().strip()
    return event.modifiers() & both == both and bool(text) and text.isprintable()


# Sizes of menus and tool bars on screens of scale 1 and 2.
_SIZES = (16, 20, 32, 40)


@cache
def _source(name: str) -> str:
    return (ASSETS / "icons" / f"{name}.svg").read_text(encoding="utf-8")


def icon(name: str, palette: QPalette) -> QIcon:
    """Return an icon in the palette's text colour, faded when disabled."""
    made = QIcon()
    for mode, group in (
        (QIcon.Mode.Normal, QPalette.ColorGroup.Normal),
        (QIcon.Mode.Disabled, QPalette.ColorGroup.Disabled),
    ):
        colour = palette.color(group, QPalette.ColorRole.ButtonText)
        for size in _SIZES:
            made.addPixmap(pixmap(name, size, colour), mode)
    return made


def pixmap(name: str, size: int, colour: QColor) -> QPixmap:
    """Render an icon in a size and colour."""
    return QPixmap.fromImage(_image(name, size, colour.name()))


@lru_cache(maxsize=1)  # the sizes of an icon are rendered in a row
def _renderer(name: str, colour: str) -> QSvgRenderer:
    source = _source(name).replace("currentColor", colour)
    return QSvgRenderer(QByteArray(source.encode("utf-8")))


@cache
def _image(name: str, size: int, colour: str) -> QImage:
    drawn = QImage(size, size, QImage.Format.Format_ARGB32_Premultiplied)
    drawn.fill(Qt.GlobalColor.transparent)
    painter = QPainter(drawn)
    _renderer(name, colour).render(painter, QRectF(0, 0, size, size))
    painter.end()
    return drawn


def application_icon() -> QIcon:
    """Return the icon of the application."""
    made = QIcon()
    for size in (16, 24, 32, 48, 64, 128, 256):
        made.addPixmap(pixmap("../icon", size, QColor()))
    return made


class Actions(QObject):
    """The commands as `QAction` objects, found by name."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._commands: dict[str, Command] = {}
        self._actions: dict[str, QAction] = {}
        self._groups: dict[str, QActionGroup] = {}
        for command in all_commands():
            self._add(command)

    def __getitem__(self, name: str) -> QAction:
        return self._actions[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._actions)

    def _add(self, command: Command) -> None:
        action = QAction(command.text, self)
        action.setObjectName(command.name)
        action.setIconText(without_mnemonic(command.text))  # on buttons
        action.setCheckable(command.checkable)
        if command.group is not None:
            group = self._groups.setdefault(command.group, QActionGroup(self))
            group.addAction(action)
        self._commands[command.name] = command
        self._actions[command.name] = action
        self.set_keys(command.name, QKeySequence(command.keys or ""))

    def set_keys(self, name: str, keys: QKeySequence) -> None:
        """Set a command's shortcut, also in its tool tip."""
        self._actions[name].setShortcut(keys)
        self.explain(name)

    def explain(self, name: str, reason: str = "") -> None:
        """Set a command's tool tip: its help, or the reason why it is disabled."""
        action, tip = self._actions[name], reason or self._commands[name].tip
        keys = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
        title = f"{self.name_of(name)} ({keys})" if keys else self.name_of(name)
        action.setToolTip(f"{title}\n{tip}")
        action.setStatusTip(tip)

    def name_of(self, name: str) -> str:
        """Return a command's text without its mnemonic."""
        return without_mnemonic(self._commands[name].text)

    def colour_icons(self, palette: QPalette) -> None:
        """Render the icons in the palette's colours."""
        for name, command in self._commands.items():
            if command.icon is not None:
                self._actions[name].setIcon(icon(command.icon, palette))

    def enable(self, *names: str, when: bool) -> None:
        """Enable several commands, or disable them."""
        for name in names:
            self._actions[name].setEnabled(when)


_TITLE = "segapp shortcuts"
_VERSION = 1
_PORTABLE = QKeySequence.SequenceFormat.PortableText


class ShortcutsError(SegappError):
    """A file is no valid file of shortcuts."""


class Shortcuts(QObject):
    """Shortcuts of the commands by name, as they are and by default."""

    changed = Signal()

    def __init__(self, actions: Actions, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._actions = actions
        self._defaults = {name: self.of(name) for name in actions}

    def of(self, name: str) -> str:
        """Return a command's shortcut, "Ctrl+Z" for instance, or an empty text."""
        return self._actions[name].shortcut().toString(_PORTABLE)

    def default(self, name: str) -> str:
        """Return a command's default shortcut."""
        return self._defaults[name]

    def set(self, name: str, keys: str) -> None:
        """Set a command's shortcut; an empty text removes it."""
        if keys != self.of(name):
            self._actions.set_keys(name, QKeySequence(keys, _PORTABLE))
            self.changed.emit()

    def reset(self, *names: str) -> None:
        """Reset commands, by default all, to their default shortcuts."""
        for name in names or tuple(self._defaults):
            self.set(name, self._defaults[name])

    def conflicts(self, name: str) -> tuple[str, ...]:
        """Return the names of other commands and actions with the same shortcut."""
        keys = self.of(name)
        if not keys:
            return ()
        others = [
            self._actions.name_of(other)
            for other in self._actions
            if other != name and self.of(other) == keys
        ]
        return (*others, *(meaning for held, meaning in _reserved_keys().items() if held == keys))

    # As text -----------------------------------------------------------------------------

    def changes(self) -> dict[str, str]:
        """Return the shortcuts that differ from the defaults."""
        return {
            name: self.of(name) for name in self._defaults if self.of(name) != self._defaults[name]
        }

    def to_text(self) -> str:
        """Return all shortcuts as the content of a file."""
        keys = {name: self.of(name) for name in self._defaults}
        return json.dumps({"format": _TITLE, "version": _VERSION, "keys": keys}, indent=1) + "\n"

    def from_text(self, text: str) -> int:
        """Set the shortcuts of a file; return the number of its unknown commands.

        An invalid file changes nothing and raises a `ShortcutsError`.
        """
        try:
            content = json.loads(text)
        except (ValueError, RecursionError):
            raise ShortcutsError(_tr("This is not a shortcuts file: it is not JSON.")) from None
        if not isinstance(content, dict) or content.get("format") != _TITLE:
            raise ShortcutsError(
                _tr("This is not a shortcuts file: wanted “format”: “{}”.").format(_TITLE)
            )
        if content.get("version") != _VERSION:
            raise ShortcutsError(_tr("These shortcuts are from another version of the program."))
        return self.take(content.get("keys"))

    def take(self, keys: object) -> int:
        """Set shortcuts by command name; return the number of unknown names."""
        if not isinstance(keys, dict):
            raise ShortcutsError(_tr("“keys”: wanted a key for each command."))
        known = {name: text for name, text in keys.items() if name in self._defaults}
        for name, text in known.items():
            if not isinstance(text, str) or not _is_keys(text):
                raise ShortcutsError(
                    _tr("{}: wanted a key such as “Ctrl+Z”, got {!r:.60}.").format(name, text)
                )
        for name, text in known.items():
            self.set(name, text)
        return len(keys) - len(known)


def _is_keys(text: str) -> bool:
    sequence = QKeySequence(text, _PORTABLE)
    return not text or (sequence.count() == 1 and sequence.toString(_PORTABLE) == text)


def _reserved_keys() -> dict[str, str]:
    """Return the keys of the canvas and the classes, with their meanings."""
    digits = {str(n): _tr("class of the left button") for n in range(1, 10)}
    shifted = {f"Shift+{n}": _tr("class of the right button") for n in range(1, 10)}
    arrows = dict.fromkeys(("Left", "Right", "Up", "Down"), _tr("moving the brush"))
    return {
        **digits,
        **shifted,
        **arrows,
        "Space": _tr("dragging the image"),
        "H": _tr("showing the image alone"),
        "Esc": _tr("cancelling the stroke"),
        "Return": _tr("putting the brush down"),
        "Enter": _tr("putting the brush down"),
        "Tab": _tr("going to the next control, or hiding the panels while you paint"),
    }


def _tr(text: str) -> str:
    return QCoreApplication.translate("Shortcuts", text)
