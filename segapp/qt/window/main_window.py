"""The main window and its connections."""

from __future__ import annotations

import logging
import sys
import time
import traceback
from typing import TYPE_CHECKING, Protocol

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QMainWindow, QTabBar

from segapp.app.state import Stage
from segapp.imaging.overlay import ViewMode
from segapp.model.settings import preset_of
from segapp.qt.actions.actions import Actions, Shortcuts, TypingGuard
from segapp.qt.canvas.brush import Tool
from segapp.qt.canvas.canvas import Canvas
from segapp.qt.canvas.viewport import ZOOM_STEP
from segapp.qt.dialogs.help import EventLog, open_about, open_problem_report, open_shortcuts
from segapp.qt.files.autosave import Autosave
from segapp.qt.files.file_dialogs import complain
from segapp.qt.files.files import Files
from segapp.qt.files.thumbnails import Thumbnails, filling
from segapp.qt.i18n import LANGUAGES
from segapp.qt.panels.brush_panel import BrushState
from segapp.qt.panels.canvas_cards import CodeLegend, Hint, PreviewBadge, Welcome
from segapp.qt.panels.class_panel import ClassPanel
from segapp.qt.panels.encoder_panel import EncoderParts
from segapp.qt.panels.file_list import FileList
from segapp.qt.panels.levels_panel import LevelsCommands
from segapp.qt.panels.model_panel import ComparedAnswer, ModelPanel
from segapp.qt.panels.setting_texts import preset_texts
from segapp.qt.panels.settings_panel import SettingsPanel
from segapp.qt.panels.status import StatusBar
from segapp.qt.session.answers import BrushFollower
from segapp.qt.window.class_commands import ClassCommands
from segapp.qt.window.docks import Docks, move_focus, restore_window, store_window
from segapp.qt.window.file_commands import FileCommands, sample_images
from segapp.qt.window.folder_commands import FolderParts
from segapp.qt.window.labelling_view import LabellingView
from segapp.qt.window.mark_commands import AlikeOffer, MarkCommands
from segapp.qt.window.menus import Menus, add_tool_bars, enable_commands
from segapp.qt.window.result_commands import AnswerCommands, Measuring
from segapp.qt.window.theme import Theme, ThemeChoice

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from types import TracebackType

    from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent

    from segapp.qt.files.preferences import Preferences
    from segapp.qt.session.session import Session
    from segapp.qt.window.labelling_view import RenderedLabelling


# Seconds that closing waits for the threads that are busy, all together: with the rest, a window
# closes within a second.
_PATIENCE = 0.9
# Milliseconds that a sentence stays in the status bar: long enough to be read twice.
_READING_TIME = 8000


class _Closing(Protocol):
    """Whatever has a thread."""

    def close(self, timeout: float | None = None) -> bool:
        """Stop, wait so long, and say whether the thread has ended."""


class MainWindow(QMainWindow):
    """All parts around one session; `segapp.qt.window.main_window` connects them."""

    closing = Signal()  # nothing is left to be asked, and everything is still there

    def __init__(
        self, session: Session, preferences: Preferences, autosave_root: Path | None = None
    ) -> None:
        super().__init__()
        self.setObjectName("window")
        self.setAcceptDrops(True)
        self.session, self.preferences = session, preferences
        self.commands = Actions(self)
        self.shortcuts = Shortcuts(self.commands, self)
        self.theme = Theme(self)
        self.brush = BrushState(self)
        self.files = Files(session, preferences, self)
        self.autosave = Autosave(session, autosave_root, self)
        self.labelling_view = LabellingView(session, self)
        self.thumbnails = Thumbnails(self)
        self.log = EventLog()
        self.threads_ended = True
        self._build()

    # Building ---------------------------------------------------------------------------

    def _build(self) -> None:
        self.canvas = Canvas()
        self.hint = Hint(self.canvas)
        self.preview_badge = PreviewBadge(self.canvas)
        self.follower = BrushFollower(self.session, self.canvas.unfinished_stroke, self)
        self.legend = CodeLegend(self.canvas)
        self.alike_offer = AlikeOffer(self.session, self.canvas)
        self.welcome = Welcome(self.canvas, self.commands)
        self.setCentralWidget(self.canvas)
        self.menus = Menus(self.menuBar(), self.commands)
        self.class_panel = ClassPanel(self.commands)
        self.settings_panel = SettingsPanel()
        self.model_panel = ModelPanel()
        self.file_list = FileList(self.files.work, self.commands)
        panels = self.class_panel, self.settings_panel, self.model_panel, self.file_list
        self.docks = Docks(self, *panels)
        self.measuring = Measuring(self.session, self.preferences, self.docks, self.canvas, self)
        for dock in self.docks.all():
            self.menus.panels.addAction(dock.toggleViewAction())
        self.bars = add_tool_bars(self, self.commands)
        self.status = StatusBar(self.commands)
        self._typing = TypingGuard(self)
        self.setStatusBar(self.status)
        class_menus = (self.menus.left_class, self.menus.right_class)
        self.class_commands = ClassCommands(
            self.session, self.brush, self.class_panel, class_menus, self
        )
        self.file_commands = FileCommands(
            self.session, self.files, self.autosave, self.preferences, self
        )
        self.answer_commands = AnswerCommands(
            self.session, self.files, self.preferences, self.labelling_view, self.canvas, self
        )
        self.mark_commands = MarkCommands(self.session, self.brush, self)
        shown = self.file_list, self.class_panel, self.canvas
        self.folder = FolderParts(
            self.session, self.files, self.autosave, self.preferences, shown, self
        )

    # Showing ----------------------------------------------------------------------------

    def show_picture(self) -> None:
        """Show the session's picture."""
        if self.session.layer is not None:
            self.canvas.set_picture(self.session.layer)
            size = self.canvas.viewport.image_size
            self.status.show_place(None, size.width(), size.height())
        self.show_state()

    def show_document(self) -> None:
        """Show the session's strokes."""
        document = self.session.document
        self.canvas.set_document(document)
        self.model_panel.show_insight(self.session.answers.insight, document.classes)
        self.show_state()

    def show_insight(self) -> None:
        """Show what was learnt."""
        self.model_panel.show_insight(self.session.answers.insight, self.session.document.classes)
        self.show_state()

    def show_labelling(self, rendered: RenderedLabelling | None) -> None:
        """Show a rendered labelling; None withdraws the last one."""
        self.canvas.set_overlay(rendered.overlay if rendered is not None else None)
        self.preview_badge.show_for(is_preview=rendered is not None and rendered.is_preview)
        if rendered is not None and rendered.mode is ViewMode.CODES:
            if rendered.labelling is not None and not rendered.is_preview:
                self.legend.explain(rendered.labelling, rendered.classes, rendered.codewords)
        else:
            self.legend.hide()

    def show_progress(self) -> None:
        """Show where the learner is."""
        self.status.show_progress(self.session.answers.progress)
        self.show_state()

    def show_brush(self) -> None:
        """Show the brush as it is set."""
        self.canvas.set_brush(self.brush.brush)
        self.commands[self.brush.brush.tool.value].setChecked(True)
        self._guide()

    def show_folder(self) -> None:
        """Show the list of images when there is one."""
        self.docks.files.setVisible(bool(self.files.folder))
        self.show_state()

    def show_reading(self, name: str) -> None:
        """Say which file is being read; an empty name ends it."""
        place = self.files.place_in_folder()
        if place is not None:
            self.file_list.show_open(self.files.folder[place])
        self.status.tell_reading(self.tr("Opening {} …").format(name) if name else "")

    def say(self, sentence: str) -> None:
        """Show a sentence for some seconds."""
        if sentence:
            self.status.showMessage(sentence, _READING_TIME)

    def show_state(self) -> None:
        """Bring title and enabled commands to the session's state."""
        enable_commands(self.commands, self.session, self.files)
        state = self.session.state
        self._guide()
        self.welcome.setVisible(state is None)
        self.setWindowTitle(f"{state.path.name}[*] – segapp" if state else "segapp")
        self.setWindowModified(state is not None and state.unsaved)

    def _guide(self) -> None:
        if self.session.state is not None:
            brush, answered = self.brush.brush, self.session.answers.is_current
            document = self.session.document
            self.hint.guide(document, brush.left, brush.right, answered=answered)

    def focusNextPrevChild(self, forward: bool) -> bool:  # noqa: FBT001 - Qt's
        """Walk with Tab through what can be seen."""
        tabs = self.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly)
        docks = self.docks
        return move_focus(
            (
                *self.bars,
                docks.files,
                self.canvas,
                docks.paint,
                *tabs,
                *docks.tabs,
                self.status,
            ),
            forward=forward,
        )

    def set_full_screen(self, on: bool) -> None:  # noqa: FBT001 - a Qt slot
        """Use the whole screen, or a window again."""
        state = Qt.WindowState.WindowFullScreen
        self.setWindowState(self.windowState() | state if on else self.windowState() & ~state)

    # Going, and what may come -------------------------------------------------------------------

    def report(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        """Tell an error that nobody expected, and keep the strokes whatever comes."""
        told = "".join(traceback.format_exception(kind, error, trace))
        sys.stderr.write(told)
        self.log.note(told, logging.ERROR)
        self.autosave.write_soon()
        what = str(error) or kind.__name__
        complain(
            self, self.tr("Something went wrong: {}. Your strokes are kept.").format(what), told
        )

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Take files, folders, and pictures such as a browser's."""
        data = event.mimeData()
        if data.hasImage() or any(url.isLocalFile() for url in data.urls()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        """Open what was dropped."""
        event.acceptProposedAction()
        self.file_commands.open_data(event.mimeData())

    def changeEvent(self, event: QEvent) -> None:
        """Keep the command in step when the window leaves the full screen by other means."""
        if event.type() == QEvent.Type.WindowStateChange:
            self.commands["full_screen"].setChecked(self.isFullScreen())
        super().changeEvent(event)

    def closeEvent(self, event: QCloseEvent) -> None:
        """Ask about unsaved strokes, then end the threads."""
        if not self.file_commands.may_close():
            event.ignore()
            return
        self.status.end()
        self.closing.emit()
        self.follower.end()
        self.hide()  # what follows may take a moment, and nobody needs to watch it
        self.threads_ended = _ended_together(
            (
                self.session,
                self.labelling_view,
                self.files,
                self.file_commands,
                self.answer_commands,
                self.folder,
                self.measuring,
                self.alike_offer,
                self.autosave,
                self.thumbnails,
            )
        )
        event.accept()


def _ended_together(parts: Sequence[_Closing]) -> bool:
    """Stop all threads, then wait for them together; say whether all have ended."""
    for part in parts:
        part.close(0)
    deadline = time.monotonic() + _PATIENCE
    ended = [part.close(max(0.0, deadline - time.monotonic())) for part in parts]
    return all(ended)


def connect_window(window: MainWindow) -> None:
    """Connect all parts of a window that has been built."""
    _connect_session(window)
    _connect_actions(window)
    _connect_recent(window)
    _connect_log(window)
    _connect_look_inside(window)


def _connect_session(window: MainWindow) -> None:
    """Let every part follow the session, and the session the hand."""
    session, canvas = window.session, window.canvas
    session.picture_changed.connect(window.show_picture)
    session.document_changed.connect(window.show_document)
    session.settings_changed.connect(lambda: window.settings_panel.show_settings(session.settings))
    session.settings_changed.connect(window.show_state)
    session.answers.answer_changed.connect(window.show_insight)
    session.answers.progress_changed.connect(window.show_progress)
    session.answers.failed.connect(lambda *told: complain(window, *told))
    window.labelling_view.failed.connect(lambda *told: complain(window, *told))
    window.autosave.failed.connect(lambda *told: complain(window, *told))
    window.autosave.said.connect(window.say)
    window.labelling_view.rendered.connect(window.show_labelling)
    window.files.opened.connect(window.say)
    window.files.folder_changed.connect(window.show_folder)
    window.files.busy_changed.connect(window.show_reading)
    window.file_list.chosen.connect(window.files.open)
    window.files.passed_over.connect(window.say)
    window.welcome.chosen.connect(window.files.open)
    window.welcome.show_samples(sample_images())
    window.file_commands.said.connect(window.say)
    window.answer_commands.said.connect(window.say)
    window.mark_commands.said.connect(window.say)
    window.measuring.said.connect(window.say)
    window.settings_panel.changed.connect(session.set_settings)
    window.class_panel.paint_box.radius_changed.connect(window.brush.set_radius)
    window.class_panel.paint_box.unit_changed.connect(window.brush.set_unit)
    window.brush.changed.connect(window.show_brush)
    canvas.stroke_finished.connect(window.mark_commands.take)
    canvas.fill_requested.connect(window.mark_commands.fill)
    canvas.pointer_moved.connect(window.mark_commands.point)
    canvas.stroke_extended.connect(window.follower.look)
    canvas.stroke_cancelled.connect(window.follower.forget)
    canvas.radius_requested.connect(window.brush.set_radius)
    canvas.viewport.changed.connect(lambda: window.status.show_zoom(canvas.viewport.screen_scale))
    canvas.pointer_moved.connect(
        lambda at: window.status.show_place(
            at,
            canvas.viewport.image_size.width(),
            canvas.viewport.image_size.height(),
            session.picture,
        )
    )
    canvas.pointer_moved.connect(window.legend.point_at)
    paint_box = window.class_panel.paint_box
    paint_box.answer.valueChanged.connect(lambda value: canvas.set_opacity(value / 100))
    paint_box.strokes.valueChanged.connect(lambda value: canvas.set_stroke_opacity(value / 100))


def _connect_views(window: MainWindow) -> None:
    """Let thumbnails look as the pictures do."""
    session, files, thumbnails = window.session, window.files, window.file_list.thumbnails

    def show_open_one() -> None:
        if session.picture is not None:
            thumbnails.show_as(session.picture.path, session.picture.display)

    files.start.showing_changed.connect(lambda: thumbnails.begin(files.work.place))
    session.shown_anew.connect(show_open_one)


def _connect_recent(window: MainWindow) -> None:
    """Offer the recent files with their thumbnails, in the invitation and in the menu."""

    def show() -> None:
        window.welcome.show_recent(window.preferences.recent())
        if window.session.state is None:  # else nobody sees them
            look()

    def look() -> None:
        for path in window.preferences.recent():
            show_thumbnail(path)

    def show_thumbnail(path: Path) -> None:
        drawn = window.thumbnails.of(path)
        if drawn is None:
            return
        icon = QIcon(filling(drawn.toImage(), window.devicePixelRatioF()))
        window.welcome.show_thumbnail(path, icon)
        entries = zip(window.preferences.recent(), window.menus.recent.actions(), strict=False)
        for recent, entry in entries:
            if recent == path:
                entry.setIcon(icon)

    window.thumbnails.arrived.connect(show_thumbnail)
    window.files.recent_changed.connect(show)
    window.menus.recent.aboutToShow.connect(look)
    show()


def _connect_look_inside(window: MainWindow) -> None:
    """Look inside the last answer, and keep each, small, to be compared with the others."""
    session, panel = window.session, window.model_panel

    def keep() -> None:
        answer, picture = session.answers.answer, session.picture
        if answer is None or answer.insight is None or picture is None:
            return
        if not panel.kept or panel.kept[-1].insight is not answer.insight:
            document = session.document
            way = preset_of(session.settings)
            called = preset_texts()[way].label if way else window.tr("Settings of your own")
            name = window.tr("{}, {} strokes").format(called, len(document.strokes))
            panel.keep(
                ComparedAnswer.of(
                    name, answer.insight, document.classes, answer.labelling, picture
                )
            )

    window.docks.inside.visibilityChanged.connect(panel.look)
    session.picture_changed.connect(panel.forget_kept)
    session.answers.answer_changed.connect(keep)
    panel.forget_kept()


def _connect_log(window: MainWindow) -> None:
    """Note what happens, for a report of a problem."""
    answers, log = window.session.answers, window.log
    logging.getLogger("segapp").addHandler(log)
    window.closing.connect(lambda: logging.getLogger("segapp").removeHandler(log))
    for said in (window.files.opened, window.file_commands.said, window.answer_commands.said):
        said.connect(log.note)
    for failed in (
        answers.failed,
        window.labelling_view.failed,
        window.autosave.failed,
        window.files.failed,
    ):
        failed.connect(lambda told, details: log.note(f"{told}\n{details}", logging.ERROR))

    def note_stage() -> None:
        progress = answers.progress
        if progress.stage not in (Stage.EMPTY, Stage.RUNNING, Stage.FOLLOWING):
            log.note(f"{progress.stage.value}: {progress.text}")

    answers.progress_changed.connect(note_stage)


def _connect_actions(window: MainWindow) -> None:
    """Let every command do what it says."""
    actions, canvas, session = window.commands, window.canvas, window.session
    window.file_commands.connect_actions(actions, window.menus.recent, window.menus.samples)
    window.class_commands.connect_actions(actions)
    window.answer_commands.connect_actions(actions)
    window.mark_commands.connect_actions(actions)
    window.folder.connect(actions, window.say)
    levels = LevelsCommands(session, window.files, canvas, window.status.chip, window)
    levels.channels_offered.connect(window.settings_panel.offer_channels)
    levels.connect_actions(actions)
    _connect_views(window)
    session.rendering.failed.connect(lambda *told: complain(window, *told))
    encoders = EncoderParts(session, window.files, window.settings_panel.encoder, canvas)
    encoders.connect_actions(actions)
    window.closing.connect(encoders.end)
    for tool in Tool:
        actions[tool.value].triggered.connect(lambda _=False, t=tool: window.brush.set_tool(t))
    for mode in ViewMode:
        actions[f"view_{mode.value}"].triggered.connect(
            lambda _=False, m=mode: window.labelling_view.set_mode(m)
        )
    for choice in ThemeChoice:
        actions[f"theme_{choice.value}"].triggered.connect(
            lambda _=False, c=choice: window.theme.choose(c)
        )
    for language in ("system", *LANGUAGES):
        actions[f"language_{language}"].triggered.connect(
            lambda _=False, chosen=language: _choose_language(window, chosen)
        )
    window.theme.changed.connect(lambda: actions.colour_icons(window.theme.palette))
    for name, call in {
        "quit": window.close,
        "undo": session.undo,
        "redo": session.redo,
        "clear": session.clear,
        "larger": lambda: window.brush.step_radius(1),
        "smaller": lambda: window.brush.step_radius(-1),
        "update": session.answers.update_now,
        "learn_anew": session.learn_anew,
        "stop": session.answers.stop,
        "zoom_in": lambda: canvas.viewport.zoom(ZOOM_STEP),
        "zoom_out": lambda: canvas.viewport.zoom(1 / ZOOM_STEP),
        "fit": canvas.viewport.fit,
        "actual_size": canvas.viewport.show_actual_size,
        "shortcuts": lambda: open_shortcuts(window, actions, window.shortcuts),
        "problem": lambda: open_problem_report(window, session, window.log.text),
        "about": lambda: open_about(window),
    }.items():
        actions[name].triggered.connect(lambda _=False, c=call: c())
    actions["live"].toggled.connect(session.answers.set_live)
    actions["keep_others"].toggled.connect(window.brush.set_keep_others)
    actions["show_strokes"].toggled.connect(canvas.set_strokes_shown)
    actions["hide_answer"].toggled.connect(canvas.set_labelling_hidden)
    actions["full_screen"].toggled.connect(window.set_full_screen)


def _choose_language(window: MainWindow, language: str) -> None:
    window.preferences.set("language", language)
    window.say(window.tr("The window speaks this language from the next start on"))


def build_window(
    session: Session, preferences: Preferences, autosave_root: Path | None = None
) -> MainWindow:
    """Return a window on a session; it has nothing open yet and is not shown."""
    window = MainWindow(session, preferences, autosave_root)
    connect_window(window)
    restore_window(window)
    window.closing.connect(lambda: store_window(window))
    window.show_brush()
    window.show_state()
    return window


def begin(window: MainWindow, path: Path | None) -> None:
    """Open what was asked for, or go on where the last window ended.

    What a crash left behind is offered first. Who starts for the first time gets a sample.
    """
    restored = window.file_commands.offer_left_behind()
    recent = [place for place in window.preferences.recent() if place.exists()]
    if path is not None:
        window.files.open(path)
    elif restored:
        return
    elif recent:
        window.files.open(recent[0])
    else:
        window.hint.begin()
        window.file_commands.open_sample()
