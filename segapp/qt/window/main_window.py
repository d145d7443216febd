"""The main window: its parts, their display, and closing."""

from __future__ import annotations

import logging
import sys
import time
import traceback
from typing import TYPE_CHECKING, Protocol

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtWidgets import QMainWindow, QTabBar, QVBoxLayout, QWidget

from segapp.app.project_store import ProjectLocationPolicy, ProjectStore
from segapp.imaging.overlay import ViewMode
from segapp.model.validation import sanitize
from segapp.qt.actions import Actions, HeldKey, Shortcuts, TypingGuard
from segapp.qt.canvas.brush import BrushTarget
from segapp.qt.canvas.canvas import Canvas
from segapp.qt.dialogs.help import EventLog
from segapp.qt.files.autosave import Autosave
from segapp.qt.files.file_dialogs import complain
from segapp.qt.files.files import Files
from segapp.qt.files.folder import Thumbnails
from segapp.qt.panels.brush_panel import BrushState
from segapp.qt.panels.class_panel import ClassPanel
from segapp.qt.panels.file_list import FileList
from segapp.qt.panels.model_panel import ModelPanel
from segapp.qt.panels.object_panel import ObjectPanel
from segapp.qt.panels.settings_panel import SettingsPanel
from segapp.qt.panels.status import Hint, PreviewBadge, StatusBar, Welcome
from segapp.qt.panels.view_bar import StackBar, ViewBar
from segapp.qt.session.session import LivePreview
from segapp.qt.widgets import Banner
from segapp.qt.window.class_commands import ClassCommands
from segapp.qt.window.explaining import ExplainController, ProposalController
from segapp.qt.window.file_commands import FileCommands
from segapp.qt.window.folder_commands import FolderParts
from segapp.qt.window.folder_review import TruthCommands
from segapp.qt.window.labelling_view import LabellingView
from segapp.qt.window.mark_commands import AlikeSuggestion, CutoutCommands, MarkCommands
from segapp.qt.window.menus import Docks, Menus, add_tool_bars, enable_commands, move_focus
from segapp.qt.window.object_commands import ObjectCommands
from segapp.qt.window.result_commands import AnswerCommands, MeasuresController
from segapp.qt.window.stack_commands import StackController
from segapp.qt.window.theme import Theme

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from types import TracebackType

    from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent, QKeyEvent

    from segapp.app.state import Stage
    from segapp.qt.files.preferences import Preferences
    from segapp.qt.session.session import Session
    from segapp.qt.window.labelling_view import RenderedLabelling


# Seconds that closing waits for all busy threads: a window shall close within a second.
_CLOSE_TIMEOUT = 0.9
# Milliseconds that a message stays in the status bar.
_MESSAGE_TIME = 8000


class _ThreadOwner(Protocol):
    """A part of the window that has a thread."""

    def close(self, timeout: float | None = None) -> bool:
        """Stop the thread, wait for it, and return whether it has ended."""


class MainWindow(QMainWindow):
    """The parts of a window on one session; `segapp.qt.window.startup` connects them."""

    closing = Signal()  # after the last question to the user, before the threads end

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
        self.store = ProjectStore(ProjectLocationPolicy(preferences), autosave_root)
        self.files = Files(session, preferences, self.store, self)
        self.autosave = Autosave(session, self.store, self)
        self.labelling_view = LabellingView(session, self)
        self.thumbnails = Thumbnails(self)
        self.log = EventLog()
        self.threads_ended = True
        self._shown_stage: tuple[Stage, bool] | None = None
        self._build()

    # Building ---------------------------------------------------------------------------

    def _build(self) -> None:
        self.canvas = Canvas()
        self.hint = Hint(self.canvas)
        self.preview_badge = PreviewBadge(self.canvas)
        self.object_panel = ObjectPanel(self.commands)
        self.object_commands = ObjectCommands(
            self.session, self.brush, self.canvas, self.object_panel, self
        )
        self.mark_commands = MarkCommands(self.session, self.brush, self.object_commands, self)
        self.live_preview = LivePreview(
            self.session, self.canvas.unfinished_stroke, self.mark_commands.with_mark, self
        )
        self.view_bar = ViewBar(self.commands["refine_edge"], self.commands["drop_hair"])
        self.cutout_commands = CutoutCommands(
            self.session,
            self.preferences,
            self.labelling_view,
            self.canvas,
            self.brush,
            self.view_bar.cutout,
        )
        self.proposing = ProposalController(
            self.session, self.canvas, self.brush, self.mark_commands.with_mark, self
        )
        self.explaining = ExplainController(self.session, self.canvas, self)
        self.alike_suggestion = AlikeSuggestion(self.session, self.canvas)
        self.welcome = Welcome(self.canvas, self.commands)
        self.stack_bar = StackBar(self.commands)
        self.setCentralWidget(_below(self.canvas, self.view_bar, self.stack_bar))
        self.menus = Menus(self.menuBar(), self.commands)
        self.class_panel = ClassPanel(self.commands)
        self.class_panel.objects.addWidget(self.object_panel)
        self.settings_panel = SettingsPanel()
        self.model_panel = ModelPanel()
        self.file_list = FileList(self.files.folder, self.commands)
        panels = self.class_panel, self.settings_panel, self.model_panel, self.file_list
        self.docks = Docks(self, *panels)
        self.measuring = MeasuresController(
            self.session,
            self.preferences,
            self.docks,
            self.canvas,
            self.object_commands,
            self,
        )
        for dock in self.docks.all():
            self.menus.panels.addAction(dock.toggleViewAction())
        self.bars = add_tool_bars(self, self.commands)
        self.status = StatusBar(self.commands)
        self._typing = TypingGuard(self)
        self._peek_key = HeldKey(Qt.Key.Key_H, self)
        self._peek_key.held.connect(lambda on: self.canvas.peek(on=on))
        self.mode_banner = Banner(self.canvas, Qt.AlignmentFlag.AlignBottom)
        self.setStatusBar(self.status)
        class_menus = (self.menus.left_class, self.menus.right_class)
        self.class_commands = ClassCommands(
            self.session, self.brush, self.class_panel, class_menus, self
        )
        self.file_commands = FileCommands(
            self.session, self.files, self.store, self.autosave, self.preferences, self
        )
        self.answer_commands = AnswerCommands(
            self.session, self.files, self.preferences, self.labelling_view, self.canvas, self
        )
        self.truth_commands = TruthCommands(self.session, self.canvas, self.status.truth, self)
        self.stacks = StackController(
            self.session, self.files, self.store, self.stack_bar, self.commands, self
        )
        shown = self.file_list, self.class_panel, self.canvas
        self.folder = FolderParts(
            self.session, self.files, self.store, self.autosave, self.preferences, shown, self
        )

    # Showing ----------------------------------------------------------------------------

    def show_picture(self) -> None:
        """Show the session's picture."""
        if self.session.layer is not None:
            self.canvas.set_picture(self.session.layer)
            size = self.canvas.viewport.image_size
            self.status.show_pointer(None, size.width(), size.height())
        self.refresh()

    def show_document(self) -> None:
        """Show the session's strokes."""
        document = self.session.document
        self.canvas.set_document(document)
        self.model_panel.show_insight(self.session.answers.insight, document.classes)
        self.refresh()

    def show_insight(self) -> None:
        """Show the learnt model."""
        self.model_panel.show_insight(self.session.answers.insight, self.session.document.classes)
        self._follow_answer()

    def show_labelling(self, rendered: RenderedLabelling | None) -> None:
        """Show a rendered labelling; None removes the last one."""
        self.canvas.set_overlay(rendered.overlay if rendered is not None else None)
        self.preview_badge.show_for(is_preview=rendered is not None and rendered.is_preview)
        self.view_bar.show_mode(rendered.mode if rendered is not None else None)
        if rendered is None or rendered.labelling is None or rendered.is_preview:
            return
        if rendered.mode is ViewMode.CODES:
            codes = self.view_bar.codes
            codes.show_codes(rendered.labelling, rendered.classes, rendered.codewords)
        elif rendered.mode is ViewMode.CONFIDENCE:
            self.view_bar.confidence.show_margins(rendered.labelling)

    def show_progress(self) -> None:
        """Show the progress of learning."""
        self.status.show_progress(self.session.answers.progress)
        self._follow_answer()

    def show_brush(self) -> None:
        """Show the brush's settings."""
        self.canvas.set_brush(self.brush.brush)
        self.commands[self.brush.brush.tool.value].setChecked(True)
        target = self.brush.brush.target
        self.commands["retouch"].setChecked(target is BrushTarget.RESULT)
        self.commands["refine_edge"].setChecked(target is BrushTarget.HAIR)
        finish = ((self.tr("Finish"), self._end_mode),)
        if target is BrushTarget.RESULT:
            text = self.tr("Retouching: marks cover the result and teach nothing – Esc to finish")
            self.mode_banner.ask(text, finish)
        elif target is BrushTarget.HAIR:
            self.mode_banner.ask(self.tr("Refining the edge – Esc to finish"), finish)
        else:
            self.mode_banner.hide()
        self._guide()

    def _end_mode(self) -> None:
        """Let the brush paint strokes again."""
        self.brush.set_target(BrushTarget.STROKES)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """End retouching with Esc, whatever has the focus."""
        if event.key() == Qt.Key.Key_Escape:
            self._end_mode()
        else:
            super().keyPressEvent(event)

    def show_folder(self) -> None:
        """Show the list of images, if there is one."""
        self.docks.files.setVisible(bool(self.files.workspace.images))
        self.refresh()

    def show_loading(self, name: str) -> None:
        """Show the name of the file that is being read; an empty name ends it."""
        place = self.files.index_in_folder()
        if place is not None:
            self.file_list.show_open(self.files.workspace.images[place])
        text = self.tr("Opening {} …").format(sanitize(name)) if name else ""
        self.status.show_loading(text)
        self.canvas.block(on=bool(name))
        self.refresh()

    def show_message(self, text: str) -> None:
        """Show a text in the status bar for some seconds."""
        if text:
            self.status.showMessage(sanitize(text), _MESSAGE_TIME)

    def show_written(self, text: str, folder: Path) -> None:
        """Show a text about written files for some seconds, and a way to their folder."""
        self.status.show_written(sanitize(text), folder, _MESSAGE_TIME)

    def _follow_answer(self) -> None:
        """Refresh if the stage has changed: previews and progress alone change no command."""
        answers = self.session.answers
        stage = answers.progress.stage, answers.shown is None
        if stage != self._shown_stage:
            self._shown_stage = stage
            self.refresh()

    def refresh(self) -> None:
        """Update the title, the hint, and which commands are enabled."""
        enable_commands(self.commands, self.session, self.files)
        state = self.session.state
        self._guide()
        self.welcome.setVisible(state is None)
        self.setWindowTitle(f"{sanitize(state.path.name)}[*] – segapp" if state else "segapp")
        self.setWindowModified(state is not None and state.unsaved)

    def _guide(self) -> None:
        if self.session.state is not None:
            brush, answered = self.brush.brush, self.session.answers.is_current
            document = self.session.document
            self.hint.guide(document, brush.left, brush.right, answered=answered)

    def focusNextPrevChild(self, forward: bool) -> bool:  # noqa: FBT001 - Qt's
        """Move the focus among the visible widgets."""
        tabs = self.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly)
        docks = self.docks
        return move_focus(
            (
                *self.bars,
                docks.files,
                self.canvas,
                self.view_bar,
                self.stack_bar,
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

    # Errors, drops, closing ---------------------------------------------------------------------

    def report(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        """Save the strokes and report an unexpected error, as `sys.excepthook`."""
        details = "".join(traceback.format_exception(kind, error, trace))
        sys.stderr.write(details)
        self.log.note(details, logging.ERROR)
        self.autosave.write_soon()
        message = self.tr("Something went wrong: {}. Your strokes are safe.")
        complain(self, message.format(str(error) or kind.__name__), details)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Accept files, folders and pictures."""
        data = event.mimeData()
        if data.hasImage() or any(url.isLocalFile() for url in data.urls()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        """Open the dropped files or picture."""
        event.acceptProposedAction()
        self.file_commands.open_data(event.mimeData())

    def changeEvent(self, event: QEvent) -> None:
        """Update the command when the window manager ends the full screen."""
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
        self.live_preview.stop()
        self.hide()  # ending the threads may take a moment
        self.threads_ended = _close_all(
            (
                self.session,
                self.labelling_view,
                self.files,
                self.file_commands,
                self.answer_commands,
                self.object_commands,
                self.folder,
                self.stacks,
                self.measuring,
                self.truth_commands,
                self.alike_suggestion,
                self.autosave,
                self.thumbnails,
            )
        )
        event.accept()


def _below(canvas: Canvas, *bars: QWidget) -> QWidget:
    """Return the canvas with bars below it."""
    holder = QWidget()
    column = QVBoxLayout(holder)
    column.setContentsMargins(0, 0, 0, 0)
    column.setSpacing(0)
    column.addWidget(canvas, 1)
    for bar in bars:
        column.addWidget(bar)
    return holder


def _close_all(owners: Sequence[_ThreadOwner]) -> bool:
    """Stop all threads, then wait for them; return whether all have ended."""
    for owner in owners:
        owner.close(0)
    deadline = time.monotonic() + _CLOSE_TIMEOUT
    ended = [owner.close(max(0.0, deadline - time.monotonic())) for owner in owners]
    return all(ended)
