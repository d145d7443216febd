"""Priors of the labels: image border, previous answer and initial labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import ndimage

from segapp.imaging.components import label_components
from segapp.imaging.rasterise import rasterize
from segapp.model.document import Marks, Stroke
from segapp.model.validation import SegappError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from segapp.engine.region_graph import Geodesics
    from segapp.engine.superpixels import Prototypes
    from segapp.model.document import Document, Mark
    from segapp.model.labelling import InitialLabels


_BORDER_WIDTH = 0.02
"""As a share of the image's shorter side."""


def border_mask(shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Return the mask of an image's border."""
    width = max(1, round(_BORDER_WIDTH * min(shape[:2])))
    border = np.ones(shape[:2], dtype=bool)
    border[width:-width, width:-width] = False
    return border


def with_border(marked: NDArray[np.int16], background: int) -> NDArray[np.int16]:
    """Mark the unmarked border as background, where objects alone have marks.

    It is a guess and no mark: the object may still reach the border, and the first stroke on the
    background takes its place; the answer until then is a weaker prior of the next one. On half
    of the tuning images the first answer has an IoU of 0.59 from one dab on the object, and of
    0.78 from its given strokes; the weight of the border there (1 to 1/100) changes nothing.
    """
    return np.where(border_mask(marked.shape) & (marked < 0), np.int16(background), marked)


# The temporal prior: far from the newest stroke, where older strokes are nearer, the previous
# answer stays unless there is a good reason to change it, so that one more stroke does not turn
# over a region far away. A stroke that mostly confirms labels moves a boundary, and says little
# about anything else: the prior is stronger then.

_CONFIRMATION_WEIGHT = 1.0
"""By how much the prior grows when a stroke only confirms labels. Of ten dips on the tuning images
three came from dabs half of which said nothing new; with 1 they are gone. With 3 they are gone as
well, but hard images seem to need more strokes to 95 %."""


_ASSUMED_WEIGHT = 0.5
"""Weight of the prior while the border alone stood for the background. Object first, then the
largest given stroke on the background: every twelfth tuning image loses over 3 points, and where
that stroke changes regions to its own class alone, every fiftieth. With 0.7 no fewer, and an
object that reaches the border stays cut off."""


@dataclass(frozen=True, slots=True, eq=False)
class RegionShares:
    """The share of each region that each class of the document had in an answer.

    ``shares`` is regions x classes, uint8, where 255 is all of it: coarse on purpose, so that
    a file that carries it gives the same answer as the program that wrote it.
    """

    shares: NDArray[np.uint8]

    @classmethod
    def of(cls, prototypes: Prototypes, labels: NDArray[np.uint8], n_classes: int) -> RegionShares:
        """Count labels of the working resolution."""
        keys = prototypes.index_map.ravel() * np.int32(n_classes) + labels.ravel()
        counts = np.bincount(keys, minlength=len(prototypes) * n_classes)
        part = counts.reshape(len(prototypes), n_classes) / prototypes.sizes[:, None]
        return cls(np.rint(255 * part).astype(np.uint8))

    def of_classes(self, classes: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the shares of some classes, from 0 to 1; a class that is new had none."""
        known = classes < self.shares.shape[1]
        shares = np.zeros((len(self.shares), len(classes)))
        shares[:, known] = self.shares[:, classes[known]] / 255.0
        return shares

    def confirmed_by(self, prototypes: Prototypes, marked: NDArray[np.int16]) -> float:
        """Return the share of marked pixels that had their class before.

        ``marked`` is of the working resolution, -1 where nothing is marked; without marks
        nothing is confirmed.
        """
        indices = np.flatnonzero(marked >= 0)
        if not indices.size:
            return 0.0
        labels = marked.take(indices).astype(np.intp)
        regions = prototypes.index_map.take(indices)
        known = labels < self.shares.shape[1]
        return float(self.shares[regions[known], labels[known]].sum(dtype=np.int64)) / (
            255.0 * indices.size
        )


def temporal_prior(
    geodesics: Geodesics,
    newest: NDArray[np.intp],
    earlier: NDArray[np.intp],
    shares: NDArray[np.float64],
    confirmed: float,
    *,
    kept: NDArray[np.bool_] | None = None,
) -> NDArray[np.float64]:
    """Compute the cost for a region to leave its previous class, regions x classes.

    Parameters
    ----------
    newest, earlier
        The regions under the newest stroke, and under all earlier ones.
    shares
        Regions x classes, those of the answer before the newest stroke.
    confirmed
        By `RegionShares.confirmed_by`; without any, costs are at most 1.
    kept
        Where the border alone stood for the background in the previous answer: regions x classes,
        the changes that are as hard near the newest stroke as far from it.
    """
    to_newest, to_earlier = geodesics.distances(newest), geodesics.distances(earlier)
    far = (to_newest / np.maximum(to_newest + to_earlier, 1e-9))[:, None]
    strength = 1.0 + _CONFIRMATION_WEIGHT * confirmed
    if kept is not None:
        strength *= _ASSUMED_WEIGHT
        far = np.where(kept, 1.0, far)
    return np.asarray(strength * (far * (1.0 - shares)))


# Initial labels are replaced by a few dabs, each well inside a component of its class, as a user
# would make them: the learner so sees this image's own colours there. The labels themselves are
# the previous answer of the first stroke.

_DABS_PER_CLASS = 6
"""More would hold on to labels that a stroke is to correct: from models of other frames of three
films, 4.3 strokes to 85 %, with 20 dabs 5.7, with 60 dabs 7.3."""
_DABS_PER_PROPAGATED_CLASS = 60
"""On pages of films with 73 to 82 %, a first stroke otherwise loses up to 77 points."""
_DISTANCES = {False: (2.0, 0.15), True: (1.5, 0.03)}
"""Between dabs, propagated or not: in radii of a disc and in longer sides of the image."""
_DAB_DEPTH = 0.5  # a dab's radius, as a share of the way from its centre to the boundary
_LARGEST_DAB = 24.0  # radius in pixels, in an image of the next size
_LONGEST_SIDE = 512  # pixels of the image in which dabs are placed


def initial_pixels(initial: InitialLabels, size: tuple[int, ...]) -> NDArray[np.uint8]:
    """Return initial labels, which must be of the image's size."""
    if (initial.height, initial.width) != size:
        raise SegappError(
            "The result of {} has {} x {} pixels: wanted the image's {} x {}.",
            initial.name,
            initial.width,
            initial.height,
            size[1],
            size[0],
        )
    return initial.pixels()


def seeds_from_labels(document: Document, labels: NDArray[np.uint8]) -> Document:
    """Return the document with dabs, all in one state, in place of its strokes.

    Its initial labels stay, as different ones may have the same dabs and other answers. Of
    propagated labels each component has a dab, so that a stroke on one drops no other.
    A stroke of another class within the disc around a dab says that the labels were wrong there:
    that dab is left out. A class that would lose all of its dabs keeps one beside the strokes.
    """
    step = -(-max(labels.shape) // _LONGEST_SIDE)
    coarse = labels[::step, ::step]
    strokes = [(mark, *_mark_points(mark)) for mark in document.strokes if mark.label is not None]
    dabs: list[Stroke] = []
    propagated = document.initial is not None and document.initial.propagated
    for index in range(len(document.classes)):
        count = len(dabs)
        discs = _inscribed_discs(coarse == index, propagated=propagated)
        if propagated:
            discs += _missed_components(coarse == index, discs)
        for column, row, depth in discs:
            x, y = (column + 0.5) * step, (row + 0.5) * step
            contradicted = any(
                mark.label != index and (np.hypot(xs - x, ys - y) <= depth * step + radius).any()
                for mark, xs, ys, radius in strokes
            )
            if not contradicted:
                radius = max(min(_DAB_DEPTH * depth, _LARGEST_DAB), 0.5) * step
                dabs.append(Stroke(((x, y),), radius, index))
        if len(dabs) == count and index not in document.strokes.labels:
            marks = rasterize(document, (labels.shape[0], labels.shape[1]))[::step, ::step]
            for column, row, _ in _inscribed_discs((coarse == index) & (marks < 0))[:1]:
                place = (column + 0.5) * step, (row + 0.5) * step
                dabs.append(Stroke((place,), 0.5 * step, index))
    return replace(document, strokes=Marks.of(dabs)).as_one_state()


def _missed_components(
    mask: NDArray[np.bool_], discs: list[tuple[int, int, float]]
) -> list[tuple[int, int, float]]:
    """Return the deepest disc of each component without any."""
    components, count = label_components(mask)
    missed = np.ones(count + 1, bool)
    missed[[0, *(components[y, x] for x, y, _ in discs)]] = False
    depth = ndimage.distance_transform_edt(np.pad(mask, 1))[1:-1, 1:-1]
    places = ndimage.maximum_position(depth, components, np.flatnonzero(missed))
    return [(int(x), int(y), float(depth[y, x])) for y, x in places]


def _mark_points(mark: Mark) -> tuple[NDArray[np.floating], NDArray[np.floating], float]:
    """Return the x and y of a mark's points, and the radius around them."""
    if isinstance(mark, Stroke):
        points = np.array(mark.points)
        return points[:, 0], points[:, 1], mark.radius
    rows, columns = np.nonzero(mark.mask())
    return columns + mark.left + 0.5, rows + mark.top + 0.5, 0.5


def _inscribed_discs(
    mask: NDArray[np.bool_], *, propagated: bool = False
) -> list[tuple[int, int, float]]:
    """Return centres (x, y) and radii of a few discs inside a mask, the largest first."""
    most = _DABS_PER_PROPAGATED_CLASS if propagated else _DABS_PER_CLASS
    radii, sides = _DISTANCES[propagated]
    discs: list[tuple[int, int, float]] = []
    depth = ndimage.distance_transform_edt(np.pad(mask, 1))[1:-1, 1:-1]
    rows, columns = np.ogrid[: mask.shape[0], : mask.shape[1]]
    while len(discs) < most:
        y, x = np.unravel_index(int(depth.argmax()), depth.shape)
        deepest = float(depth[y, x])
        if deepest <= 0:
            break
        discs.append((int(x), int(y), deepest))
        distance = max(radii * deepest, sides * max(mask.shape))
        depth[(rows - y) ** 2 + (columns - x) ** 2 < distance**2] = 0
    return discs
