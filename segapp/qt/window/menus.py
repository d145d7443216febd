"""Menu bar and tool bars, from the names of the commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QSize, Qt
from PySide6.QtWidgets import QMainWindow, QMenu, QSizePolicy, QSlider, QToolBar, QWidget

if TYPE_CHECKING:
    from PySide6.QtWidgets import QMenuBar

    from segapp.qt.actions.actions import Actions

_FILE = """open open_folder @recent @samples - previous next - save save_as export
    - save_model apply_model - quit"""
_EDIT = "undo redo - clear import_strokes - copy_mask copy_cutout"
_PAINT = """brush eraser hand - larger smaller - @classes swap keep_others
    - add_class rename_class recolour_class delete_class"""
_ANSWER = "live update stop - spot mark_spot"
_VIEWS = "view_overlay view_outline view_mask view_cut-out view_confidence view_codes"
_VIEW = f"""{_VIEWS} - show_strokes hide_answer - zoom_in zoom_out fit actual_size
    - @panels @theme full_screen"""
_HELP = "shortcuts about"
_TOOLS = "brush eraser hand - swap - undo redo clear"
_TOP = "open open_folder save export - previous next - live update stop spot"
_ZOOM = "- zoom_out zoom_in fit actual_size"


def tr(text: str) -> str:
    """Translate a text of the menus."""
    return QCoreApplication.translate("Menus", text)


class Menus:
    """The menu bar; the submenus that change while the program runs are kept by name."""

    def __init__(self, bar: QMenuBar, actions: Actions) -> None:
        self.recent = QMenu(tr("Open &Recent"))
        self.samples = QMenu(tr("Open &Sample"))
        self.classes = QMenu(tr("&Class of the Left Button"))
        self.panels = QMenu(tr("&Panels"))
        self._theme = QMenu(tr("&Theme"))
        submenus = {
            "@recent": self.recent,
            "@samples": self.samples,
            "@classes": self.classes,
            "@panels": self.panels,
            "@theme": self._theme,
        }
        for title, entries in (
            (tr("&File"), _FILE),
            (tr("&Edit"), _EDIT),
            (tr("&Paint"), _PAINT),
            (tr("&Answer"), _ANSWER),
            (tr("&View"), _VIEW),
            (tr("&Help"), _HELP),
        ):
            menu = bar.addMenu(title)
            menu.setToolTipsVisible(True)
            for entry in entries.split():
                if entry == "-":
                    menu.addSeparator()
                elif entry in submenus:
                    menu.addMenu(submenus[entry])
                else:
                    menu.addAction(actions[entry])
        for name in ("theme_system", "theme_light", "theme_dark"):
            self._theme.addAction(actions[name])


def add_tool_bars(window: QMainWindow, actions: Actions, opacity: QSlider) -> None:
    """Put the tools to the left and the rest on top."""
    tools = _bar(window, "tools", tr("Tools"))
    _fill(tools, actions, _TOOLS)
    window.addToolBar(Qt.ToolBarArea.LeftToolBarArea, tools)
    top = _bar(window, "main", tr("Main tool bar"))
    _fill(top, actions, _TOP)
    live = top.widgetForAction(actions["live"])
    live.setProperty("toolButtonStyle", Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
    spacer = QWidget()
    spacer.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
    top.addWidget(spacer)
    _fill(top, actions, _VIEWS)
    top.addWidget(opacity)
    _fill(top, actions, _ZOOM)
    window.addToolBar(Qt.ToolBarArea.TopToolBarArea, top)


def _bar(window: QMainWindow, name: str, title: str) -> QToolBar:
    bar = QToolBar(title, window)
    bar.setObjectName(name)
    bar.setIconSize(QSize(20, 20))
    bar.setMovable(False)
    return bar


def _fill(bar: QToolBar, actions: Actions, entries: str) -> None:
    for name in entries.split():
        if name == "-":
            bar.addSeparator()
            continue
        bar.addAction(actions[name])
        button = bar.widgetForAction(actions[name])
        button.setAccessibleName(actions.name_of(name))
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
