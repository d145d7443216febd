"""Refinement from region scores to pixel labels."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Self

import numpy as np
from scipy import ndimage

from segapp.engine.boundary_cut import PixelProblem, cut_band, cut_regions
from segapp.engine.clean_up import clean_up, clean_up_patch
from segapp.engine.upsampling import UpsampledLabels, guided_upsample
from segapp.imaging.pyramid import upsample
from segapp.imaging.rasterise import UNMARKED
from segapp.imaging.seeds import SeedMap
from segapp.model.answer import Preview, Report
from segapp.model.labelling import Labelling

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from numpy.typing import NDArray

    from segapp.engine.likelihood import AppearanceModel, UnaryTerm
    from segapp.engine.preparation import PreparedPicture
    from segapp.engine.region_classifier import RegionScores
    from segapp.engine.region_graph import FlowWarmStart, RegionGraph
    from segapp.engine.superpixels import Prototypes
    from segapp.model.document import Document
    from segapp.model.labelling import Box, PixelValues
    from segapp.model.settings import Settings


class StepTimer:
    """The time that each named step took; a step starts where the last one ended."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._clock = time.perf_counter()

    def end(self, name: str) -> None:
        """End a step; a repeated one adds to its earlier time."""
        now = time.perf_counter()
        self.seconds[name] = self.seconds.get(name, 0.0) + now - self._clock
        self._clock = now


_HALF_WIDTH = 7
"""Of the band that is cut pixel by pixel: a patch's boundary may be off by that much. Rows "band"
of the trials in NOTES.md: narrower needs more strokes, wider not fewer."""
_AGAIN = 6
"""Number of times that the boundary may move on from the band's edge."""
_BLOCK = 16
_BLOCKS_AROUND = 2
"""A boundary is cut again near changes: in blocks of so many pixels, and so many around them. That
is farther than a boundary moves at once, which is half of the band's width."""
_USUAL_SIDE = 450.0


def boundary_scale(rgb: NDArray[np.uint8]) -> float:
    """Return the size of an image against the usual one.

    Pixels of a region grow with the square of the size, those of its boundary with the size:
    boundary costs grow with the size, so that an image is cut alike at all sizes.
    """
    return math.sqrt(rgb.shape[0] * rgb.shape[1]) / _USUAL_SIDE


@dataclass(frozen=True, slots=True, eq=False)
class CutProblem:
    """The cut energy of an image with its strokes, at the working resolution.

    Parameters
    ----------
    marks
        The class of each marked pixel, -1 elsewhere, as position among the learnt classes.
    terms
        Unary terms of the pixels' values.
    smoothness
        Cost of a boundary for each pixel of its length.
    """

    marks: NDArray[np.int16]
    prototypes: Prototypes
    graph: RegionGraph
    terms: tuple[UnaryTerm, ...]
    smoothness: float


@dataclass(frozen=True, slots=True, eq=False)
class CutLabels:
    """The labels of a cut at the working resolution.

    Parameters
    ----------
    patches
        The class of each patch.
    labels
        The class of each pixel, after the cut of the pixels.
    """

    patches: NDArray[np.uint8]
    labels: NDArray[np.uint8]

    def __post_init__(self) -> None:
        self.patches.flags.writeable = self.labels.flags.writeable = False

    def renumbered(self, numbers: NDArray[np.uint8]) -> CutLabels:
        """Return the same cut with ``numbers[c]`` in place of each class c."""
        most = max(int(self.patches.max()), int(self.labels.max()))
        if (numbers[: most + 1] == np.arange(most + 1)).all():
            return self  # as with two classes nearly always
        return CutLabels(numbers.take(self.patches), numbers.take(self.labels))

    def among(self, classes: NDArray[np.intp]) -> CutLabels | None:
        """Return the cut in positions among some classes, if it has no other."""
        absent = 255  # more than there are positions
        positions = np.full(256, absent, dtype=np.uint8)
        positions[classes] = np.arange(len(classes))
        cut = self.renumbered(positions)
        return None if max(cut.labels.max(), cut.patches.max()) == absent else cut


@dataclass(frozen=True, slots=True, eq=False)
class PatchCut:
    """A cut along patches, for any unary terms of the pixels.

    Parameters
    ----------
    costs
        Patches x classes, without those of unary terms.
    seeds
        The class of each patch under a stroke, -1 elsewhere.
    """

    problem: CutProblem
    costs: NDArray[np.float64]
    seeds: NDArray[np.intp]

    @classmethod
    def of(cls, problem: CutProblem, costs: NDArray[np.float64]) -> Self:
        """Sum the costs of the prototypes, ``prototypes x classes``, over patches."""
        graph, marks = problem.graph, problem.marks
        indices = np.flatnonzero(marks >= 0)
        shape = len(graph.patches), costs.shape[1]
        pairs = graph.patches.index_map.take(indices) * shape[1] + marks.take(indices)
        counts = np.bincount(pairs, minlength=shape[0] * shape[1]).reshape(shape)
        seeds = np.where(counts.any(axis=1), counts.argmax(axis=1), -1)
        return cls(problem, graph.patch_prototypes @ costs, seeds)

    def labels(self, terms: tuple[UnaryTerm, ...], flows: FlowWarmStart) -> NDArray[np.uint8]:
        """Return the class position of each patch."""
        costs = self.costs
        for term in terms:
            costs = costs + term.patches @ term.costs
        edges, smoothness = self.problem.graph.patch_edges, self.problem.smoothness
        return cut_regions(costs, edges, smoothness, self.seeds, flows.patches).astype(np.uint8)


def initial_labels(
    problem: CutProblem,
    patches: NDArray[np.uint8],
    before: CutLabels | None = None,
    newly_marked: NDArray[np.bool_] | None = None,
) -> tuple[NDArray[np.uint8], NDArray[np.bool_] | None]:
    """Return the initial class of each pixel and the mask to cut (``None``: all).

    With the cut of the previous answer, its labels stay except where patches have another class
    now, and it is cut again near those and near newly marked pixels.
    """
    index_map = problem.graph.patches.index_map
    if before is None:
        return patches.take(index_map), None
    changed = (patches != before.patches).take(index_map)
    labels = before.labels.copy()
    labels[changed] = patches.take(index_map[changed])
    return labels, _blocks_near(changed if newly_marked is None else changed | newly_marked)


def _blocks_near(changed: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the mask of the blocks near some pixels."""
    height, width = changed.shape
    rows, columns = np.divmod(np.flatnonzero(changed), width)
    blocks = np.zeros((-(-height // _BLOCK), -(-width // _BLOCK)), dtype=bool)
    blocks[rows // _BLOCK, columns // _BLOCK] = True
    square = np.ones((2 * _BLOCKS_AROUND + 1,) * 2)
    blocks = np.asarray(ndimage.binary_dilation(blocks, square))
    return np.repeat(np.repeat(blocks, _BLOCK, axis=0), _BLOCK, axis=1)[:height, :width]


def cut_pixels(
    problem: CutProblem,
    costs: NDArray[np.float64],
    labels: NDArray[np.uint8],
    flows: FlowWarmStart,
    where: NDArray[np.bool_] | None = None,
) -> Iterator[None]:
    """Cut the boundary between single pixels, in place; yield after each piece.

    ``where`` is the part of the image in which it may have to move, if that is not all of it.
    """
    np.copyto(labels, problem.marks.astype(np.uint8), where=problem.marks >= 0)
    pixels = PixelProblem(
        marked=problem.marks,
        costs_of=partial(_pixel_costs, problem, costs.astype(np.float32)),
        pixel_weights=problem.graph.pixel_weights,
        smoothness=problem.smoothness,
    )
    return cut_band(pixels, labels, flows.pixels, _HALF_WIDTH, _AGAIN, where)


def _pixel_costs(
    problem: CutProblem, costs: NDArray[np.float32], pixels: NDArray[np.intp]
) -> NDArray[np.float32]:
    """Return the costs of the classes for some pixels."""
    total = costs.take(problem.prototypes.index_map.take(pixels), axis=0)
    for term in problem.terms:
        total += term.costs.take(term.bins.take(pixels), axis=0)
    return total


@dataclass(frozen=True, slots=True, eq=False)
class PixelRegions:
    """The prototype of each pixel at full size."""

    picture: PreparedPicture
    prototypes: Prototypes

    def __getitem__(self, box: Box) -> NDArray[np.int32]:
        return self.picture.prototypes_in(self.prototypes, box)


@dataclass(frozen=True, slots=True, eq=False)
class RegionCodes:
    """The hash code of each pixel: that of its prototype.

    Parameters
    ----------
    regions
        The prototype of each pixel.
    codes
        Of each prototype.
    """

    regions: PixelValues[np.int32]
    codes: NDArray[np.uint32]

    def __getitem__(self, box: Box) -> NDArray[np.uint32]:
        return np.asarray(self.codes[self.regions[box]])


@dataclass(frozen=True, slots=True, eq=False)
class RegionMargins:
    """The margin of each pixel.

    It is that of its prototype where they have the same class, and 0 where the cut or the
    clean-up has changed the pixel's class; under a stroke it is the largest.

    Parameters
    ----------
    regions, labels, marks
        Of each pixel.
    margin, classes
        Of each prototype.
    """

    regions: PixelValues[np.int32]
    labels: NDArray[np.uint8]
    marks: PixelValues[np.int16]
    margin: NDArray[np.float32]
    classes: NDArray[np.uint8]

    def __getitem__(self, box: Box) -> NDArray[np.float32]:
        regions = self.regions[box]
        agrees = self.labels[box] == self.classes[regions]
        margin = np.where(agrees, self.margin[regions], np.float32(0.0))
        margin[self.marks[box] != UNMARKED] = max(float(self.margin.max()), 1.0)
        return margin


@dataclass(frozen=True, slots=True, eq=False)
class WorkingAnswer:
    """The labels of the working resolution.

    Parameters
    ----------
    labels, uncleaned
        The document's class of each pixel, cleaned up and before that.
    cut
        Without the clean-up, in the document's classes; ``None`` without refinement.
    appearances
        The appearance models of the last cut.
    """

    labels: NDArray[np.uint8]
    uncleaned: NDArray[np.uint8]
    cut: CutLabels | None
    appearances: tuple[AppearanceModel, ...]


@dataclass(frozen=True, slots=True, eq=False)
class PixelRefiner:
    """Cut, clean-up and upsampling of a labelling, for any region scores.

    Parameters
    ----------
    marked
        The class of each marked pixel.
    document
        Its strokes are in ``marked``.
    classes
        The document's classes that were learnt, in the order of the scores' columns.
    appearances
        Of the classes, by colours and by feature clusters.
    """

    picture: PreparedPicture
    marked: SeedMap
    document: Document
    classes: NDArray[np.intp]
    appearances: tuple[AppearanceModel, ...]
    settings: Settings

    def preview(self, scores: RegionScores) -> Preview:
        """Paint the prototypes' classes."""
        return self._working_preview(self._painted(scores), scores)

    def quick_preview(self, scores: RegionScores, flows: FlowWarmStart) -> Preview:
        """Cut along the patches alone, at the working resolution."""
        if not self.settings.refine:
            return self.preview(scores)
        problem = self._problem()
        patches = PatchCut.of(problem, scores.costs).labels(problem.terms, flows)
        labels = self._class_of(patches.take(problem.graph.patches.index_map))
        return self._working_preview(labels, scores)

    def _working_preview(self, labels: NDArray[np.uint8], scores: RegionScores) -> Preview:
        """Show labels of the working resolution, with the marks over them."""
        regions = self._prototypes.index_map
        marks = self.marked.coarse
        shown = np.where(marks != UNMARKED, marks, labels).astype(np.uint8)
        return Preview(self._labelling(regions, shown, marks, scores), times=self.picture.times)

    def working_answer(
        self,
        scores: RegionScores,
        flows: FlowWarmStart,
        timer: StepTimer,
        before: CutLabels | None = None,
        newly_marked: NDArray[np.bool_] | None = None,
        *,
        with_preview: bool = False,
    ) -> Generator[Report, None, WorkingAnswer]:
        """Cut the boundary at the working resolution, and clean up.

        The appearance of the first cut along patches is mixed into that of the strokes, and it
        is cut again: an object mostly has more colours than users mark. With the cut ``before``
        of the previous answer, in positions among ``classes``, the cut of the pixels starts from
        there (`initial_labels`). A preview shows the first cut along patches.
        """
        if not self.settings.refine:
            labels, marks = self._painted(scores), self.marked.coarse
            np.copyto(labels, marks.astype(np.uint8), where=marks >= 0)
            timer.end("outline")
            return self._cleaned(labels, None, self.appearances, timer)
        appearances, problem = self.appearances, self._problem()
        yield Report("Drawing the outline", 0.6)
        patch_cut = PatchCut.of(problem, scores.costs)
        patches = patch_cut.labels(problem.terms, flows)
        preview = None
        if with_preview:
            painted = self._class_of(patches.take(problem.graph.patches.index_map))
            preview = self._working_preview(painted, scores)
        yield Report("Drawing the outline", 0.65, preview)
        if any(model.strokes is not None for model in appearances):
            appearances = tuple(model.with_answer(patches) for model in appearances)
            problem = replace(problem, terms=tuple(each.unary_term() for each in appearances))
            patches = patch_cut.labels(problem.terms, flows)
        labels, where = initial_labels(problem, patches, before, newly_marked)
        for _ in cut_pixels(problem, scores.costs, labels, flows, where):
            yield Report("Drawing the outline", 0.75)
        cut = CutLabels(patches, labels).renumbered(self.classes.astype(np.uint8))
        timer.end("outline")
        return self._cleaned(cut.labels, cut, appearances, timer)

    def cleaned(self, answer: WorkingAnswer, timer: StepTimer) -> WorkingAnswer:
        """Clean up an answer anew, as these settings say."""
        return self._cleaned(answer.uncleaned, answer.cut, answer.appearances, timer)

    def _cleaned(
        self,
        labels: NDArray[np.uint8],
        cut: CutLabels | None,
        appearances: tuple[AppearanceModel, ...],
        timer: StepTimer,
    ) -> WorkingAnswer:
        marked = self.marked
        if marked.times > 1:
            marked = SeedMap.from_array(marked.coarse)
        cleaned = clean_up(labels, marked, self.settings.clean_up, self.document.background)
        timer.end("tidying")
        return WorkingAnswer(cleaned, labels, cut, appearances)

    def full_size(
        self,
        answer: WorkingAnswer,
        scores: RegionScores,
        timer: StepTimer,
        before: UpsampledLabels | None = None,
    ) -> Generator[Report, None, tuple[Labelling, UpsampledLabels | None]]:
        """Upsample an answer to the image's size, and clean it up there.

        ``before`` is the upsampling of any earlier answer for this image, which saves time and
        changes nothing; that of this answer is returned for the next one.
        """
        labels, upsampled = answer.labels, None
        if self.picture.times > 1:
            if self.settings.refine:
                # On a screen it hardly differs from the answer, which takes longer.
                preview = self._working_preview(labels, scores)
                yield Report("Drawing the outline", 0.8, preview)
                labels = yield from self._upsample(labels, before)
                timer.end("full size")
                yield Report("Cleaning up", 0.9)
                labels, upsampled = self._clean_upsampled(answer.labels, labels)
            else:
                labels = self._painted_full_size(scores)
                timer.end("full size")
                yield Report("Cleaning up", 0.9)
                options, background = self.settings.clean_up, self.document.background
                labels = clean_up(labels, self.marked, options, background)
            timer.end("tidying")
        regions = PixelRegions(self.picture, self._prototypes)
        labelling = self._labelling(regions, labels, self.marked, scores)
        timer.end("painting")
        return labelling, upsampled

    def _upsample(
        self, small: NDArray[np.uint8], before: UpsampledLabels | None
    ) -> Generator[Report, None, NDArray[np.uint8]]:
        rgb, coarse = self.picture.guides(self.settings)
        steps = guided_upsample(
            (rgb, coarse), small, self.marked, len(self.document.classes), before
        )
        while True:
            try:
                yield Report("Drawing the outline", 0.8 + 0.1 * next(steps))
            except StopIteration as end:
                labels: NDArray[np.uint8] = end.value
                return labels

    def _clean_upsampled(
        self, small: NDArray[np.uint8], labels: NDArray[np.uint8]
    ) -> tuple[NDArray[np.uint8], UpsampledLabels]:
        """Clean up labels at full size, in place: a copy takes longer."""
        options, background = self.settings.clean_up, self.document.background
        if options.smoothing:  # which may change every pixel
            upsampled = UpsampledLabels(small, self.marked, labels, None)
            return clean_up(labels, self.marked, options, background), upsampled
        patch = clean_up_patch(labels, self.marked, options, background)
        if patch is not None:
            patch.apply(labels)
        return labels, UpsampledLabels(small, self.marked, labels, patch)

    def _painted(self, scores: RegionScores) -> NDArray[np.uint8]:
        """Give each pixel of the working resolution its prototype's class."""
        return self._class_of(scores.labels.astype(np.uint8)).take(self._prototypes.index_map)

    def _painted_full_size(self, scores: RegionScores) -> NDArray[np.uint8]:
        """Give each pixel at full size its own prototype's class."""
        classes = self._class_of(scores.labels.astype(np.uint8))
        prototypes = self._prototypes
        if prototypes.palette is not None:
            colours = self.picture.colours_of(prototypes.palette)
            labels = prototypes.palette.painted(colours, classes)
        else:
            coarse = classes[prototypes.index_map]
            labels = np.ascontiguousarray(upsample(coarse, self.marked.shape, self.picture.times))
        self.marked.pin(labels)
        return labels

    @property
    def _prototypes(self) -> Prototypes:
        return self.picture.table(self.settings).prototypes

    def _class_of(self, positions: NDArray[np.uint8]) -> NDArray[np.uint8]:
        return self.classes.astype(np.uint8).take(positions)

    def _problem(self) -> CutProblem:
        """Return the cut problem, whose marks are positions in ``classes``."""
        marks, n_classes = self.marked.coarse, len(self.document.classes)
        if not np.array_equal(self.classes, np.arange(n_classes)):
            positions = np.full(n_classes + 1, -1, dtype=np.int16)
            positions[self.classes] = np.arange(len(self.classes))
            marks = positions.take(marks)
        return CutProblem(
            marks=marks,
            prototypes=self._prototypes,
            graph=self.picture.graph(self.settings),
            terms=tuple(model.unary_term() for model in self.appearances),
            smoothness=self.settings.smoothness * boundary_scale(self.picture.levels[-1]),
        )

    def _labelling(
        self,
        regions: PixelValues[np.int32],
        labels: NDArray[np.uint8],
        marks: PixelValues[np.int16],
        scores: RegionScores,
    ) -> Labelling:
        """Add margins and codes, which are computed from regions on demand."""
        classes = self._class_of(scores.labels.astype(np.uint8))
        return Labelling(
            labels,
            RegionMargins(regions, labels, marks, scores.margin, classes),
            RegionCodes(regions, scores.codes),
            len(self.document.classes),
            self.settings.bits,
        )
