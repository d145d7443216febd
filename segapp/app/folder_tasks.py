"""Tasks on images of a folder that are not open: shared classes and learnt models."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from segapp.app.project_files import ChangedByOthersError, writable_location
from segapp.app.result import SegmentationModel
from segapp.app.segmenter import Segmenter
from segapp.io.class_list import apply_folder_classes
from segapp.io.images import load_image
from segapp.io.project import Project
from segapp.model.answer import Answer
from segapp.model.labelling import InitialLabels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from segapp.app.project_store import ProjectStore
    from segapp.app.state import Content
    from segapp.engine.learnt_model import LearntModel
    from segapp.model.classes import ClassInfo
    from segapp.model.document import Document
    from segapp.model.labelling import Labelling
    from segapp.model.picture import Picture


_NOT_WRITTEN = (ValueError, ChangedByOthersError, OSError, MemoryError)


@dataclass(frozen=True, slots=True, eq=False)
class AnnotatedImage:
    """An image with strokes, from which a model is learnt for other images."""

    picture: Picture
    content: Content

    @property
    def name(self) -> str:
        """The file's name."""
        return self.picture.path.name

    def learn_model(self) -> LearntModel:
        """Learn a model that can be applied to other images."""
        content = self.content
        return Segmenter(self.picture, content.document, settings=content.settings).model().learnt


@dataclass(frozen=True, slots=True)
class TaskStep:
    """The outcome of a task for one image, the ``number``-th of ``total``."""

    path: Path
    number: int
    total: int
    changed: bool = False
    error: Exception | None = None


def answered_document(
    document: Document, classes: tuple[ClassInfo, ...], labelling: Labelling, name: str
) -> Document:
    """Return a document without strokes that begins with a model's answer.

    The model's classes are found by their names; where the document lacks one, it takes all
    classes of the model.
    """
    start = InitialLabels.from_labelling(labelling, name)
    indices = {info.name: index for index, info in enumerate(document.classes)}
    if not all(info.name in indices for info in classes):
        return replace(document, classes=classes, initial=start)
    moved = [indices[info.name] for info in classes]
    return replace(document, initial=start.with_classes(moved, len(document.classes)))


def apply_model(model: LearntModel, picture: Picture) -> Iterator[Labelling | None]:
    """Yield the model's answer last, and None before, so that it can be stopped."""
    for update in SegmentationModel(model).updates(picture):
        yield update.labelling if isinstance(update, Answer) else None


def share_classes(
    images: list[Path],
    store: ProjectStore,
    before: tuple[ClassInfo, ...],
    after: tuple[ClassInfo, ...],
) -> Iterator[TaskStep]:
    """Bring the projects of images from one class list of their folder to the next."""
    for number, path in enumerate(images, start=1):
        changed, problem = False, None
        try:
            found = store.search(path)
            if found is not None:
                project = found.require()
                document = apply_folder_classes(project.document, before, after)
                if document is not None:
                    store.write(found.location, replace(project, document=document))
                    changed = True
        except _NOT_WRITTEN as error:
            problem = error
        yield TaskStep(path, number, len(images), changed, problem)


def apply_to_all(
    source: AnnotatedImage,
    images: list[Path],
    store: ProjectStore,
    untouched: Document,
    is_busy: Callable[[Path], bool],
) -> Iterator[TaskStep | None]:
    """Save answers of one image's model in projects of images without strokes.

    Images without a project begin with the document ``untouched``; those for which ``is_busy``
    returns True, as the user works on them meanwhile, are left alone.
    """
    yield None
    model = source.learn_model()
    for number, path in enumerate(images, start=1):
        changed, problem = False, None
        folder = store.policy.writing_folder(path)
        try:
            found = store.search(path)
            project = None if found is None else found.require()
            document = untouched if project is None else project.document
            if folder is not None and not (document.strokes or document.retouches):
                picture = load_image(path, document.display)
                labelling = None
                for partial in apply_model(model, picture):
                    yield None
                    labelling = partial
                if labelling is not None and not is_busy(path):
                    settings = source.content.settings if project is None else project.settings
                    answered = answered_document(document, model.classes, labelling, source.name)
                    location = None if found is None else found.location
                    store.write(
                        writable_location(location, path, folder),
                        Project(answered, settings, path, picture.sha256),
                    )
                    changed = True
        except _NOT_WRITTEN as error:
            problem = error
        yield TaskStep(path, number, len(images), changed, problem)
