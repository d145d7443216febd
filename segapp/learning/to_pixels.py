"""The one way from what was learnt about prototypes to the labelling of every pixel.

Training and learnt models go it alike: outline, clean-up, margins, codes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from segapp.outline.clean_up import clean_up, pinned
from segapp.outline.drawing import OutlineProblem, cut_patches, enlarge_outline, follow_edges
from segapp.picture.pyramid import halved_marks, repeated
from segapp.values.labelling import Labelling
from segapp.values.updates import Preview, Report

if TYPE_CHECKING:
    from collections.abc import Generator

    from numpy.typing import NDArray

    from segapp.learning.colour_likelihood import ColourLikelihood, StrokeColours
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
class CoarseAnswer:
    """The labels of the level at which is learnt, and what a larger outline is drawn with.

    Parameters
    ----------
    labels
        The document's class of each pixel, outline drawn, not yet tidied.
    tidied
        The same, tidied: what the next stroke is told of this answer.
    problem
        ``None`` where no outline is drawn.
    """

    labels: NDArray[np.uint8]
    tidied: NDArray[np.uint8]
    problem: OutlineProblem | None


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
    likelihood
        What the classes' colours cost.
    colours
        Where that comes from; ``None`` when the strokes were on another picture.
    """

    picture: PreparedPicture
    marks: tuple[NDArray[np.int16], ...]
    document: Document
    classes: NDArray[np.intp]
    likelihood: ColourLikelihood
    colours: StrokeColours | None
    settings: Settings

    def preview(self, verdict: Verdict) -> Preview:
        """Paint the prototypes' classes as they are."""
        labels = self._enlarged(self._painted(verdict))
        return Preview(self._labelling(pinned(labels, self.marks[0]), verdict))

    def glimpse(self, verdict: Verdict) -> Preview:
        """Draw the outline along the patches alone, as small as is learnt: quick, and near."""
        painted = labels = self._painted(verdict)
        if self.settings.refine:
            labels = self._class_of(cut_patches(self._problem(self.likelihood), verdict.costs))
        index_map = self.picture.table(self.settings).prototypes.index_map
        margin = np.where(labels == painted, verdict.margin[index_map], np.float32(0.0))
        labels = pinned(labels, self.marks[-1])
        n_classes, codes = len(self.document.classes), verdict.codes[index_map]
        labelling = Labelling(labels, margin, codes, n_classes, self.settings.bits)
        return Preview(labelling, times=1 << (len(self.marks) - 1))

    def coarse_answer(self, verdict: Verdict, laps: Laps) -> Generator[Report, None, CoarseAnswer]:
        """Draw the outline at the level at which is learnt, and tidy it.

        The colours of the first outline join those of the strokes, and it is drawn again: an
        object mostly has more colours than anybody marks.
        """
        if not self.settings.refine:
            return self._coarse(pinned(self._painted(verdict), self.marks[-1]), None, laps)
        problem = self._problem(self.likelihood)
        yield Report("Drawing the outline", 0.6)
        positions = cut_patches(problem, verdict.costs)
        if self.colours is not None:
            yield Report("Drawing the outline", 0.65)
            bins = self.picture.graph(self.settings).bins
            richer = self.colours.and_of_answer(bins, self._class_of(positions)).likelihood()
            problem = replace(problem, colour_costs=self._colour_costs(richer))
            positions = cut_patches(problem, verdict.costs)
        for _ in follow_edges(problem, verdict.costs, positions):
            yield Report("Drawing the outline", 0.75)
        return self._coarse(self._class_of(positions), problem, laps)

    def _coarse(
        self, labels: NDArray[np.uint8], problem: OutlineProblem | None, laps: Laps
    ) -> CoarseAnswer:
        laps.end("outline")
        tidied = self._tidied(labels, self.marks[-1])
        laps.end("tidying")
        return CoarseAnswer(labels, tidied, problem)

    def full_size(
        self, coarse: CoarseAnswer, verdict: Verdict, laps: Laps
    ) -> Generator[Report, None, Labelling]:
        """Carry the coarse answer up to the picture's size, tidy it there, and add the rest."""
        labels = coarse.tidied
        if len(self.picture.levels) > 1:
            larger = yield from self._larger(coarse, verdict)
            laps.end("outline")
            yield Report("Tidying", 0.9)
            labels = self._tidied(larger, self.marks[0])
            laps.end("tidying")
        labelling = self._labelling(labels, verdict)
        laps.end("painting")
        return labelling

    def _larger(
        self, coarse: CoarseAnswer, verdict: Verdict
    ) -> Generator[Report, None, NDArray[np.uint8]]:
        """Carry the coarse labels up to the picture's size."""
        if coarse.problem is None:
            return pinned(self._enlarged(coarse.labels), self.marks[0])
        small = self._positions()[coarse.labels].astype(np.uint8)
        drawing = enlarge_outline(coarse.problem, verdict.costs, small)
        while True:
            try:
                yield Report("Drawing the outline", 0.8 + 0.1 * next(drawing))
            except StopIteration as end:
                return self._class_of(end.value)

    def _tidied(self, labels: NDArray[np.uint8], marks: NDArray[np.int16]) -> NDArray[np.uint8]:
        return clean_up(labels, marks, self.settings.clean_up, self.document.background)

    def _class_of(self, positions: NDArray[np.uint8]) -> NDArray[np.uint8]:
        return np.asarray(self.classes.astype(np.uint8)[positions])

    def _positions(self) -> NDArray[np.int16]:
        """Return the place of each of the document's classes in ``classes``; -1 at the end."""
        positions = np.full(len(self.document.classes) + 1, -1, dtype=np.int16)
        positions[self.classes] = np.arange(len(self.classes))
        return positions

    def _colour_costs(self, likelihood: ColourLikelihood) -> NDArray[np.float32]:
        return np.float32(self.settings.colour_likelihood) * likelihood.costs

    def _problem(self, likelihood: ColourLikelihood) -> OutlineProblem:
        settings, positions = self.settings, self._positions()
        return OutlineProblem(
            levels=self.picture.levels,
            marks=[positions[marks] for marks in self.marks],
            prototypes=self.picture.table(settings).prototypes,
            graph=self.picture.graph(settings),
            colour_costs=self._colour_costs(likelihood),
            smoothness=settings.smoothness,
        )

    def _painted(self, verdict: Verdict) -> NDArray[np.uint8]:
        """Give each pixel of the coarse level its prototype's class."""
        index_map = self.picture.table(self.settings).prototypes.index_map
        return self._class_of(verdict.labels.astype(np.uint8))[index_map]

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
