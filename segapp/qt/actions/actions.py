"""The commands of the window as objects that menus, tool bars and keys share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction, QActionGroup, QKeySequence

from segapp.qt.actions.command import unmarked
from segapp.qt.actions.command_table import all_commands
from segapp.qt.actions.icons import icon

if TYPE_CHECKING:
    from collections.abc import Iterator

    from PySide6.QtGui import QPalette

    from segapp.qt.actions.command import Command


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
