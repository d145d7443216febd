"""State of an open image, and answers stored in its project while they are valid."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, fields, replace
from enum import Enum
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np

from segapp.engine.digests import program_digest
from segapp.imaging.rle import pack_labels, unpack_labels
from segapp.io.marks import PackedMarks
from segapp.io.pages import parse_page
from segapp.io.project import Project
from segapp.model.answer import Answer, Preview, StoredLabels
from segapp.model.classes import ObjectMap
from segapp.model.display import DEFAULT_DISPLAY, DisplaySettings
from segapp.model.document import NO_MARKS, Document, Marks
from segapp.model.labelling import DeferredValues, Labelling
from segapp.model.settings import DEFAULT_SETTINGS, Settings, to_plain
from segapp.model.validation import SegappError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from segapp.io.project import ProjectLocation
    from segapp.model.answer import AnswerSnapshot, Report
    from segapp.model.classes import Key
    from segapp.model.document import Stroke
    from segapp.model.explanation import PixelExplanation
    from segapp.model.labelling import InitialLabels, PixelValues
    from segapp.model.picture import Picture


_BLANK = Document()


@dataclass(frozen=True, slots=True)
class TrainingInputs:
    """All inputs of an answer besides the image: equal inputs, equal answers.

    Names and colours of classes teach nothing, except that a name may make a class the
    background, which the clean-up treats in its own way, and which need not be marked then.
    ``anchors`` are of objects; their names and flags make no difference.
    """

    strokes: Marks
    n_classes: int
    background: int
    background_is_named: bool
    settings: Settings
    initial: InitialLabels | None = None
    retouches: Marks = NO_MARKS
    display: DisplaySettings = DEFAULT_DISPLAY
    anchors: tuple[tuple[Key, tuple[tuple[float, float], ...]], ...] = ()
    cuts: tuple[Stroke, ...] = ()
    split: tuple[bool, ...] = ()


@dataclass(frozen=True, slots=True)
class Content:
    """The user's work on an image, and the content of a project file."""

    document: Document = _BLANK
    settings: Settings = DEFAULT_SETTINGS

    @property
    def training_inputs(self) -> TrainingInputs:
        """The part that can change the answer."""
        document = self.document
        background = document.background
        return TrainingInputs(
            document.strokes,
            len(document.classes),
            background,
            document.classes[background].is_background,
            self.settings,
            document.initial,
            document.retouches,
            document.display,
            tuple((info.key, info.anchors) for info in document.objects if info.anchors),
            document.cuts,
            tuple(info.split for info in document.classes),
        )


_EMPTY = Content()


@dataclass(frozen=True, slots=True)
class Edit:
    """A step of undo or redo, linked to the one that comes after it.

    ``content`` is that before the edit where it can be undone, and that after it where it can be
    redone.
    """

    name: str
    content: Content
    following: Edit | None


@dataclass(frozen=True, slots=True)
class History:
    """Document and settings with their undo and redo steps, as a value.

    ``past`` is the step that undo takes next, and ``future`` that of redo.
    """

    present: Content = _EMPTY
    past: Edit | None = None
    future: Edit | None = None

    def edit(self, name: str, content: Content) -> History:
        """Go on to ``content`` and forget what was undone. No change is no edit.

        >>> from segapp.model.document import Stroke
        >>> stroke = Stroke(((3.5, 2.5),), radius=2.0, label=0)
        >>> history = History().edit("a stroke", Content(Document(strokes=(stroke,))))
        >>> history.undo_name, history.undo().present == Content()
        ('a stroke', True)
        """
        if content == self.present:
            return self
        return History(content, Edit(name, self.present, self.past))

    def with_settings(self, name: str, settings: Settings) -> History:
        """Go on to other settings; steps of one number in a row are one edit."""
        history = self.edit(name, replace(self.present, settings=settings))
        if history is self or self.past is None:
            return history
        first = self.past.content
        if first.document != self.present.document or not _change_one_number(
            first.settings, self.present.settings, settings
        ):
            return history
        if history.present == first:  # turned back to where the steps began
            return History(first, self.past.following)
        return History(history.present, self.past)

    def undo(self) -> History:
        """Go one edit back, or stay when there is none."""
        step = self.past
        if step is None:
            return self
        undone = Edit(step.name, self.present, self.future)
        return History(step.content, step.following, undone)

    def redo(self) -> History:
        """Make the edit that was undone last once more, or stay when there is none."""
        step = self.future
        if step is None:
            return self
        redone = Edit(step.name, self.present, self.past)
        return History(step.content, redone, step.following)

    @property
    def undo_name(self) -> str | None:
        """The name of the edit that undo takes back."""
        return self.past.name if self.past is not None else None

    @property
    def redo_name(self) -> str | None:
        """The name of the edit that redo makes again."""
        return self.future.name if self.future is not None else None


def _change_one_number(first: Settings, middle: Settings, last: Settings) -> bool:
    """Tell whether two changes are of the same number, and of nothing else."""
    name = _changed_number(first, middle)
    return name is not None and name == _changed_number(middle, last)


def _changed_number(before: Settings, after: Settings) -> str | None:
    """Name the one number that has changed; None for any other change."""
    old, new = (asdict(settings) for settings in (before, after))
    old, new = (values | values.pop("clean_up") for values in (old, new))
    names = [str(name) for name in old if old[name] != new[name]]
    if len(names) != 1 or type(old[names[0]]) not in (int, float):
        return None
    return names[0]


_UNTOUCHED = History()


@dataclass(frozen=True, slots=True)
class PictureState:
    """An image's content with its history, and the part of it that is on disk.

    ``location`` is of the project that was read or written last. Content that was ``restored``
    after a crash is unsaved, even when all strokes had been taken back. ``begun`` is the
    document at the beginning, with the folder's classes for instance: nothing to save.
    ``revision`` counts the edits, in this program and before.
    """

    path: Path
    sha256: str
    history: History = _UNTOUCHED
    saved: Content | None = None
    location: ProjectLocation | None = None
    restored: bool = False
    begun: Document = _BLANK
    revision: int = field(default=0, compare=False)

    @property
    def content(self) -> Content:
        """The present document and settings."""
        return self.history.present

    @property
    def document(self) -> Document:
        """The present document."""
        return self.history.present.document

    @property
    def settings(self) -> Settings:
        """The present settings."""
        return self.history.present.settings

    @property
    def unsaved(self) -> bool:
        """Whether closing would lose work of the user."""
        if self.saved is None:
            return self.restored or self.document != self.begun
        return self.content != self.saved

    def edit(self, name: str, document: Document) -> PictureState:
        """Go on to another document."""
        content = replace(self.content, document=document)
        return self._moved(self.history.edit(name, content))

    def with_settings(self, name: str, settings: Settings) -> PictureState:
        """Go on to other settings."""
        return self._moved(self.history.with_settings(name, settings))

    def undo(self) -> PictureState:
        """Go one edit back, or stay when there is none."""
        return self._moved(self.history.undo())

    def redo(self) -> PictureState:
        """Make the edit that was undone last once more, or stay when there is none."""
        return self._moved(self.history.redo())

    def _moved(self, history: History) -> PictureState:
        if history is self.history:
            return self
        return replace(self, history=history, revision=self.revision + 1)

    def written(self, content: Content, location: ProjectLocation) -> PictureState:
        """Note that ``content`` is saved in a project."""
        return replace(self, saved=content, location=location, restored=False)

    def with_project(self, name: str, content: Content, location: ProjectLocation) -> PictureState:
        """Go on to the content of a project; undo brings back the content before."""
        moved = self._moved(self.history.edit(name, content))
        return moved.written(content, location)


class Stage(Enum):
    """The states of the answer that are shown to the user."""

    EMPTY = "no picture"
    WAITING = "no answer yet"
    RUNNING = "learning"
    FOLLOWING = "live preview of an unfinished stroke"
    OUTDATED = "older than the strokes"
    UNFINISHED = "stopped with a preview"
    CURRENT = "up to date"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Progress:
    """The stage with its message, and while it runs the fraction that is done.

    ``started`` and ``seconds`` are of `time.monotonic`; ``seconds`` is set at the end.
    """

    stage: Stage = Stage.EMPTY
    text: str = ""
    fraction: float = 0.0
    started: float = 0.0
    seconds: float = 0.0


def _digest(image: Path, sha256: str, inputs: TrainingInputs, labels: StoredLabels) -> str:
    """Return a digest of labels and of all that they depend on, the program included."""
    told: list[object] = [program_digest(), sha256, parse_page(image)[1], labels.keys]
    told += [hashlib.sha256(packed).hexdigest() for packed in (labels.labels, labels.objects)]
    for kept in fields(inputs):
        value = getattr(inputs, kept.name)
        if isinstance(value, Marks):
            told.append(PackedMarks.of(value).digest())
        else:
            told.append(to_plain(value) if isinstance(value, Settings) else repr(value))
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def project_of(image: Path, sha256: str, content: Content, answer: Answer | None) -> Project:
    """Return a project with what is stored of the answer to its content, if any."""
    labels = snapshot = None
    if answer is not None:
        snapshot, objects = answer.snapshot(), answer.labelling.objects
        labels = StoredLabels(
            "",
            pack_labels(answer.labelling.labels),
            b"" if objects is None else pack_labels(objects.index_map),
            () if objects is None else objects.keys,
        )
        digest = _digest(image, sha256, content.training_inputs, labels)
        labels = replace(labels, digest=digest)
    return Project(
        content.document, content.settings, image, sha256, answer=snapshot, labels=labels
    )


@dataclass(frozen=True, slots=True, eq=False)
class StoredResult:
    """The result of a project: an answer that is valid, or labels of an outdated one."""

    inputs: TrainingInputs
    found: Answer | Preview


def valid_answer(
    picture: Picture,
    content: Content,
    stored: StoredLabels,
    snapshot: AnswerSnapshot | None,
    learn: Callable[[], Answer],
) -> Answer | None:
    """Return the stored answer for a content; None if learning may give another.

    ``learn`` gives margins, codes and explanations when something asks for them. The ``snapshot``
    that was stored with the answer goes into the next project.
    """
    if not picture.sha256 or picture.display != content.document.display:
        return None
    inputs = content.training_inputs
    if stored.digest != _digest(picture.path, picture.sha256, inputs, stored):
        return None
    learnt = cache(learn)
    margins = DeferredValues(lambda: learnt().labelling.margins)
    codes = DeferredValues(lambda: learnt().labelling.hash_codes)
    labelling = _labelling(picture, content, stored, margins, codes)
    if labelling is None:
        return None
    labelling = replace(labelling, make_insight=lambda: learnt().insight)
    return Answer(labelling, None, lambda: snapshot, partial(_explanations, learnt))


def _explanations(
    learnt: Callable[[], Answer], x: float, y: float
) -> Iterator[PixelExplanation | Report]:
    explain = learnt().explain
    if explain is not None:
        yield from explain(x, y)


def outdated_preview(picture: Picture, content: Content, stored: StoredLabels) -> Preview | None:
    """Return stored labels that are not valid any more, if they fit the image."""
    nothing = np.broadcast_to(np.float32(0), picture.size)
    codes = np.broadcast_to(np.uint32(0), picture.size)
    labelling = _labelling(picture, content, stored, nothing, codes)
    return None if labelling is None else Preview(labelling)


def _labelling(
    picture: Picture,
    content: Content,
    stored: StoredLabels,
    margins: PixelValues[np.float32],
    codes: PixelValues[np.uint32],
) -> Labelling | None:
    n_classes = len(content.document.classes)
    try:
        labels = np.asarray(unpack_labels(stored.labels, picture.size), np.uint8)
        objects = None
        if stored.keys:
            unpacked = unpack_labels(stored.objects, picture.size, np.int32)
            index_map = np.asarray(unpacked, np.int32)
            if not 0 <= index_map.min() <= index_map.max() <= len(stored.keys):
                return None
            objects = ObjectMap(index_map, stored.keys)
    except SegappError:
        return None
    if labels.max() >= n_classes:
        return None
    return Labelling(labels, margins, codes, n_classes, content.settings.bits, objects)
