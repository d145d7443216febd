"""Docks of the main window, and movement of the keyboard focus."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QDockWidget, QMainWindow, QScrollArea, QWidget

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from PySide6.QtCore import QByteArray

_WIDTH = 290  # logical pixels at first
_LEFT, _RIGHT = Qt.DockWidgetArea.LeftDockWidgetArea, Qt.DockWidgetArea.RightDockWidgetArea


def dock(
    window: QMainWindow, name: str, title: str, panel: QWidget, area: Qt.DockWidgetArea
) -> QDockWidget:
    """Put a panel into a dock, whose position is stored under its name."""
    holder = QDockWidget(title, window)
    holder.setObjectName(name)
    holder.setWidget(panel)
    holder.setAllowedAreas(_LEFT | _RIGHT)
    holder.toggleViewAction().setText(title)
    window.addDockWidget(area, holder)
    return holder


def _raise_when_shown(tab: QDockWidget) -> None:
    """Bring a tab to the front when the menu shows it."""
    tab.toggleViewAction().triggered.connect(lambda on: tab.raise_() if on else None)


class Docks:
    """The docks: paint above settings and model on the right, files on the left."""

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
        self._layout: QByteArray | None = None  # while all are hidden
        _raise_when_shown(self.settings)
        self._add_tab(window, self.inside)
        self.settings.raise_()
        self.settings.setTitleBarWidget(QWidget())  # the tab has the title
        self.files.hide()
        window.setTabPosition(
            Qt.DockWidgetArea.AllDockWidgetAreas, window.tabPosition(_RIGHT).North
        )

    def add_tab(self, window: QMainWindow, name: str, title: str, panel: QWidget) -> QDockWidget:
        """Add a panel as a hidden tab beside the settings."""
        added = dock(window, name, title, panel, _RIGHT)
        self._add_tab(window, added)
        self.settings.raise_()
        added.hide()
        return added

    def set_default_sizes(self, window: QMainWindow) -> None:
        """Give the panels their first sizes, the rest to the picture."""
        shown = [self.paint, self.settings]
        window.resizeDocks(shown, [_WIDTH, _WIDTH], Qt.Orientation.Horizontal)
        window.resizeDocks(shown, [290, 420], Qt.Orientation.Vertical)

    def set_hidden(self, window: QMainWindow, *, hidden: bool) -> None:
        """Hide all docks, or show those that were hidden so, as they were."""
        if hidden and self._layout is None:
            self._layout = window.saveState()
            for each in self.all():
                each.hide()
        elif not hidden and self._layout is not None:
            window.restoreState(self._layout)
            self._layout = None

    def _add_tab(self, window: QMainWindow, added: QDockWidget) -> None:
        window.tabifyDockWidget(self.tabs[-1], added)
        added.setTitleBarWidget(QWidget())
        _raise_when_shown(added)
        self.tabs.append(added)

    def all(self) -> tuple[QDockWidget, ...]:
        """Return the docks in the menu's order."""
        return (self.paint, *self.tabs, self.files)


def move_focus(regions: Iterable[QWidget], *, forward: bool) -> bool:
    """Move the focus to the next widget of the regions; return whether there is one."""
    stops = [stop for region in regions for stop in _stops(region)]
    if not stops:
        return False
    current = QApplication.focusWidget()
    if current in stops:
        index = (stops.index(current) + (1 if forward else -1)) % len(stops)
    else:
        index = 0 if forward else -1
    reason = Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason
    stops[index].setFocus(reason)
    _scroll_to(stops[index])
    return True


def _stops(region: QWidget) -> Iterator[QWidget]:
    """Yield the widgets of a region that take the focus, in the order of construction."""
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
    """Return whether a dock is behind another one's tab, which Qt calls visible."""
    return isinstance(region, QDockWidget) and region.visibleRegion().isEmpty()


def _scroll_to(widget: QWidget) -> None:
    parent = widget.parentWidget()
    while parent is not None:
        if isinstance(parent, QScrollArea):
            parent.ensureWidgetVisible(widget)
        parent = parent.parentWidget()
