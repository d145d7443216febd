"""Menus, tool bars and docks, and the rules that enable commands."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QEvent, QObject, QSize, Qt
from PySide6.QtWidgets import (
    QApplication,
    QDockWidget,
    QMainWindow,
    QMenu,
    QScrollArea,
    QSizePolicy,
    QToolBar,
    QToolButton,
    QWidget,
)

from segapp.app.state import Stage
from segapp.model.classes import MAX_CLASSES
from segapp.model.validation import sanitize
from segapp.qt.actions import Segmented, without_mnemonic
from segapp.qt.i18n import LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from PySide6.QtCore import QByteArray
    from PySide6.QtGui import QAction
    from PySide6.QtWidgets import QMenuBar

    from segapp.qt.actions import Actions
    from segapp.qt.files.files import Files
    from segapp.qt.session.session import Session


_FILE = (
    """open open_folder @recent @samples - save save_as export - save_model apply_model - quit"""
)
_FOLDER = """previous next next_undone next_useful sort_useful - done - carry_over apply_to_undone
    - share_classes take_classes import_classes - review find_similar - export_folder"""
_STACK = """play previous_time next_time - propagate propagate_next propagate_sure
    undo_propagation - unsure_page interpolate - project_max project_mean - export_stack"""
_EDIT = "undo redo - clear import_strokes import_mask - copy_picture copy_mask copy_cutout paste"
_PAINT = """brush eraser hand - @shapes - retouch lock_class lock_part drop_retouches
    - larger smaller - @left_class @right_class swap keep_others
    - add_class rename_class recolour_class background_class class_up class_down delete_class"""
_ANSWER = """live update learn_anew stop - propose explain spot mark_spot
    - refine_edge drop_hair - load_truth"""
_VIEWS = "view_overlay view_outline view_mask view_cut-out view_confidence view_codes"
_VIEW = f"""{_VIEWS} view_components - show_strokes hide_answer show_scale_bar - levels
    - zoom_in zoom_out fit actual_size - @panels @theme @language full_screen"""
_HELP = "guide shortcuts - problem about"
_OBJECTS = """new_object select_object cut_object - split_class accept_objects - join_objects
    rename_object move_object crowd_object occluded_object delete_object"""
_SHAPES = "line box lasso polygon fill - around_box around"
_TOOLS = f"brush eraser hand - {_SHAPES} - swap - undo redo clear"
_TOP = "open open_folder save export - previous next - live update stop spot"


def tr(text: str) -> str:
    """Translate a text of the menus."""
    return QCoreApplication.translate("Menus", text)


class Menus:
    """The menu bar, with attributes for the submenus that change later."""

    def __init__(self, bar: QMenuBar, actions: Actions) -> None:
        self.recent = QMenu(tr("Open &Recent"), bar)
        self.samples = QMenu(tr("Open Samp&le"), bar)
        self.left_class = QMenu(tr("Class of the Le&ft Button"), bar)
        self.right_class = QMenu(tr("Class of the Ri&ght Button"), bar)
        self.panels = QMenu(tr("&Panels"), bar)
        self._theme = QMenu(tr("Th&eme"), bar)
        self._language = QMenu(tr("&Language"), bar)
        self._shapes = QMenu(tr("Sha&pes"), bar)
        submenus = {
            "@recent": self.recent,
            "@samples": self.samples,
            "@left_class": self.left_class,
            "@right_class": self.right_class,
            "@panels": self.panels,
            "@theme": self._theme,
            "@language": self._language,
            "@shapes": self._shapes,
        }
        for title, entries in (
            (tr("&File"), _FILE),
            (tr("F&older"), _FOLDER),
            (tr("Stac&k"), _STACK),
            (tr("&Edit"), _EDIT),
            (tr("&Paint"), _PAINT),
            (tr("Ob&jects"), _OBJECTS),
            (tr("&Result"), _ANSWER),
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
        for name in _SHAPES.replace("-", "").split():
            self._shapes.addAction(actions[name])
        self.panels.addAction(actions["hide_panels"])
        self.panels.addSeparator()
        for name in ("theme_system", "theme_light", "theme_dark"):
            self._theme.addAction(actions[name])
        for language in ("system", *LANGUAGES):
            self._language.addAction(actions[f"language_{language}"])


class CompactToolBar(QObject):
    """An event filter that narrows a tool bar's gaps when the window is low."""

    def __init__(self, bar: QToolBar) -> None:
        super().__init__(bar)
        self._bar = bar
        self._full_height = 0  # of the bar with its usual gaps
        bar.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Choose the gaps when the bar is resized."""
        if event.type() in (QEvent.Type.Resize, QEvent.Type.Show) and watched is self._bar:
            if not self._bar.property("close"):
                self._full_height = self._bar.sizeHint().height()
            close = self._full_height > self._bar.height()
            if close != bool(self._bar.property("close")):
                self._bar.setProperty("close", close)
                _restyle(self._bar, *self._bar.findChildren(QToolButton))
        return super().eventFilter(watched, event)


def _restyle(*parts: QWidget) -> None:
    """Apply the style sheet again after a property has changed."""
    for part in parts:
        part.style().unpolish(part)
        part.style().polish(part)
        QCoreApplication.sendEvent(part, QEvent(QEvent.Type.StyleChange))


class ViewModeButtons(QObject):
    """Buttons of the view modes, or one button with a menu in a narrow window."""

    def __init__(self, window: QMainWindow, actions: Actions, bar: QToolBar) -> None:
        super().__init__(bar)
        self._window, self._bar = window, bar
        self._all = Segmented(tr("Display of the result"))
        self._one = QToolButton()
        self._one.setAccessibleName(tr("Display of the result"))
        self._one.setToolTip(tr("Display of the result"))
        self._one.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._one.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self._one.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        menu = QMenu(self._one)
        self._one.setMenu(menu)
        for name in _VIEWS.split():
            self._all.add_action(actions[name])
            menu.addAction(actions[name])
            actions[name].toggled.connect(partial(self._name, actions[name]))
        spacer = QWidget()
        spacer.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        bar.addWidget(spacer)
        self._wide, self._narrow = bar.addWidget(self._all), bar.addWidget(self._one)
        self._narrow.setVisible(False)
        window.installEventFilter(self)

    def _name(self, action: QAction, on: bool) -> None:  # noqa: FBT001 - Qt's
        if on:
            self._one.setText(without_mnemonic(action.text()))
            self._one.setIcon(action.icon())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Choose the wide or the narrow form by the window's width."""
        if watched is self._window and event.type() in (QEvent.Type.Resize, QEvent.Type.Show):
            shown = self._all if self._wide.isVisible() else self._one
            before = self._bar.sizeHint().width() - shown.sizeHint().width()
            fits = before + self._all.sizeHint().width() <= self._window.width()
            self._wide.setVisible(fits)
            self._narrow.setVisible(not fits)
        return super().eventFilter(watched, event)


def add_tool_bars(window: QMainWindow, actions: Actions) -> tuple[QToolBar, QToolBar]:
    """Add a tool bar on top and one on the left; return both."""
    tools = _bar(window, "tools", tr("Tools"))
    _fill(tools, actions, _TOOLS)
    window.addToolBar(Qt.ToolBarArea.LeftToolBarArea, tools)
    CompactToolBar(tools)
    top = _bar(window, "main", tr("Main tool bar"))
    _fill(top, actions, _TOP)
    live = top.widgetForAction(actions["live"])
    live.setProperty("toolButtonStyle", Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
    window.addToolBar(Qt.ToolBarArea.TopToolBarArea, top)
    ViewModeButtons(window, actions, top)
    return top, tools


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


def enable_commands(actions: Actions, session: Session, files: Files) -> None:
    """Enable or disable commands by the state of session and folder."""
    state, answers = session.state, session.answers
    if files.is_reading:  # what is meant for the next picture must not change this one
        state = None
    is_open = state is not None
    is_current = is_open and answers.is_current
    actions.enable("save", "save_as", "export", "update", when=is_open)
    actions.enable("import_strokes", "import_mask", "copy_picture", when=is_open)
    full = len(session.document.classes) >= MAX_CLASSES
    actions.enable("add_class", when=is_open and not full)
    reason = actions.tr("There can be at most {} classes.").format(MAX_CLASSES)
    actions.explain("add_class", reason if full else "")
    actions.enable("zoom_in", "zoom_out", "fit", "actual_size", "apply_model", when=is_open)
    actions.enable("view_components", when=session.encoder_features is not None)
    actions.enable("stop", when=answers.progress.stage is Stage.RUNNING)
    actions.enable("spot", when=is_open and answers.shown is not None)
    actions.enable("copy_mask", "copy_cutout", "save_model", when=is_current)
    actions.enable("lock_class", "lock_part", when=is_current)
    actions.enable("drop_retouches", when=is_open and bool(session.document.retouches))
    actions.enable("drop_hair", when=is_open and bool(session.document.hair))
    actions.enable("clear", "learn_anew", when=is_open and bool(session.document.strokes))
    place = files.index_in_folder()
    within = place is not None and is_open
    actions.enable("done", "carry_over", "apply_to_undone", when=within)
    actions.enable("next_undone", when=place is not None)
    actions.enable("next_useful", "sort_useful", "review", "find_similar", when=within)
    listed = within and files.workspace.root is not None
    actions.enable("share_classes", "export_folder", when=listed)
    actions.enable("take_classes", when=listed and files.workspace.classes is not None)
    actions.enable("import_classes", "background_class", when=is_open)
    actions.enable(
        "rename_class", "recolour_class", "refine_edge", "levels", "load_truth", when=is_open
    )
    if not is_open:  # else the list of classes knows which of them can be moved
        actions.enable("class_up", "class_down", when=False)
    actions.enable("previous", when=place is not None and place > 0)
    actions.enable("next", when=place is not None and place + 1 < len(files.workspace.images))
    undone = redone = None
    if state is not None:
        undone, redone = state.history.undo_name, state.history.redo_name
    _name(actions, "undo", actions.tr("&Undo"), undone)
    _name(actions, "redo", actions.tr("&Redo"), redone)


def _name(actions: Actions, name: str, verb: str, what: str | None) -> None:
    actions[name].setText(actions.tr("{} {}").format(verb, sanitize(what)) if what else verb)
    actions[name].setEnabled(what is not None)


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
