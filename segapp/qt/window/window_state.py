"""What of the window comes back at the next start."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from PySide6.QtCore import QByteArray, QRect, QTimer
from PySide6.QtGui import QGuiApplication

from segapp.qt.canvas.brush import BrushUnit
from segapp.qt.language import LANGUAGES
from segapp.qt.window.theme import ThemeChoice
from segapp.values.overlay import ViewMode

if TYPE_CHECKING:
    from PySide6.QtGui import QScreen

    from segapp.qt.window.main_window import MainWindow

Kind = TypeVar("Kind", ThemeChoice, ViewMode, BrushUnit)

# Of the docks' and tool bars' arrangement: Qt ignores what another version has stored.
_VERSION = 2
# Logical pixels: a first window is no larger than one looks over at a glance, and leaves room
# for its frame, whose size is only known once it is shown.
_WIDEST, _HIGHEST, _FRAME = 1680, 1050, 40


def store_window(window: MainWindow) -> None:
    """Remember places, theme, brush and switches."""
    preferences = window.preferences
    geometry = bytes(window.saveGeometry().data())
    preferences.set_state(f"window/geometry/{_name(window.screen())}", geometry)
    preferences.set("window/screen", _name(window.screen()))
    preferences.set_state("window/state", bytes(window.saveState(_VERSION).data()))
    preferences.set("theme", window.theme.choice.value)
    paint_box = window.class_panel.paint_box
    preferences.set("brush/radius", window.brush.brush.radius)
    preferences.set("brush/unit", window.brush.brush.unit.value)
    preferences.set("view/opacity", paint_box.answer.value())
    preferences.set("view/stroke_opacity", paint_box.strokes.value())
    preferences.set("view/mode", window.labelling_view.mode.value)
    preferences.set("answer/live", window.session.answers.live)
    preferences.set("folder/carry_over", window.folder.carry_over.on)
    preferences.set("answer/mark_spot", window.commands["mark_spot"].isChecked())
    preferences.set("answer/ring_known", window.answer_commands.ring_known)
    preferences.set("shortcuts", json.dumps(window.shortcuts.changes()))
    preferences.flush()


def restore_window(window: MainWindow) -> None:
    """Bring back what was remembered; what is absent or spoilt has a default."""
    preferences, actions = window.preferences, window.commands
    arranged = window.restoreState(QByteArray(preferences.state("window/state")), _VERSION)
    window.docks.files.hide()  # shown with a folder
    with suppress(ValueError):  # spoilt ones are none
        window.shortcuts.take(json.loads(preferences.get("shortcuts", "{}")))
    choice = _member(ThemeChoice, preferences.get("theme", ""), ThemeChoice.SYSTEM)
    actions[f"theme_{choice.value}"].setChecked(True)
    window.theme.choose(choice)
    if not arranged:
        # How narrow a panel can be is known when it is shown, in its theme.
        QTimer.singleShot(0, window, lambda: window.docks.share(window))
    language = preferences.get("language", "system")
    actions[f"language_{language if language in LANGUAGES else 'system'}"].setChecked(True)
    mode = _member(ViewMode, preferences.get("view/mode", ""), ViewMode.OVERLAY)
    if mode.replaces_image:  # for a look in between; work begins with the picture in sight
        mode = ViewMode.OVERLAY
    actions[f"view_{mode.value}"].setChecked(True)
    window.labelling_view.set_mode(mode)
    unit = _member(BrushUnit, preferences.get("brush/unit", ""), BrushUnit.SCREEN)
    window.brush.set_unit(unit)
    window.brush.set_radius(preferences.get("brush/radius", window.brush.brush.radius))
    paint_box = window.class_panel.paint_box
    paint_box.answer.setValue(preferences.get("view/opacity", 50))
    paint_box.strokes.setValue(preferences.get("view/stroke_opacity", 85))
    actions["brush"].setChecked(True)
    actions["show_strokes"].setChecked(True)
    actions["mark_spot"].setChecked(preferences.get("answer/mark_spot", True))
    window.answer_commands.ring_known = preferences.get("answer/ring_known", False)
    actions["carry_over"].setChecked(preferences.get("folder/carry_over", False))
    live = preferences.get("answer/live", True)
    actions["live"].setChecked(live)
    window.session.answers.set_live(live)
    _place(window)  # last, as theme and panels decide how small it can be


def _place(window: MainWindow) -> None:
    """Put the window where it was on this screen, or else so that it fits."""
    preferences = window.preferences
    last = preferences.get("window/screen", "")
    known = {_name(screen): screen for screen in QGuiApplication.screens()}
    screen = known.get(last) or QGuiApplication.primaryScreen()
    geometry = preferences.state(f"window/geometry/{_name(screen)}")
    if not geometry or not window.restoreGeometry(QByteArray(geometry)):
        window.setGeometry(first_place(screen.availableGeometry()))
    elif not (window.isMaximized() or window.isFullScreen()):
        window.setGeometry(window.geometry().intersected(screen.availableGeometry()))


def first_place(available: QRect) -> QRect:
    """Return where a first window goes in what a screen has to give: centred, with its frame."""
    width = min(available.width() - _FRAME, _WIDEST)
    height = min(available.height() - _FRAME, _HIGHEST)
    place = QRect(0, 0, width, height)
    place.moveCenter(available.center())
    return place


def _name(screen: QScreen) -> str:
    """Tell screens apart by name and size: another one may have the name tomorrow."""
    size = screen.geometry()
    return f"{screen.name() or 'screen'}-{size.width()}x{size.height()}".replace("/", "_")


def _member(kind: type[Kind], value: str, default: Kind) -> Kind:
    return kind(value) if value in {member.value for member in kind} else default
