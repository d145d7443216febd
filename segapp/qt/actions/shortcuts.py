"""Which keys mean which command: those of the table, and what the user has made of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QObject, Signal
from PySide6.QtGui import QKeySequence

if TYPE_CHECKING:
    from segapp.qt.actions.actions import Actions

_TITLE = "segapp shortcuts"
_VERSION = 1
_PORTABLE = QKeySequence.SequenceFormat.PortableText


class ShortcutsError(ValueError):
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
