"""Where strokes are kept while somebody paints: in a project, unless nobody has said where."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from segapp.files.project_file import Project
from segapp.files.project_places import new_project, project_of
from segapp.qt.files.default_folder import is_the_users
from segapp.qt.files.opening import digest_of
from segapp.qt.files.project_saving import save_over

if TYPE_CHECKING:
    from pathlib import Path

    from segapp.qt.files.picture_folder import PictureFolder
    from segapp.qt.files.preferences import Preferences
    from segapp.qt.session.picture_state import Content, PictureState
    from segapp.qt.session.session import Session
    from segapp.values.updates import Answer


class Wish(Enum):
    """What the user has said about pictures that are opened alone."""

    UNSAID = ""
    BESIDE = "beside"
    FOLDER = "folder"
    NEVER = "never"


class Keeping(QObject):
    """Knows where the project of a picture is written without asking.

    In a folder that is beside each picture, or in the place that was chosen for a folder that
    cannot be written. For pictures opened alone the user is asked once.
    """

    changed = Signal()

    def __init__(
        self, work: PictureFolder, preferences: Preferences, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._work, self._preferences = work, preferences
        work.place_changed.connect(self.changed)

    @property
    def wish(self) -> Wish:
        """What the user has said about single pictures."""
        said = self._preferences.get("keep/wish", "")
        return Wish(said) if said in {wish.value for wish in Wish} else Wish.UNSAID

    def choose(self, wish: Wish, folder: Path | None = None) -> None:
        """Keep single pictures like that from now on."""
        self._preferences.set("keep/wish", wish.value)
        if folder is not None:
            self._preferences.set_folder("keep/folder", folder)
        self.changed.emit()

    def is_within(self, state: PictureState) -> bool:
        """Tell whether a picture is one of the folder's."""
        return self._work.row(state.path) is not None

    def folder_for(self, state: PictureState) -> Path | None:
        """Return the folder of a picture's project, ``None`` when nobody has said where."""
        if self.is_within(state):
            return self._work.project_folder(state.path)
        if self.wish is Wish.FOLDER:
            return self._preferences.folder("keep/folder")
        if self.wish is not Wish.BESIDE:
            return None
        own = state.path.parent
        return own if is_the_users(own) and os.access(own, os.W_OK) else None


@dataclass(frozen=True, slots=True)
class Kept:
    """What of a picture has been written, and where."""

    path: Path
    content: Content
    project: Path
    digest: str


def answer_beside(session: Session, state: PictureState) -> Answer | None:
    """Return the answer that a project may carry: of the open picture, once it is there."""
    if session.state is None or session.state.path != state.path:
        return None
    return session.answers.answer


def keep(
    state: PictureState,
    folder: Path,
    own_digests: dict[Path, str],
    answer: Answer | None = None,
) -> Kept:
    """Write a picture's project, unless somebody else has changed it.

    ``own_digests`` is what this window has written last, of which the state may not know yet.

    Raises
    ------
    ChangedByOthersError, OSError, ValueError
        When it is not written.
    """
    image = state.path
    project = state.project or project_of(image, folder) or new_project(image, folder)
    known = state.digest
    if own_digests.get(project) == digest_of(project):
        known = own_digests[project]
    content = state.content
    carried = answer.carried() if answer is not None else None
    written = Project(content.document, content.settings, image, state.sha256, answer=carried)
    own_digests[project] = digest = save_over(project, written, known)
    return Kept(image, content, project, digest)
