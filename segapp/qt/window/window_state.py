"""What of the window comes back at the next start."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from PySide6.QtCore import QByteArray

from segapp.qt.window.theme import ThemeChoice
from segapp.values.overlay import ViewMode

if TYPE_CHECKING:
    from segapp.qt.window.main_window import MainWindow

Kind = TypeVar("Kind", ThemeChoice, ViewMode)

# Of the docks' and tool bars' arrangement: Qt ignores what another version has stored.
_VERSION = 1


def store_window(window: MainWindow) -> None:
    """Remember places, theme, brush and switches."""
    preferences = window.preferences
    preferences.set_state("window/geometry", bytes(window.saveGeometry().data()))
    preferences.set_state("window/state", bytes(window.saveState(_VERSION).data()))
    preferences.set("theme", window.theme.choice.value)
    preferences.set("brush/radius", window.brush.brush.radius)
    preferences.set("view/opacity", window.opacity.value())
    preferences.set("view/mode", window.labelling_view.mode.value)
    preferences.set("answer/live", window.session.answers.live)
    preferences.set("answer/mark_spot", window.commands["mark_spot"].isChecked())
    preferences.flush()


def restore_window(window: MainWindow) -> None:
    """Bring back what was remembered; what is absent or spoilt has a default."""
    preferences, actions = window.preferences, window.commands
    geometry = preferences.state("window/geometry")
    if not geometry or not window.restoreGeometry(QByteArray(geometry)):
        window.resize(1280, 800)
    window.restoreState(QByteArray(preferences.state("window/state")), _VERSION)
    window.docks.files.hide()  # shown with a folder
    choice = _member(ThemeChoice, preferences.get("theme", ""), ThemeChoice.SYSTEM)
    actions[f"theme_{choice.value}"].setChecked(True)
    window.theme.choose(choice)
    mode = _member(ViewMode, preferences.get("view/mode", ""), ViewMode.OVERLAY)
    actions[f"view_{mode.value}"].setChecked(True)
    window.labelling_view.set_mode(mode)
    window.brush.set_radius(preferences.get("brush/radius", 8.0))
    window.opacity.setValue(preferences.get("view/opacity", 50))
    actions["brush"].setChecked(True)
    actions["show_strokes"].setChecked(True)
    actions["mark_spot"].setChecked(preferences.get("answer/mark_spot", True))
    live = preferences.get("answer/live", True)
    actions["live"].setChecked(live)
    window.session.answers.set_live(live)


def _member(kind: type[Kind], value: str, default: Kind) -> Kind:
    return kind(value) if value in {member.value for member in kind} else default
