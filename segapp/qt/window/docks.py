"""The panels at the window's sides."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDockWidget, QMainWindow, QWidget

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
