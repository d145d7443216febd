"""Strokes from a project, or from an image whose values are classes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from segapp.imaging.colour import unused_colour
from segapp.io.folder_files import folder_display
from segapp.io.images import IndexedImage, load_image, load_indices
from segapp.io.project import is_project, load_project
from segapp.model.classes import MAX_CLASSES, PALETTE, TWO_CLASSES, ClassInfo
from segapp.model.document import Document, Patch
from segapp.model.validation import SegappError, from_json, require_list, require_text, sanitize

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from segapp.model.answer import AnswerSnapshot, StoredLabels
    from segapp.model.picture import Picture
    from segapp.model.settings import Settings


@dataclass(frozen=True, slots=True)
class Strokes:
    """A document, with a project's settings and stored answer."""

    document: Document
    settings: Settings | None = None
    answer: AnswerSnapshot | None = None
    labels: StoredLabels | None = None


def load_strokes(path: str | Path, size: tuple[int, int]) -> Strokes:
    """Read strokes for an image of ``size`` (height, width).

    A picture holds 0 where nothing is marked, else the class counted from 1, as palette index
    or grey value. One that this program wrote names its classes; else there are two, foreground
    and background, or as many as the largest value asks for.
    """
    path = Path(path)
    if is_project(path):
        project = load_project(path)
        return Strokes(project.document, project.settings, project.answer, project.labels)
    indices = load_indices(path)
    if indices.values.shape != size:
        height, width = indices.values.shape
        raise SegappError(
            "{} has {} x {} pixels: wanted the image's {} x {}.",
            sanitize(path.name),
            width,
            height,
            size[1],
            size[0],
        )
    names = _names(indices)
    highest = int(indices.values.max())
    if highest > max(len(PALETTE), len(names)):
        raise SegappError(
            "{}: wanted 0 for unmarked pixels and classes from 1, got {}.",
            sanitize(path.name),
            highest,
        )
    if len(names) < max(highest, 2):
        return Strokes(document_from_labels(indices.values))
    palette = () if indices.palette is None else indices.palette[1:].tolist()
    return Strokes(document_from_labels(indices.values, classes_named(names, palette)))


def document_from_labels(
    labels: NDArray[np.uint8], classes: tuple[ClassInfo, ...] | None = None
) -> Document:
    """Return a document whose marks are the labelled pixels, all made at once.

    ``labels`` holds 0 where nothing is marked, else the class counted from 1. Without
    ``classes`` there are foreground and background, and more as the largest label asks for.

    >>> document = document_from_labels(np.array([[1, 0, 2]], np.uint8))
    >>> [(document.classes[mark.label].name, mark.left) for mark in document.strokes]
    [('foreground', 0), ('background', 2)]
    """
    if classes is None:
        names = [info.name for info in TWO_CLASSES]
        names += [f"class {index + 1}" for index in range(2, int(labels.max()))]
        classes = classes_named(names)
    marks = [Patch.of_mask(labels == value, value - 1) for value in _present(labels)]
    return Document(classes, tuple(marks)).as_one_state()


def add_strokes(document: Document, other: Document) -> Document:
    """Add another document's strokes; classes go by their names.

    Nothing else of the document changes.
    """
    background, indices = document.background, []
    for info in other.classes:
        names = [known.name for known in document.classes]
        if info.name not in names:
            taken = [known.colour for known in document.classes]
            colour = info.colour if info.colour not in taken else unused_colour(taken)
            document = document.with_class(ClassInfo(info.name, colour))
            names.append(info.name)
        indices.append(names.index(info.name))
    if document.background != background:
        document = document.with_background(background)
    moved = other.with_classes(document.classes, indices)
    known_objects = {(info.label, info.number) for info in document.objects}
    added = (info for info in moved.objects if (info.label, info.number) not in known_objects)
    objects = (*document.objects, *added)
    return replace(document, strokes=document.strokes.plus(*moved.strokes), objects=objects)


def classes_named(
    names: Sequence[str], colours: Sequence[Sequence[int]] = ()
) -> tuple[ClassInfo, ...]:
    """Return classes of these names; the ones beyond ``colours`` get unused colours."""
    chosen = [(int(red), int(green), int(blue)) for red, green, blue in colours]
    for _ in names[len(chosen) :]:
        chosen.append(unused_colour(chosen))
    return tuple(map(ClassInfo, names, chosen))


def load_image_with_strokes(image: Path, strokes: Path) -> tuple[Picture, Strokes]:
    """Read an image and its strokes, with the project's or folder's display."""
    if is_project(strokes):
        read = load_strokes(strokes, (0, 0))  # which a project does not ask for
        return load_image(image, read.document.display), read
    picture = load_image(image, folder_display(image))
    read = load_strokes(strokes, picture.size)
    return picture, replace(read, document=replace(read.document, display=picture.display))


def _present(values: NDArray[np.uint8]) -> list[int]:
    """Return the classes that have a pixel, row by row to save memory."""
    seen = np.zeros(256, bool)
    for row in values:
        seen[row] = True
    return [int(value) for value in np.flatnonzero(seen) if value]


def _names(indices: IndexedImage) -> list[str]:
    """Return the classes' names in the file, or none if they are damaged."""
    try:
        coded = indices.text.get("Classes", "[]").encode("utf-8", "replace")
        names = require_list(from_json(coded, "Classes"), "Classes", 0, MAX_CLASSES)
        return [require_text(name, "Classes") for name in names]
    except SegappError:
        return []
