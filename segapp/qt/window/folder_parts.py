"""What a window has for folders: panels beside the list, commands, and questions that wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segapp.qt.files.keeping import Keeping
from segapp.qt.panels.folder_export import FolderExportPanel
from segapp.qt.panels.folder_task import FolderTask
from segapp.qt.panels.offer import Offer
from segapp.qt.window.carry_over import CarryOver
from segapp.qt.window.folder_commands import FolderCommands
from segapp.qt.window.keep_question import KeepQuestion

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtWidgets import QWidget

    from segapp.qt.actions.actions import Actions
    from segapp.qt.canvas.canvas import Canvas
    from segapp.qt.files.autosave import Autosave
    from segapp.qt.files.files import Files
    from segapp.qt.files.preferences import Preferences
    from segapp.qt.panels.class_panel import ClassPanel
    from segapp.qt.panels.file_list import FileList
    from segapp.qt.session.session import Session


class FolderParts:
    """Makes these parts for a window whose list of images is there, and connects them."""

    def __init__(
        self,
        session: Session,
        files: Files,
        autosave: Autosave,
        preferences: Preferences,
        panels: tuple[FileList, ClassPanel, Canvas],
        window: QWidget,
    ) -> None:
        file_list, class_panel, canvas = panels
        self.export = FolderExportPanel(files.work, preferences)
        self.task = FolderTask()
        file_list.add_below(self.task, self.export)
        self.offer = Offer(canvas)
        self.keeping = Keeping(files.work, preferences, window)
        self.commands = FolderCommands(session, files, autosave, class_panel.offer, window)
        self.question = KeepQuestion(
            session, autosave, files.work, self.keeping, self.offer, window
        )
        self.carry_over = CarryOver(session, files, self.task, window)
        self.thumbnails = file_list.thumbnails
        self.export.about_to_run.connect(autosave.write_all)

    def connect(self, actions: Actions, say: Callable[[str], None]) -> None:
        """Let the commands arrive, and what there is to say go out."""
        self.commands.connect_actions(actions)
        self.carry_over.connect_actions(actions)
        actions["export_folder"].triggered.connect(self.export.begin)
        self.export.exported.connect(say)
        self.commands.said.connect(say)
        self.question.said.connect(say)
        self.carry_over.said.connect(say)

    def close(self, timeout: float | None = None) -> bool:
        """Stop all threads and wait so long for each; say whether they have ended."""
        parts = (self.commands, self.carry_over, self.export.jobs, self.thumbnails)
        ended = [part.close(timeout) for part in parts]
        return all(ended)
