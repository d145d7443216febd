"""The window: it holds the parts and shows the session in them; it decides nothing itself."""

from __future__ import annotations

import logging
import sys
import time
import traceback
from typing import TYPE_CHECKING, Protocol

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtWidgets import QMainWindow, QTabBar

from segapp.qt.actions.actions import Actions
from segapp.qt.actions.shortcuts import Shortcuts
from segapp.qt.canvas.canvas import Canvas
from segapp.qt.files.autosave import Autosave
from segapp.qt.files.file_dialogs import complain
from segapp.qt.files.files import Files
from segapp.qt.files.thumbnails import Thumbnails
from segapp.qt.panels.class_panel import ClassPanel
from segapp.qt.panels.code_legend import CodeLegend
from segapp.qt.panels.file_list import FileList
from segapp.qt.panels.hint import Hint
from segapp.qt.panels.look_mark import LookMark
from segapp.qt.panels.model_panel import ModelPanel
from segapp.qt.panels.settings_panel import SettingsPanel
from segapp.qt.panels.status import StatusBar
from segapp.qt.panels.typing_guard import TypingGuard
from segapp.qt.panels.welcome import Welcome
from segapp.qt.session.brush_follower import BrushFollower
from segapp.qt.session.event_log import EventLog
from segapp.qt.window.alike_offer import AlikeOffer
from segapp.qt.window.answer_commands import AnswerCommands
from segapp.qt.window.brush_state import BrushState
from segapp.qt.window.class_commands import ClassCommands
from segapp.qt.window.docks import Docks
from segapp.qt.window.enabling import enable_commands
from segapp.qt.window.file_commands import FileCommands
from segapp.qt.window.focus import move_focus
from segapp.qt.window.folder_parts import FolderParts
from segapp.qt.window.labelling_view import LabellingView
from segapp.qt.window.mark_commands import MarkCommands
from segapp.qt.window.measuring import Measuring
from segapp.qt.window.menus import Menus, add_tool_bars
from segapp.qt.window.theme import Theme
from segapp.values.overlay import ViewMode

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
    """All parts around one session; `segapp.qt.window.build` connects them."""

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
        self.look_mark = LookMark(self.canvas)
        self.follower = BrushFollower(self.session, self.canvas.stroke_so_far, self)
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
        self.canvas.set_labelling(rendered.sheet if rendered is not None else None)
        self.look_mark.show_for(is_preview=rendered is not None and rendered.is_preview)
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
