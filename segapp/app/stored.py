"""Answers that projects store: their labels, valid as long as nothing has changed."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, fields, replace
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
from segapp.model.document import Marks
from segapp.model.labelling import DeferredValues, Labelling
from segapp.model.settings import Settings, to_plain
from segapp.model.validation import SegappError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from segapp.app.state import Content, TrainingInputs
    from segapp.model.answer import AnswerSnapshot, Report
    from segapp.model.explanation import PixelExplanation
    from segapp.model.labelling import PixelValues
    from segapp.model.picture import Picture


def _digest(image: Path, sha256: str, inputs: TrainingInputs, labels: StoredLabels) -> str:
    """Return a digest of labels and of all that they depend on, the program included."""
    told: list[object] = [program_digest(), sha256, parse_page(image)[1], labels.keys]
    told += [hashlib.sha256(packed).hexdigest() for packed in (labels.labels, labels.objects)]
    for field in fields(inputs):
        value = getattr(inputs, field.name)
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
