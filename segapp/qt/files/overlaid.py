"""Unsaved strokes that a project was opened over: undo has them, and no file."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from segapp.qt.files import file_dialogs
from segapp.qt.files.project_saving import ChangedByOthersError

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from segapp.qt.files.files import Files
    from segapp.qt.session.picture_state import PictureState
    from segapp.qt.session.session import Session


class Overlaid:
    """Remembers such strokes until they are in a file, so that closing can ask about them."""

    def __init__(self, session: Session, files: Files) -> None:
        self._session, self._files = session, files
        self._states: list[PictureState] = []
        files.overlaid.connect(self._states.append)
        session.document_changed.connect(self._forget_saved)

    def lost(self) -> list[PictureState]:
        """Return the strokes that would be gone with the window, each once."""
        found: list[PictureState] = []
        for state in self._states:
            told = any(_same(state, other) for other in found)
            if not told and not self._is_back(state):
                found.append(state)
        return found

    def save(self, window: QWidget, state: PictureState) -> bool:
        """Ask for a project of its own for some of them; say whether they are on disk."""
        proposed = self._files.default_project(replace(state, project=None))
        path = file_dialogs.ask_project(window, proposed)
        if path is None:
            return False
        try:
            saved = bool(self._files.write(state, path))
        except ChangedByOthersError:  # between the question and the answer
            return self.save(window, state)
        if saved:
            self._states[:] = [other for other in self._states if not _same(state, other)]
        return saved

    def _is_back(self, state: PictureState) -> bool:
        """Tell whether undo has brought them back; what was painted since lies upon them."""
        present = self._session.state_of(state.path)
        strokes = state.history.present.strokes
        return present is not None and present.history.present.strokes[: len(strokes)] == strokes

    def _forget_saved(self) -> None:
        saved = self._session.state
        if saved is not None and saved.saved is not None:
            self._states[:] = [
                state
                for state in self._states
                if state.path != saved.path or state.content != saved.saved
            ]


def _same(one: PictureState, other: PictureState) -> bool:
    return one.path == other.path and one.content == other.content
