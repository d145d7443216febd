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

    from segapp.qt.actions.actions import Actions
    from segapp.qt.window.main_window import MainWindow


class FolderParts:
    """Makes these parts for a window whose list of images is there, and connects them."""

    def __init__(self, window: MainWindow) -> None:
        session, files, autosave = window.session, window.files, window.autosave
        self.export = FolderExportPanel(files.work, window.preferences)
        self.task = FolderTask()
        window.file_list.add_below(self.task, self.export)
        self.offer = Offer(window.canvas)
        self.keeping = Keeping(files.work, window.preferences, window)
        self.commands = FolderCommands(session, files, autosave, window.class_panel.offer, window)
        self.question = KeepQuestion(
            session, autosave, files.work, self.keeping, self.offer, window
        )
        self.carry_over = CarryOver(session, files, self.task, window)
        self.thumbnails = window.file_list.thumbnails
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
