"""The one way from what was learnt about prototypes to the labelling of every pixel.

Training and learnt models go it alike: outline, clean-up, margins, codes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from segapp.outline.clean_up import clean_up, pinned
from segapp.outline.drawing import OutlineProblem, draw_outline
from segapp.picture.pyramid import halved_marks, repeated
from segapp.values.labelling import Labelling
from segapp.values.updates import Preview, Report

if TYPE_CHECKING:
    from collections.abc import Generator

    from numpy.typing import NDArray

    from segapp.learning.colour_likelihood import ColourLikelihood
    from segapp.learning.laps import Laps
    from segapp.learning.verdict import Verdict
    from segapp.picture.prepared import PreparedPicture
    from segapp.values.document import Document
    from segapp.values.settings import Settings

Value = TypeVar("Value", bound=np.generic)


def marks_of_levels(
    picture: PreparedPicture, marked: NDArray[np.int16]
) -> tuple[NDArray[np.int16], ...]:
    """Carry the marked pixels of the whole picture down to each of its levels."""
    marks = [marked]
    for _ in picture.levels[1:]:
        marks.append(halved_marks(marks[-1]))
    return tuple(marks)


@dataclass(frozen=True, slots=True, eq=False)
class PixelTask:
    """All that a labelling is made from, besides the verdict on the prototypes.

    Parameters
    ----------
    marks
        For each level of the picture the class of each marked pixel, -1 elsewhere.
    document
        Whose classes are meant; its strokes are in ``marks``.
    classes
        The document's classes that were learnt, in the order of the verdict's columns.
    """

    picture: PreparedPicture
    marks: tuple[NDArray[np.int16], ...]
    document: Document
    classes: NDArray[np.intp]
    likelihood: ColourLikelihood
    settings: Settings

    def preview(self, verdict: Verdict) -> Preview:
        """Paint the prototypes' classes as they are."""
        return Preview(self._labelling(self._painted(verdict), verdict))

    def steps(self, verdict: Verdict, laps: Laps) -> Generator[Report, None, Labelling]:
        """Report progress from 0.6 to 0.9 and return the labelling."""
        labels = self._painted(verdict)
        if self.settings.refine:
            labels = yield from self._outlined(verdict)
            laps.end("outline")
        yield Report("Tidying", 0.9)
        labels = clean_up(labels, self.marks[0], self.settings.clean_up, self.document.background)
        laps.end("tidying")
        labelling = self._labelling(labels, verdict)
        laps.end("painting")
        return labelling

    def _outlined(self, verdict: Verdict) -> Generator[Report, None, NDArray[np.uint8]]:
        settings = self.settings
        positions = np.full(len(self.document.classes) + 1, -1, dtype=np.int16)
        positions[self.classes] = np.arange(len(self.classes))
        problem = OutlineProblem(
            levels=self.picture.levels,
            marks=[positions[marks] for marks in self.marks],
            prototypes=self.picture.table(settings).prototypes,
            graph=self.picture.graph(settings),
            colour_costs=settings.colour_likelihood * self.likelihood.costs,
            smoothness=settings.smoothness,
        )
        drawing = draw_outline(problem, verdict.costs)
        while True:
            try:
                yield Report("Drawing the outline", 0.6 + 0.3 * next(drawing))
            except StopIteration as end:
                return np.asarray(self.classes.astype(np.uint8)[end.value])

    def _painted(self, verdict: Verdict) -> NDArray[np.uint8]:
        """Paint the prototypes' classes, without an outline of their own."""
        return pinned(self._class_of_pixels(verdict), self.marks[0])

    def _class_of_pixels(self, verdict: Verdict) -> NDArray[np.uint8]:
        return self._at_pixels(self.classes.astype(np.uint8)[verdict.labels])

    def _at_pixels(self, values: NDArray[Value]) -> NDArray[Value]:
        """Give each pixel of the whole picture its prototype's value."""
        index_map = self.picture.table(self.settings).prototypes.index_map
        height, width = self.marks[0].shape
        times = 1 << (len(self.marks) - 1)
        return np.ascontiguousarray(repeated(values[index_map], (height, width), times))

    def _labelling(self, labels: NDArray[np.uint8], verdict: Verdict) -> Labelling:
        agrees = labels == self._class_of_pixels(verdict)
        margin = np.where(agrees, self._at_pixels(verdict.margin), np.float32(0.0))
        margin[self.marks[0] >= 0] = max(float(verdict.margin.max()), 1.0)
        codes = self._at_pixels(verdict.codes)
        n_classes = len(self.document.classes)
        return Labelling(labels, margin, codes, n_classes, self.settings.bits)
