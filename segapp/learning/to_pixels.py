"""The one way from what was learnt about prototypes to the labelling of every pixel.

Training and learnt models go it alike: outline, clean-up, margins, codes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from segapp.outline.clean_up import clean_up, pinned
from segapp.outline.drawing import OutlineProblem, draw_outline, enlarge_outline
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
        labels = self._enlarged(self._painted(verdict))
        return Preview(self._labelling(pinned(labels, self.marks[0]), verdict))

    def coarse_labels(self, verdict: Verdict) -> Generator[Report, None, NDArray[np.uint8]]:
        """Return the labels of the level at which is learnt, outline drawn, not yet tidied."""
        if not self.settings.refine:
            return pinned(self._painted(verdict), self.marks[-1])
        drawing = draw_outline(self._problem(), verdict.costs)
        while True:
            try:
                yield Report("Drawing the outline", 0.6 + 0.2 * next(drawing))
            except StopIteration as end:
                return np.asarray(self.classes.astype(np.uint8)[end.value])

    def tidied_coarse(self, coarse: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Tidy the coarse labels: what the next stroke is told of this answer."""
        return self._tidied(coarse, self.marks[-1])

    def full_size(
        self, coarse: NDArray[np.uint8], verdict: Verdict, laps: Laps
    ) -> Generator[Report, None, Labelling]:
        """Carry the coarse labels up to the picture's size, tidy them, and add the rest."""
        labels = coarse
        if len(self.picture.levels) > 1 and self.settings.refine:
            positions = self._positions()[coarse].astype(np.uint8)
            drawing = enlarge_outline(self._problem(), verdict.costs, positions)
            while True:
                try:
                    yield Report("Drawing the outline", 0.8 + 0.1 * next(drawing))
                except StopIteration as end:
                    labels = self.classes.astype(np.uint8)[end.value]
                    break
        else:
            labels = pinned(self._enlarged(labels), self.marks[0])
        laps.end("outline")
        yield Report("Tidying", 0.9)
        labels = self._tidied(labels, self.marks[0])
        laps.end("tidying")
        labelling = self._labelling(labels, verdict)
        laps.end("painting")
        return labelling

    def _tidied(
        self, labels: NDArray[np.uint8], marks: NDArray[np.int16]
    ) -> NDArray[np.uint8]:
        return clean_up(labels, marks, self.settings.clean_up, self.document.background)

    def _positions(self) -> NDArray[np.int16]:
        """Return the place of each of the document's classes in ``classes``; -1 at the end."""
        positions = np.full(len(self.document.classes) + 1, -1, dtype=np.int16)
        positions[self.classes] = np.arange(len(self.classes))
        return positions

    def _problem(self) -> OutlineProblem:
        settings, positions = self.settings, self._positions()
        return OutlineProblem(
            levels=self.picture.levels,
            marks=[positions[marks] for marks in self.marks],
            prototypes=self.picture.table(settings).prototypes,
            graph=self.picture.graph(settings),
            colour_costs=settings.colour_likelihood * self.likelihood.costs,
            smoothness=settings.smoothness,
        )

    def _painted(self, verdict: Verdict) -> NDArray[np.uint8]:
        """Give each pixel of the coarse level its prototype's class."""
        index_map = self.picture.table(self.settings).prototypes.index_map
        return np.asarray(self.classes.astype(np.uint8)[verdict.labels][index_map])

    def _enlarged(self, values: NDArray[Value]) -> NDArray[Value]:
        """Carry values of the coarse level's pixels up to the full size."""
        height, width = self.marks[0].shape
        times = 1 << (len(self.marks) - 1)
        return np.ascontiguousarray(repeated(values, (height, width), times))

    def _labelling(self, labels: NDArray[np.uint8], verdict: Verdict) -> Labelling:
        index_map = self.picture.table(self.settings).prototypes.index_map
        agrees = labels == self._enlarged(self._painted(verdict))
        margin = np.where(agrees, self._enlarged(verdict.margin[index_map]), np.float32(0.0))
        margin[self.marks[0] >= 0] = max(float(verdict.margin.max()), 1.0)
        codes = self._enlarged(verdict.codes[index_map])
        n_classes = len(self.document.classes)
        return Labelling(labels, margin, codes, n_classes, self.settings.bits)
