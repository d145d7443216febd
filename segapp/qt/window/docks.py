"""Docks, keyboard focus, and the stored window layout."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from PySide6.QtCore import QByteArray, QRect, Qt, QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QDockWidget, QMainWindow, QScrollArea, QWidget

from segapp.imaging.overlay import ViewMode
from segapp.qt.canvas.brush import BrushUnit
from segapp.qt.i18n import LANGUAGES
from segapp.qt.window.theme import ThemeChoice

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from PySide6.QtGui import QScreen

    from segapp.qt.window.main_window import MainWindow


_WIDTH = 290  # logical pixels at first; the user may widen them
_LEFT, _RIGHT = Qt.DockWidgetArea.LeftDockWidgetArea, Qt.DockWidgetArea.RightDockWidgetArea


def dock(
    window: QMainWindow, name: str, title: str, panel: QWidget, area: Qt.DockWidgetArea
) -> QDockWidget:
    """Put a panel into a dock that remembers its place by its name."""
    holder = QDockWidget(title, window)
    holder.setObjectName(name)
    holder.setWidget(panel)
    holder.setAllowedAreas(_LEFT | _RIGHT)
    holder.toggleViewAction().setText(title)
    window.addDockWidget(area, holder)
    return holder


class Docks:
    """Paint above, settings and the look inside as tabs below it, files on the left."""

    def __init__(
        self,
        window: QMainWindow,
        paint: QWidget,
        settings: QWidget,
        inside: QWidget,
        files: QWidget,
    ) -> None:
        self.paint = dock(window, "paint", window.tr("Paint"), paint, _RIGHT)
        self.settings = dock(window, "settings", window.tr("Settings"), settings, _RIGHT)
        self.inside = dock(window, "inside", window.tr("Look inside"), inside, _RIGHT)
        self.files = dock(window, "files", window.tr("Images"), files, _LEFT)
        self.tabs = [self.settings]
        self._add_tab(window, self.inside)
        self.settings.raise_()
        self.settings.setTitleBarWidget(QWidget())  # the tab says it already
        self.files.hide()
        window.setTabPosition(
            Qt.DockWidgetArea.AllDockWidgetAreas, window.tabPosition(_RIGHT).North
        )

    def add_tab(self, window: QMainWindow, name: str, title: str, panel: QWidget) -> QDockWidget:
        """Put a panel beside the settings, hidden until somebody wants it."""
        added = dock(window, name, title, panel, _RIGHT)
        self._add_tab(window, added)
        self.settings.raise_()
        added.hide()
        return added

    def share(self, window: QMainWindow) -> None:
        """Leave the picture as much as the panels can do without."""
        shown = [self.paint, self.settings]
        window.resizeDocks(shown, [_WIDTH, _WIDTH], Qt.Orientation.Horizontal)
        window.resizeDocks(shown, [290, 420], Qt.Orientation.Vertical)

    def _add_tab(self, window: QMainWindow, added: QDockWidget) -> None:
        window.tabifyDockWidget(self.tabs[-1], added)
        added.setTitleBarWidget(QWidget())
        self.tabs.append(added)

    def all(self) -> tuple[QDockWidget, ...]:
        """Return the docks in the menu's order."""
        return (self.paint, *self.tabs, self.files)


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


def move_focus(regions: Iterable[QWidget], *, forward: bool) -> bool:
    """Give the focus to the next widget of the regions; say whether there is one."""
    stops = [stop for region in regions for stop in _stops(region)]
    if not stops:
        return False
    current = QApplication.focusWidget()
    if current in stops:
        place = (stops.index(current) + (1 if forward else -1)) % len(stops)
    else:
        place = 0 if forward else -1
    reason = Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason
    stops[place].setFocus(reason)
    _scroll_to(stops[place])
    return True


def _stops(region: QWidget) -> Iterator[QWidget]:
    """Yield what of a region takes the focus, in the order in which it was built."""
    if not region.isVisible() or _is_covered(region):
        return
    inside = {region, *region.findChildren(QWidget)}
    if _takes_focus(region):
        yield region
    widget = region.nextInFocusChain()
    while widget is not None and widget is not region:
        if widget in inside and _takes_focus(widget):
            yield widget
        widget = widget.nextInFocusChain()


def _takes_focus(widget: QWidget) -> bool:
    policy = Qt.FocusPolicy.TabFocus
    return (
        (widget.focusPolicy() & policy) == policy
        and widget.isVisible()
        and widget.isEnabled()
        and widget.focusProxy() is None
    )


def _is_covered(region: QWidget) -> bool:
    """Tell a dock that lies behind another one's tab: Qt calls it visible all the same."""
    return isinstance(region, QDockWidget) and region.visibleRegion().isEmpty()


def _scroll_to(widget: QWidget) -> None:
    parent = widget.parentWidget()
    while parent is not None:
        if isinstance(parent, QScrollArea):
            parent.ensureWidgetVisible(widget)
        parent = parent.parentWidget()
