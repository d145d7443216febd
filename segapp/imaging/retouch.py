"""Retouching of a labelling, and locked regions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from segapp.imaging.components import component_at
from segapp.imaging.rasterise import UNMARKED
from segapp.model.answer import Answer
from segapp.model.document import Patch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from segapp.imaging.seeds import SeedMap
    from segapp.model.answer import Report, Update
    from segapp.model.labelling import Labelling


def retouch_updates(updates: Iterable[Update], retouches: SeedMap) -> Iterator[Update]:
    """Paint a document's retouches over each preview and over the answer."""
    for update in updates:
        if isinstance(update, Answer):
            yield replace(update, labelling=retouch(update.labelling, retouches))
        else:
            yield retouch_report(update, retouches)


def retouch_report(report: Report, retouches: SeedMap) -> Report:
    """Return a report whose preview, if it has one, shows the retouches."""
    preview = report.preview
    if preview is None:
        return report
    labelling = retouch(preview.labelling, retouches, preview.times)
    return replace(report, preview=replace(preview, labelling=labelling))


def retouch(labelling: Labelling, retouches: SeedMap, times: int = 1) -> Labelling:
    """Return a labelling with retouches painted over its labels.

    Each of its pixels stands for ``times`` x ``times`` of the image's.
    """
    if not retouches.tiles:
        return labelling
    labels = labelling.labels.copy()
    if times == 1:
        retouches.pin(labels)
    else:
        painted = retouches[::times, ::times]
        np.copyto(labels, painted, where=painted != UNMARKED, casting="unsafe")
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
