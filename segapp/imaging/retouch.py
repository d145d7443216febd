"""Retouching of a labelling, and locked regions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from segapp.imaging.components import component_at
from segapp.imaging.rasterise import rasterize_marks
from segapp.model.answer import Answer
from segapp.model.document import Patch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from segapp.model.answer import Report, Update
    from segapp.model.document import Document, Marks
    from segapp.model.labelling import Labelling


def retouch_updates(updates: Iterable[Update], document: Document) -> Iterator[Update]:
    """Paint a document's retouches over each preview and over the answer."""
    for update in updates:
        if isinstance(update, Answer):
            yield replace(update, labelling=retouch(update.labelling, document.retouches))
        else:
            yield retouch_report(update, document)


def retouch_report(report: Report, document: Document) -> Report:
    """Return a report whose preview, if it has one, shows the retouches."""
    preview = report.preview
    if preview is None:
        return report
    labelling = retouch(preview.labelling, document.retouches, preview.times)
    return replace(report, preview=replace(preview, labelling=labelling))


def retouch(labelling: Labelling, marks: Marks, times: int = 1) -> Labelling:
    """Return a labelling with marks painted over its labels.

    Each of its pixels stands for ``times`` x ``times`` of the image's.
    """
    if not marks:
        return labelling
    height, width = labelling.labels.shape
    painted = rasterize_marks(marks, (height * times, width * times))[::times, ::times]
    labels = np.where(painted >= 0, painted, labelling.labels).astype(np.uint8)
    return replace(labelling, labels=labels, objects=None)


def class_lock(labels: NDArray[np.uint8], index: int) -> Patch:
    """Return a patch that keeps a class's pixels as they are."""
    return Patch.of_mask(labels == index, index)


def component_lock(labels: NDArray[np.uint8], x: int, y: int) -> Patch:
    """Return a patch that keeps the component under a pixel as it is."""
    return Patch.of_mask(component_at(labels, x, y), int(labels[y, x]))


def component_fill(labels: NDArray[np.uint8], x: int, y: int, class_index: int | None) -> Patch:
    """Return a patch that gives the component under a pixel to a class."""
    return Patch.of_mask(component_at(labels, x, y), class_index)
