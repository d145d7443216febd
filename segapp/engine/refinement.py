"""Refinement from region scores to pixel labels."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Self

import numpy as np
from scipy import ndimage

from segapp.engine.boundary_cut import Level, cut_band, cut_regions
from segapp.engine.clean_up import clean_up, parts_to_rewrite
from segapp.engine.upsampling import enlarged
from segapp.imaging.pyramid import upsample
from segapp.imaging.rasterise import UNMARKED
from segapp.imaging.seeds import SeedMap
from segapp.model.answer import Preview, Report
from segapp.model.labelling import Labelling

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from segapp.engine.likelihood import Appearance
    from segapp.engine.preparation import PreparedPicture
    from segapp.engine.region_graph import Box, RegionGraph
    from segapp.engine.state_update import Verdict
    from segapp.engine.superpixels import Prototypes
    from segapp.engine.supervision import Laps
    from segapp.engine.upsampling import Enlarged, FreshDrawing
    from segapp.model.document import Document
    from segapp.model.labelling import PixelValues
    from segapp.model.settings import Settings


_HALF_WIDTH = 7
"""Of the band that is cut pixel by pixel, to each side: a patch's border may be off by that much.
Rows "band" of the trials in SEGMENTATION.md: narrower needs more strokes, wider not fewer."""
_AGAIN = 6
"""How often the boundary may go on where it has come to the band's edge."""
_BLOCK = 16
_BLOCKS_AROUND = 2
"""An outline goes on where something has changed: in blocks of so many pixels, and so many around
them. That is farther than a boundary moves at once, which is half of the band's width."""
_USUAL_SIDE = 450.0


def scale_of(rgb: NDArray[np.uint8]) -> float:
    """Return how large a picture is against the usual one.

    Pixels of a region grow with the square of the size, those of its boundary with the size:
    boundaries have to cost by the size, for a picture to be cut alike at all sizes.
    """
    return math.sqrt(rgb.shape[0] * rgb.shape[1]) / _USUAL_SIDE


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """What classes cost by one thing that pixels have: their colours, say.

    Parameters
    ----------
    bins
        Which of them each pixel has.
    patches
        How many pixels of each bin a patch has.
    costs
        Bins x classes, as weighted as they shall count.
    """

    bins: NDArray[np.int32]
    patches: csr_array
    costs: NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class OutlineProblem:
    """A picture with its strokes, as refinement sees them.

    Parameters
    ----------
    rgb
        At the size at which is learnt, like all that follows.
    marks
        The class of each marked pixel, -1 elsewhere, as position among the classes that take
        part.
    looks
        What classes cost by what pixels look like.
    smoothness
        Cost of a boundary for each pixel of its length in a picture of `_USUAL_SIDE` squared.
    """

    rgb: NDArray[np.uint8]
    marks: NDArray[np.int16]
    prototypes: Prototypes
    graph: RegionGraph
    looks: tuple[Look, ...]
    smoothness: float


@dataclass(frozen=True, slots=True, eq=False)
class Outline:
    """An outline at the size at which is learnt, from which that of the next stroke goes on.

    Parameters
    ----------
    patches
        The class of each patch when the outline was drawn along them.
    labels
        The class of each pixel, after it has followed the edges.
    """

    patches: NDArray[np.uint8]
    labels: NDArray[np.uint8]

    def renumbered(self, numbers: NDArray[np.uint8]) -> Outline:
        """Return the same outline with ``numbers[c]`` in place of each class c."""
        most = max(int(self.patches.max()), int(self.labels.max()))
        if (numbers[: most + 1] == np.arange(most + 1)).all():
            return self  # as with two classes nearly always
        return Outline(numbers.take(self.patches), numbers.take(self.labels))

    def among(self, classes: NDArray[np.intp]) -> Outline | None:
        """Return it in places among some classes; ``None`` if it has one that is not there."""
        nowhere = 255  # more than there are places
        places = np.full(256, nowhere, dtype=np.uint8)
        places[classes] = np.arange(len(classes))
        found = self.renumbered(places)
        return None if max(found.labels.max(), found.patches.max()) == nowhere else found


@dataclass(frozen=True, slots=True, eq=False)
class PatchCut:
    """An outline along the patches, to be drawn for some looks of the classes or others.

    Parameters
    ----------
    costs
        Patches x classes, without those of looks.
    held
        The class of each patch under a stroke, -1 elsewhere.
    """

    problem: OutlineProblem
    costs: NDArray[np.float64]
    held: NDArray[np.intp]

    @classmethod
    def of(cls, problem: OutlineProblem, costs: NDArray[np.float64]) -> Self:
        """Sum up the costs of the prototypes, ``prototypes x classes``."""
        graph, marks = problem.graph, problem.marks
        places = np.flatnonzero(marks >= 0)
        shape = len(graph.patches), costs.shape[1]
        numbers = graph.patches.index_map.take(places) * shape[1] + marks.take(places)
        counts = np.bincount(numbers, minlength=shape[0] * shape[1]).reshape(shape)
        held = np.where(counts.any(axis=1), counts.argmax(axis=1), -1)
        return cls(problem, graph.patch_prototypes @ costs, held)

    def patches(self, looks: tuple[Look, ...]) -> NDArray[np.uint8]:
        """Return the class position of each patch."""
        graph, costs = self.problem.graph, self.costs
        for look in looks:
            costs = costs + look.patches @ look.costs
        smoothness = self.problem.smoothness * scale_of(self.problem.rgb)
        cut = cut_regions(costs, graph.patch_edges, smoothness, self.held, graph.flows.patches)
        return cut.astype(np.uint8)


def begun(
    problem: OutlineProblem,
    patches: NDArray[np.uint8],
    before: Outline | None = None,
    marked_anew: NDArray[np.bool_] | None = None,
) -> tuple[NDArray[np.uint8], NDArray[np.bool_] | None]:
    """Return the class of each pixel to begin with, and where the boundary has to be looked at.

    With the outline of the answer before, it goes on from there: where patches have another class
    now, and where something was ``marked_anew``. Elsewhere it stays. ``None`` is everywhere.
    """
    index_map = problem.graph.patches.index_map
    if before is None:
        return patches.take(index_map), None
    changed = (patches != before.patches).take(index_map)
    labels = before.labels.copy()
    labels[changed] = patches.take(index_map[changed])
    return labels, _near(changed if marked_anew is None else changed | marked_anew)


def follow_edges(
    problem: OutlineProblem,
    costs: NDArray[np.float64],
    labels: NDArray[np.uint8],
    where: NDArray[np.bool_] | None = None,
) -> Iterator[None]:
    """Let the outline follow the edges of the picture, pixel by pixel, in place.

    ``where`` is the part of the picture in which it may have to move, if that is not all of it.
    """
    np.copyto(labels, problem.marks.astype(np.uint8), where=problem.marks >= 0)
    level = Level(
        marked=problem.marks,
        costs_of=partial(_costs_of, problem, costs.astype(np.float32)),
        bonds=problem.graph.bonds,
        flows=problem.graph.flows.pixels,
        smoothness=problem.smoothness * scale_of(problem.rgb),
    )
    yield from cut_band(level, labels, _HALF_WIDTH, _AGAIN, where)


def _near(changed: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Mask what lies near some pixels, block by block."""
    height, width = changed.shape
    rows, columns = np.divmod(np.flatnonzero(changed), width)
    blocks = np.zeros((-(-height // _BLOCK), -(-width // _BLOCK)), dtype=bool)
    blocks[rows // _BLOCK, columns // _BLOCK] = True
    square = np.ones((2 * _BLOCKS_AROUND + 1,) * 2)
    blocks = np.asarray(ndimage.binary_dilation(blocks, square))
    return np.repeat(np.repeat(blocks, _BLOCK, axis=0), _BLOCK, axis=1)[:height, :width]


def _costs_of(
    problem: OutlineProblem, costs: NDArray[np.float32], pixels: NDArray[np.intp]
) -> NDArray[np.float32]:
    """Return what the classes cost at some pixels."""
    total = costs.take(problem.prototypes.index_map.take(pixels), axis=0)
    for look in problem.looks:
        total += look.costs.take(look.bins.take(pixels), axis=0)
    return total


@dataclass(frozen=True, slots=True, eq=False)
class PixelRegions:
    """The prototype of each pixel at full size; where is learnt, that is an array."""

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

    It is that of its prototype where its label is what was learnt about that, and 0 where the
    outline or the clean-up gave it another one; under a stroke it is the largest.

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


# Training and learnt models go it alike: outline, clean-up, margins, codes.


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
    marked: SeedMap
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
        places among ``classes``, it goes on from there (`begun`). A preview
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
            marked = SeedMap.from_array(marked.coarse)
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
            labels = np.ascontiguousarray(upsample(coarse, self.marked.shape, self.picture.times))
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

    def _tidied(self, labels: NDArray[np.uint8], marked: SeedMap) -> NDArray[np.uint8]:
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
