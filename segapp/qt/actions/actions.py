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
from segapp.qt.actions.command_table import all_commands, unmarked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segapp.qt.actions.command_table import Command


class Segmented(QFrame):
    """Buttons in one frame; the style sheet finds it by its name."""

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
        """Add a button for a command that excludes the others by itself."""
        button = QToolButton()
        button.setDefaultAction(action)
        self._add(button, unmarked(action.text()))
        return button

    def add_choice(self, text: str, tip: str, number: int) -> QToolButton:
        """Add a button of its own, known by a number in `group`."""
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


# Of menus and tool bars, on screens of scale 1 and 2: Qt need not stretch any of them.
_SIZES = (16, 20, 32, 40)


@cache
def _source(name: str) -> str:
    return (ASSETS / "icons" / f"{name}.svg").read_text(encoding="utf-8")


def icon(name: str, palette: QPalette) -> QIcon:
    """Return an icon whose lines have the text's colour, faded when disabled."""
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
    """Draw one icon in one size and colour."""
    return QPixmap.fromImage(_image(name, size, colour.name()))


@lru_cache(maxsize=1)  # for one size after the other
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
    """Return the program's own sign."""
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
        action.setIconText(unmarked(command.text))  # on buttons
        action.setCheckable(command.checkable)
        if command.group is not None:
            group = self._groups.setdefault(command.group, QActionGroup(self))
            group.addAction(action)
        self._commands[command.name] = command
        self._actions[command.name] = action
        self.set_keys(command.name, QKeySequence(command.keys or ""))

    def set_keys(self, name: str, keys: QKeySequence) -> None:
        """Let a command answer to other keys, and say so where it is pointed at."""
        self._actions[name].setShortcut(keys)
        self.explain(name)

    def explain(self, name: str, reason: str = "") -> None:
        """Tell what a command does, or the reason why it cannot be used now."""
        action, tip = self._actions[name], reason or self._commands[name].tip
        keys = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
        title = f"{self.name_of(name)} ({keys})" if keys else self.name_of(name)
        action.setToolTip(f"{title}\n{tip}")
        action.setStatusTip(tip)

    def name_of(self, name: str) -> str:
        """Return what a command is called, without the marks of menus."""
        return unmarked(self._commands[name].text)

    def colour_icons(self, palette: QPalette) -> None:
        """Draw the icons in the palette's colours."""
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
    """A file that holds no shortcuts; the message is a sentence."""


class Shortcuts(QObject):
    """Keys of commands by name; a change reaches menus, tool tips and the keyboard at once."""

    changed = Signal()

    def __init__(self, actions: Actions, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._actions = actions
        self._defaults = {name: self.of(name) for name in actions}

    def of(self, name: str) -> str:
        """Return a command's keys, "Ctrl+Z" for instance; empty without any."""
        return self._actions[name].shortcut().toString(_PORTABLE)

    def default(self, name: str) -> str:
        """Return the keys that the program comes with."""
        return self._defaults[name]

    def set(self, name: str, keys: str) -> None:
        """Give a command other keys; an empty text takes them away."""
        if keys != self.of(name):
            self._actions.set_keys(name, QKeySequence(keys, _PORTABLE))
            self.changed.emit()

    def reset(self, *names: str) -> None:
        """Give commands, or without any name all of them, the keys they came with."""
        for name in names or tuple(self._defaults):
            self.set(name, self._defaults[name])

    def clashes(self, name: str) -> tuple[str, ...]:
        """Return who else has a command's keys, as people call them."""
        keys = self.of(name)
        if not keys:
            return ()
        others = [
            self._actions.name_of(other)
            for other in self._actions
            if other != name and self.of(other) == keys
        ]
        return (*others, *(meaning for held, meaning in _held_keys().items() if held == keys))

    # As text -----------------------------------------------------------------------------

    def changes(self) -> dict[str, str]:
        """Return the keys that are not those of the table."""
        return {
            name: self.of(name) for name in self._defaults if self.of(name) != self._defaults[name]
        }

    def to_text(self) -> str:
        """Return all keys as a file holds them."""
        keys = {name: self.of(name) for name in self._defaults}
        return json.dumps({"format": _TITLE, "version": _VERSION, "keys": keys}, indent=1) + "\n"

    def from_text(self, text: str) -> int:
        """Take the keys of a file; return how many of its commands are unknown here.

        Nothing is taken when anything is wrong: `ShortcutsError` says what.
        """
        try:
            content = json.loads(text)
        except (ValueError, RecursionError):
            raise ShortcutsError(_tr("This is no file of shortcuts: it is not JSON.")) from None
        if not isinstance(content, dict) or content.get("format") != _TITLE:
            raise ShortcutsError(
                _tr("This is no file of shortcuts: wanted “format”: “{}”.").format(_TITLE)
            )
        if content.get("version") != _VERSION:
            raise ShortcutsError(_tr("These shortcuts are of another version of the program."))
        return self.take(content.get("keys"))

    def take(self, keys: object) -> int:
        """Take keys by the commands' names; return how many of these are unknown here."""
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


def _held_keys() -> dict[str, str]:
    """Return the keys that the picture itself and the classes answer to."""
    digits = {str(n): _tr("class of the left button") for n in range(1, 10)}
    shifted = {f"Shift+{n}": _tr("class of the right button") for n in range(1, 10)}
    arrows = dict.fromkeys(("Left", "Right", "Up", "Down"), _tr("moving the brush"))
    return {
        **digits,
        **shifted,
        **arrows,
        "Space": _tr("dragging the picture"),
        "H": _tr("seeing the bare picture"),
        "Esc": _tr("dropping the stroke"),
        "Return": _tr("putting the brush down"),
        "Enter": _tr("putting the brush down"),
        "Tab": _tr("going to the next control"),
    }


def _tr(text: str) -> str:
    return QCoreApplication.translate("Shortcuts", text)
