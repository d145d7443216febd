"""State of an open image: document, settings and results."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

from segapp.model.display import DEFAULT_DISPLAY, DisplaySettings
from segapp.model.document import Document, History
from segapp.model.settings import DEFAULT_SETTINGS, Settings

if TYPE_CHECKING:
    from pathlib import Path

    from segapp.model.document import InitialLabels, Mark


_BLANK = Document()
_UNTOUCHED = History()


@dataclass(frozen=True, slots=True)
class Lesson:
    """All that an answer depends on besides the picture: equal lessons have equal answers.

    Names and colours of classes teach nothing, except that a name may make a class the
    background, which the clean-up treats in its own way, and which need not be marked then.
    """

    strokes: tuple[Mark, ...]
    n_classes: int
    background: int
    background_is_named: bool
    settings: Settings
    start: InitialLabels | None = None
    retouches: tuple[Mark, ...] = ()
    display: DisplaySettings = DEFAULT_DISPLAY


@dataclass(frozen=True, slots=True)
class Content:
    """What the user made of a picture, and what a project file holds."""

    document: Document = _BLANK
    settings: Settings = DEFAULT_SETTINGS

    @property
    def lesson(self) -> Lesson:
        """What of it can change the answer."""
        document = self.document
        background = document.background
        return Lesson(
            document.strokes,
            len(document.classes),
            background,
            document.classes[background].is_background,
            self.settings,
            document.initial,
            document.retouches,
            document.display,
        )


def _is_one_turn(first: Settings, middle: Settings, last: Settings) -> bool:
    """Tell whether two changes are of the same number, and of nothing else."""
    turned = _changed(first, middle)
    return turned is not None and turned == _changed(middle, last)


def _changed(before: Settings, after: Settings) -> str | None:
    """Name the one number that has changed; None when it is anything else."""
    old, new = (asdict(settings) for settings in (before, after))
    old, new = (values | values.pop("clean_up") for values in (old, new))
    names = [str(name) for name in old if old[name] != new[name]]
    if len(names) != 1 or type(old[names[0]]) not in (int, float):
        return None
    return names[0]


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

    def edit(self, name: str, document: Document) -> PictureState:
        """Go on to another document."""
        if document == self.history.present:
            return self
        return replace(self, history=self.history.edit(name, document), settings_future=())

    def with_settings(self, settings: Settings) -> PictureState:
        """Go on to other settings, which undo takes back like any edit."""
        if settings == self.settings:
            return self
        past = (*self.settings_past, (len(self.history.past), self.settings))
        if self.undoes_settings and _is_one_turn(past[-2][1], self.settings, settings):
            past = past[:-1]  # steps of one knob are one edit, taken back at once
            if past[-1][1] == settings:
                past = past[:-1]
        return replace(
            self,
            settings=settings,
            settings_past=past,
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

    def undo(self) -> PictureState:
        """Go one edit back, or stay when there is none."""
        if not self.undoes_settings:
            return replace(self, history=self.history.undo())
        place, settings = self.settings_past[-1]
        return replace(
            self,
            settings=settings,
            settings_past=self.settings_past[:-1],
            settings_future=(*self.settings_future, (place, self.settings)),
        )

    def redo(self) -> PictureState:
        """Make the edit that was undone last once more, or stay when there is none."""
        if not self.redoes_settings:
            return replace(self, history=self.history.redo())
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
        moved = replace(self.edit(name, content.document), settings=content.settings)
        return moved.written(content, project, digest)


class Stage(Enum):
    """The states of the answer that a user can tell apart."""

    EMPTY = "no picture"
    WAITING = "no answer yet"
    RUNNING = "learning"
    FOLLOWING = "a look at the stroke in the making"
    OUTDATED = "older than the strokes"
    UNFINISHED = "stopped with a preview"
    CURRENT = "up to date"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Progress:
    """The stage, what to say about it, and while it runs how far it is.

    ``started`` and ``seconds`` are of `time.monotonic`; ``seconds`` is set at the end.
    """

    stage: Stage = Stage.EMPTY
    text: str = ""
    fraction: float = 0.0
    started: float = 0.0
    seconds: float = 0.0
