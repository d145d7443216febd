"""An open picture with all that was done to it, as a value."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from segapp.values.document import Document
from segapp.values.history import History
from segapp.values.settings import DEFAULT_SETTINGS, Settings

if TYPE_CHECKING:
    from pathlib import Path

    from segapp.values.document import Mark
    from segapp.values.start import Start

_BLANK = Document()
_UNTOUCHED = History()


@dataclass(frozen=True, slots=True)
class Lesson:
    """All that an answer depends on besides the picture: equal lessons have equal answers.

    Names and colours of classes teach nothing, except that a name may make a class the
    background, which the clean-up treats in its own way.
    """

    strokes: tuple[Mark, ...]
    n_classes: int
    background: int
    settings: Settings
    start: Start | None = None


@dataclass(frozen=True, slots=True)
class Content:
    """What the user made of a picture, and what a project file holds."""

    document: Document = _BLANK
    settings: Settings = DEFAULT_SETTINGS

    @property
    def lesson(self) -> Lesson:
        """What of it can change the answer."""
        document = self.document
        n_classes = len(document.classes)
        return Lesson(
            document.strokes, n_classes, document.background, self.settings, document.start
        )


@dataclass(frozen=True, slots=True)
class PictureState:
    """A picture's strokes with their history, its settings, and what of them is on disk.

    ``digest`` is of the bytes of ``project`` as they were read or written last, so that
    somebody else's changes are noticed before they are replaced. What was ``restored`` after a
    crash is unsaved, even when all strokes had been taken back. ``begun`` is what the picture
    began with, the folder's classes for instance, which nobody has to save.
    """

    path: Path
    sha256: str
    history: History = _UNTOUCHED
    settings: Settings = DEFAULT_SETTINGS
    saved: Content | None = None
    project: Path | None = None
    # Changes of the settings among the edits: how many edits of the strokes were before each,
    # and the settings before it (past) or after it (future).
    settings_past: tuple[tuple[int, Settings], ...] = ()
    settings_future: tuple[tuple[int, Settings], ...] = ()
    digest: str = ""
    restored: bool = False
    begun: Document = _BLANK

    @property
    def content(self) -> Content:
        """Strokes and settings as they are now."""
        return Content(self.history.present, self.settings)

    @property
    def unsaved(self) -> bool:
        """Whether closing would lose something that somebody made."""
        if self.saved is None:
            return self.restored or self.history.present != self.begun
        return self.content != self.saved

    def edited(self, name: str, document: Document) -> PictureState:
        """Go on to another document."""
        if document == self.history.present:
            return self
        return replace(self, history=self.history.edited(name, document), settings_future=())

    def with_settings(self, settings: Settings) -> PictureState:
        """Go on to other settings, which undo takes back like any edit."""
        if settings == self.settings:
            return self
        step = (len(self.history.past), self.settings)
        return replace(
            self,
            settings=settings,
            settings_past=(*self.settings_past, step),
            settings_future=(),
            history=replace(self.history, future=()),
        )

    @property
    def undoes_settings(self) -> bool:
        """Whether the last edit was one of the settings."""
        past = self.settings_past
        return bool(past) and past[-1][0] == len(self.history.past)

    @property
    def redoes_settings(self) -> bool:
        """Whether the edit that was undone last was one of the settings."""
        future = self.settings_future
        return bool(future) and future[-1][0] == len(self.history.past)

    def undone(self) -> PictureState:
        """Go one edit back, or stay when there is none."""
        if not self.undoes_settings:
            return replace(self, history=self.history.undone())
        place, settings = self.settings_past[-1]
        return replace(
            self,
            settings=settings,
            settings_past=self.settings_past[:-1],
            settings_future=(*self.settings_future, (place, self.settings)),
        )

    def redone(self) -> PictureState:
        """Make the edit that was undone last once more, or stay when there is none."""
        if not self.redoes_settings:
            return replace(self, history=self.history.redone())
        place, settings = self.settings_future[-1]
        return replace(
            self,
            settings=settings,
            settings_past=(*self.settings_past, (place, self.settings)),
            settings_future=self.settings_future[:-1],
        )

    def written(self, content: Content, project: Path, digest: str) -> PictureState:
        """Note that ``content`` is safe in ``project``."""
        return replace(self, saved=content, project=project, digest=digest, restored=False)

    def with_project(
        self, name: str, content: Content, project: Path, digest: str
    ) -> PictureState:
        """Go on to what a project holds; undo brings back what was there before."""
        moved = replace(self.edited(name, content.document), settings=content.settings)
        return moved.written(content, project, digest)
