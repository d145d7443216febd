"""The panels at the window's sides."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDockWidget, QMainWindow, QWidget

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
        window.tabifyDockWidget(self.settings, self.inside)
        self.settings.raise_()
        for tabbed in (self.settings, self.inside):
            tabbed.setTitleBarWidget(QWidget())  # the tab says it already
        self.files.hide()
        window.setTabPosition(
            Qt.DockWidgetArea.AllDockWidgetAreas, window.tabPosition(_RIGHT).North
        )
        window.resizeDocks([self.paint, self.settings], [290, 290], Qt.Orientation.Horizontal)
        window.resizeDocks([self.paint, self.settings], [290, 420], Qt.Orientation.Vertical)

    def all(self) -> tuple[QDockWidget, ...]:
        """Return the docks in the menu's order."""
        return (self.paint, self.settings, self.inside, self.files)
