"""The one way from what was learnt about prototypes to the labelling of every pixel.

Training and learnt models go it alike: outline, clean-up, margins, codes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from segapp.learning.region_values import PixelRegions, RegionCodes, RegionMargins
from segapp.outline.clean_up import clean_up, parts_to_rewrite
from segapp.outline.drawing import Outline, OutlineProblem, PatchCut, begun, follow_edges
from segapp.outline.enlarging import enlarged
from segapp.picture.pyramid import repeated
from segapp.values.labelling import Labelling
from segapp.values.marked import Marked
from segapp.values.rasterize import UNMARKED
from segapp.values.updates import Preview, Report

if TYPE_CHECKING:
    from collections.abc import Generator

    from numpy.typing import NDArray

    from segapp.learning.appearance import Appearance
    from segapp.learning.laps import Laps
    from segapp.learning.verdict import Verdict
    from segapp.outline.enlarged import Enlarged, FreshDrawing
    from segapp.picture.prepared import PreparedPicture
    from segapp.values.document import Document
    from segapp.values.labelling import PixelValues
    from segapp.values.settings import Settings


@dataclass(frozen=True, slots=True, eq=False)
class CoarseAnswer:
    """The labels of the level at which is learnt: what the next stroke is told of this answer.

    Parameters
    ----------
    tidied
        The document's class of each pixel.
    outline
        Before it was tidied, in the document's classes; ``None`` if none was drawn.
    appearances
        What the classes look like by all that was known in the end.
    """

    tidied: NDArray[np.uint8]
    outline: Outline | None
    appearances: tuple[Appearance, ...]


@dataclass(frozen=True, slots=True, eq=False)
class PixelTask:
    """All that a labelling is made from, besides the verdict on the prototypes.

    Parameters
    ----------
    marked
        The class of each marked pixel.
    document
        Whose classes are meant; its strokes are in ``marked``.
    classes
        The document's classes that were learnt, in the order of the verdict's columns.
    appearances
        What the classes look like: by their colours, and by what a network sees.
    """

    picture: PreparedPicture
    marked: Marked
    document: Document
    classes: NDArray[np.intp]
    appearances: tuple[Appearance, ...]
    settings: Settings

    def preview(self, verdict: Verdict) -> Preview:
        """Paint the prototypes' classes as they are."""
        return self._small(self._painted(verdict), verdict)

    def glimpse(self, verdict: Verdict) -> Preview:
        """Draw the outline along the patches alone, as small as is learnt: quick, and near."""
        if not self.settings.refine:
            return self.preview(verdict)
        problem = self._problem()
        patches = PatchCut.of(problem, verdict.costs).patches(problem.looks)
        return self._small(self._class_of(patches.take(problem.graph.patches.index_map)), verdict)

    def _look(self, positions: NDArray[np.uint8], verdict: Verdict) -> Preview:
        """Show an outline on its way, with the marks over it; it costs next to nothing."""
        labels = self._class_of(positions)
        if self.picture.times > 1:
            return self._small(labels, verdict)
        self.marked.pin(labels)
        return Preview(self._labelling(labels, verdict))

    def _small(self, labels: NDArray[np.uint8], verdict: Verdict) -> Preview:
        """Show labels of the size at which is learnt, with the marks over them."""
        regions = self.picture.table(self.settings).prototypes.index_map
        marks = self.marked.coarse
        shown = np.where(marks != UNMARKED, marks, labels).astype(np.uint8)
        return Preview(self._values(regions, shown, marks, verdict), times=self.picture.times)

    def coarse_answer(
        self,
        verdict: Verdict,
        laps: Laps,
        before: Outline | None = None,
        marked_anew: NDArray[np.bool_] | None = None,
        *,
        with_preview: bool = False,
    ) -> Generator[Report, None, CoarseAnswer]:
        """Draw the outline at the level at which is learnt, and tidy it.

        What the first outline looks like joins what the strokes do, and it is drawn again: an
        object mostly has more colours than anybody marks. With that of the answer ``before``, in
        places among ``classes``, it goes on from there (`segapp.outline.drawing.begun`). A preview
        is drawn along the patches, and comes after half of the time.
        """
        if not self.settings.refine:
            labels, marks = self._painted(verdict), self.marked.coarse
            np.copyto(labels, marks.astype(np.uint8), where=marks >= 0)
            laps.end("outline")
            return CoarseAnswer(self._tidied_coarse(labels, laps), None, self.appearances)
        appearances, problem = self.appearances, self._problem()
        yield Report("Drawing the outline", 0.6)
        along_patches = PatchCut.of(problem, verdict.costs)
        patches = along_patches.patches(problem.looks)
        look = None
        if with_preview:
            look = self._look(patches.take(problem.graph.patches.index_map), verdict)
        yield Report("Drawing the outline", 0.65, look)
        if any(each.strokes is not None for each in appearances):
            appearances = tuple(each.with_answer(patches) for each in appearances)
            problem = replace(problem, looks=tuple(each.look() for each in appearances))
            patches = along_patches.patches(problem.looks)
        labels, where = begun(problem, patches, before, marked_anew)
        for _ in follow_edges(problem, verdict.costs, labels, where):
            yield Report("Drawing the outline", 0.75)
        outline = Outline(patches, labels).renumbered(self.classes.astype(np.uint8))
        laps.end("outline")
        return CoarseAnswer(self._tidied_coarse(outline.labels, laps), outline, appearances)

    def _tidied_coarse(self, labels: NDArray[np.uint8], laps: Laps) -> NDArray[np.uint8]:
        marked = self.marked
        if marked.times > 1:
            marked = Marked.of_array(marked.coarse)
        tidied = self._tidied(labels, marked)
        laps.end("tidying")
        return tidied

    def full_size(
        self, coarse: CoarseAnswer, verdict: Verdict, laps: Laps, before: Enlarged | None = None
    ) -> Generator[Report, None, tuple[Labelling, Enlarged | None]]:
        """Carry the coarse answer up to the picture's size, tidy it there, and add the rest.

        ``before`` is the full-size drawing of any earlier answer of this picture, which saves
        time and changes nothing; that of this answer is returned for the next one.
        """
        labels, drawn = coarse.tidied, None
        if self.picture.times > 1:
            if self.settings.refine:
                # On a screen it is hardly to be told from the answer, which takes longer.
                preview = self._small(coarse.tidied, verdict)
                yield Report("Drawing the outline", 0.8, preview)
                drawing = yield from self._drawn(coarse.tidied, before)
                laps.end("full size")
                yield Report("Tidying", 0.9)
                labels, drawn = self._tidied_drawing(drawing)
            else:
                labels = self._own_colours(verdict)
                laps.end("full size")
                yield Report("Tidying", 0.9)
                labels = self._tidied(labels, self.marked)
            laps.end("tidying")
        labelling = self._labelling(labels, verdict)
        laps.end("painting")
        return labelling, drawn

    def _drawn(
        self, small: NDArray[np.uint8], before: Enlarged | None
    ) -> Generator[Report, None, FreshDrawing]:
        rgb, coarse = self.picture.guides(self.settings)
        drawing = enlarged((rgb, coarse), small, self.marked, len(self.document.classes), before)
        while True:
            try:
                yield Report("Drawing the outline", 0.8 + 0.1 * next(drawing))
            except StopIteration as end:
                drawn: FreshDrawing = end.value
                return drawn

    def _own_colours(self, verdict: Verdict) -> NDArray[np.uint8]:
        """Give each pixel at full size its own prototype's class."""
        classes = self._class_of(verdict.labels.astype(np.uint8))
        prototypes = self.picture.table(self.settings).prototypes
        if prototypes.palette is not None:
            colours = self.picture.colours_of(prototypes.palette)
            labels = prototypes.palette.painted(colours, classes)
        else:
            coarse = classes[prototypes.index_map]
            labels = np.ascontiguousarray(repeated(coarse, self.marked.shape, self.picture.times))
        self.marked.pin(labels)
        return labels

    def _tidied_drawing(self, drawing: FreshDrawing) -> tuple[NDArray[np.uint8], Enlarged]:
        """Return the labels of a drawing, tidied, and what the next one goes on from."""
        wishes, background = self.settings.clean_up, self.document.background
        if wishes.smoothing:  # which may change every pixel
            drawn = drawing.tidied(None)
            return self._tidied(drawn.labels, self.marked), drawn
        tidying = parts_to_rewrite(drawing.labels, self.marked, wishes, background)
        drawn = drawing.tidied(tidying)
        return drawn.labels, drawn

    def _tidied(self, labels: NDArray[np.uint8], marked: Marked) -> NDArray[np.uint8]:
        return clean_up(labels, marked, self.settings.clean_up, self.document.background)

    def _class_of(self, positions: NDArray[np.uint8]) -> NDArray[np.uint8]:
        return self.classes.astype(np.uint8).take(positions)

    def _marks(self) -> NDArray[np.int16]:
        """Return the marks as places in ``classes``, -1 where there is none."""
        every = np.arange(len(self.document.classes))
        if np.array_equal(self.classes, every):
            return self.marked.coarse
        positions = np.full(len(every) + 1, -1, dtype=np.int16)
        positions[self.classes] = np.arange(len(self.classes))
        return positions.take(self.marked.coarse)

    def _problem(self) -> OutlineProblem:
        settings = self.settings
        return OutlineProblem(
            rgb=self.picture.levels[-1],
            marks=self._marks(),
            prototypes=self.picture.table(settings).prototypes,
            graph=self.picture.graph(settings),
            looks=tuple(each.look() for each in self.appearances),
            smoothness=settings.smoothness,
        )

    def _painted(self, verdict: Verdict) -> NDArray[np.uint8]:
        """Give each pixel of the coarse level its prototype's class."""
        index_map = self.picture.table(self.settings).prototypes.index_map
        return self._class_of(verdict.labels.astype(np.uint8)).take(index_map)

    def _labelling(self, labels: NDArray[np.uint8], verdict: Verdict) -> Labelling:
        regions = PixelRegions(self.picture, self.picture.table(self.settings).prototypes)
        return self._values(regions, labels, self.marked, verdict)

    def _values(
        self,
        regions: PixelValues[np.int32],
        labels: NDArray[np.uint8],
        marks: PixelValues[np.int16],
        verdict: Verdict,
    ) -> Labelling:
        """Add margins and codes, which follow from regions: made when somebody looks at them."""
        classes = self._class_of(verdict.labels.astype(np.uint8))
        return Labelling(
            labels,
            RegionMargins(regions, labels, marks, verdict.margin, classes),
            RegionCodes(regions, verdict.codes),
            len(self.document.classes),
            self.settings.bits,
        )
