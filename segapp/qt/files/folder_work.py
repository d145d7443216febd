"""Jobs on images that are not open: class lists and learnt models."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from segapp.app.project_store import new_project, project_of
from segapp.engine.loading import let_see, sight_of, trainer_of
from segapp.io.class_list import apply_folder_classes
from segapp.io.images import load_image
from segapp.io.project import Project, load_project
from segapp.model.document import InitialLabels
from segapp.model.labelling import Answer
from segapp.qt.files.opening import digest_of
from segapp.qt.files.recovery import ChangedByOthersError, save_over

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from segapp.app.state import Content
    from segapp.engine.learnt_model import LearntModel
    from segapp.model.classes import ClassInfo
    from segapp.model.document import Document
    from segapp.model.labelling import Labelling
    from segapp.model.picture import Picture


_NOT_WRITTEN = (ValueError, ChangedByOthersError, OSError, MemoryError)


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A picture that somebody has marked, for others to learn from."""

    picture: Picture
    content: Content

    @property
    def name(self) -> str:
        """Of the picture."""
        return self.picture.path.name

    def learnt(self) -> LearntModel:
        """Learn what can be applied to other pictures."""
        learner = trainer_of(self.picture.rgb, self.picture.channels)
        let_see(learner, self.picture.rgb, self.content.settings)
        return learner.learnt_model(self.content.document, self.content.settings)


@dataclass(frozen=True, slots=True)
class Step:
    """One picture of such work; ``place`` counts from 1 to ``total``."""

    path: Path
    place: int
    total: int
    changed: bool
    reason: str = ""


def with_start(
    document: Document, model: LearntModel, labelling: Labelling, name: str
) -> Document:
    """Return a document without strokes that begins with a model's answer.

    The model's classes are found by their names; where the document lacks one, it takes all
    classes of the model.
    """
    start = InitialLabels.from_labelling(labelling, name)
    places = {info.name: index for index, info in enumerate(document.classes)}
    if not all(info.name in places for info in model.classes):
        return replace(document, classes=model.classes, initial=start)
    moved = [places[info.name] for info in model.classes]
    return replace(document, initial=start.with_classes(moved, len(document.classes)))


def applied(model: LearntModel, picture: Picture) -> Iterator[Labelling | None]:
    """Yield the model's answer last, and None before, so that it can be stopped."""
    with sight_of(model.settings) as sight:
        encoded = sight(picture.rgb)
    for update in model.updates(picture.rgb, picture.channels, encoded):
        yield update.labelling if isinstance(update, Answer) else None


def bring_classes(
    paths: list[Path],
    place: Path,
    before: tuple[ClassInfo, ...],
    after: tuple[ClassInfo, ...],
) -> Iterator[Step]:
    """Bring pictures that are not open from one list of the folder to the next."""
    for number, path in enumerate(paths, start=1):
        changed, reason = False, ""
        try:
            project = project_of(path, place)
            if project is not None:
                digest, held = digest_of(project), load_project(project)
                document = apply_folder_classes(held.document, before, after)
                if document is not None:
                    save_over(project, replace(held, document=document), digest)
                    changed = True
        except _NOT_WRITTEN as error:
            reason = str(error)
        yield Step(path, number, len(paths), changed, reason)


def apply_to_all(
    source: Source,
    paths: list[Path],
    place_of: Callable[[Path], Path | None],
    begun: Document,
    is_busy: Callable[[Path], bool],
) -> Iterator[Step | None]:
    """Answer pictures without strokes with what is learnt on one; they are kept as projects.

    ``is_busy`` tells of a picture that somebody works on meanwhile, which is left alone.
    """
    yield None
    model = source.learnt()
    for number, path in enumerate(paths, start=1):
        changed, reason, place = False, "", place_of(path)
        try:
            project = project_of(path, place)
            digest = "" if project is None else digest_of(project)
            held = None if project is None else load_project(project)
            document = begun if held is None else held.document
            if place is not None and not (document.strokes or document.retouches):
                picture = load_image(path, document.display)
                labelling = None
                for found in applied(model, picture):
                    yield None
                    labelling = found
                if labelling is not None and not is_busy(path):
                    settings = source.content.settings if held is None else held.settings
                    answered = with_start(document, model, labelling, source.name)
                    written = Project(answered, settings, path, picture.sha256)
                    save_over(project or new_project(path, place), written, digest)
                    changed = True
        except _NOT_WRITTEN as error:
            reason = str(error)
        yield Step(path, number, len(paths), changed, reason)
