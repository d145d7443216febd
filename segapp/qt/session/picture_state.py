"""An open picture with all that was done to it, as a value."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from segapp.values.document import Document, History
from segapp.values.settings import DEFAULT_SETTINGS, Settings

if TYPE_CHECKING:
    from pathlib import Path

_BLANK = Document()
_UNTOUCHED = History()


@dataclass(frozen=True, slots=True)
class Content:
    """What the answer depends on, besides the picture, and what a project file holds."""

    document: Document = _BLANK
    settings: Settings = DEFAULT_SETTINGS


@dataclass(frozen=True, slots=True)
class PictureState:
    """A picture's strokes with their history, its settings, and what of them is on disk."""

    path: Path
    sha256: str
    history: History = _UNTOUCHED
    settings: Settings = DEFAULT_SETTINGS
    saved: Content | None = None
    project: Path | None = None

    @property
    def content(self) -> Content:
        """What the answer depends on now."""
        return Content(self.history.present, self.settings)

    @property
    def unsaved(self) -> bool:
        """Whether closing would lose something that somebody made."""
        if self.saved is None:
            return self.history.present != _BLANK
        return self.content != self.saved

    def edited(self, name: str, document: Document) -> PictureState:
        """Go on to another document."""
        return replace(self, history=self.history.edited(name, document))

    def written(self, content: Content, project: Path) -> PictureState:
        """Note that ``content`` is safe in ``project``."""
        return replace(self, saved=content, project=project)
