"""All that depends on the picture alone, prepared once and used by every stroke after it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from segapp.colour_likelihood import colour_cells
from segapp.pixel_features import position
from segapp.prototypes import Prototypes, palette, superpixels
from segapp.pyramid import halvings
from segapp.refine import Contrast, region_edges
from segapp.settings import STROKE_BOUND, FeatureGroup, Samples, Settings
from shlcore.kernels import Gaussian, Kernel, KernelBank, Linear, paper_kernels

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from segapp.graph_cut import Edges


_PATCHES = 6000


def kernels_of(group: FeatureGroup, settings: Settings) -> tuple[Kernel, ...]:
    """Return the kernels that act on the columns of a group."""
    if group in STROKE_BOUND:
        bandwidths = settings.stroke_bandwidths
    elif group is FeatureGroup.POSITION:
        bandwidths = settings.position_bandwidths
    else:
        bandwidths = settings.bandwidths
    if not bandwidths:
        return paper_kernels(group.value)
    return tuple(Gaussian(sigma, group.value) for sigma in bandwidths)


def kernel_names(settings: Settings) -> tuple[str, ...]:
    """Name the kernels for people, in the order of their matrices."""
    kernels = (k for group in in_order(settings) for k in kernels_of(group, settings))
    return tuple(_kernel_name(kernel) for kernel in kernels)


def _kernel_name(kernel: Kernel) -> str:
    if isinstance(kernel, Gaussian):
        return f"{kernel.columns}, sigma {kernel.sigma:g}"
    return f"{kernel.columns}, {'linear' if isinstance(kernel, Linear) else 'polynomial'}"


def in_order(settings: Settings) -> tuple[FeatureGroup, ...]:
    """Return the groups as their kernels are stacked: those that need strokes come last."""
    return (*fixed_groups(settings), *stroke_groups(settings))


def fixed_groups(settings: Settings) -> tuple[FeatureGroup, ...]:
    """Return the groups that the picture alone gives."""
    return tuple(g for g in settings.features if g not in STROKE_BOUND)


def stroke_groups(settings: Settings) -> tuple[FeatureGroup, ...]:
    """Return the groups that depend on the strokes."""
    return tuple(g for g in settings.features if g in STROKE_BOUND)


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The learner's rows: prototypes with their features side by side.

    ``groups`` names the columns of each group, as `shlcore.SHL` wants them.
    """

    prototypes: Prototypes
    features: NDArray[np.float64]
    groups: dict[str, list[int]]


def rows_of(rgb: NDArray[np.uint8], settings: Settings, chosen: Iterable[FeatureGroup]) -> Rows:
    """Find the prototypes of a picture and describe them by some groups of features."""
    make = palette if settings.samples is Samples.PALETTE else superpixels
    prototypes = make(rgb, settings.prototypes)
    by_group = prototypes.features(rgb, chosen)
    groups: dict[str, list[int]] = {}
    first = 0
    for group, columns in by_group.items():
        groups[group.value] = list(range(first, first + columns.shape[1]))
        first += columns.shape[1]
    nothing = np.zeros((len(prototypes), 0))
    return Rows(prototypes, np.concatenate([nothing, *by_group.values()], axis=1), groups)


@dataclass(frozen=True, slots=True, eq=False)
class Terrain:
    """The lie of the land.

    Parameters
    ----------
    contrast, bonds
        How neighbours hold together, as a rule for any level and for the pixels of this one.
    edges
        Between prototypes that touch.
    lengths
        Of the edges, from centre to centre; the average is 1.
    patches
        Smaller superpixels, over which the outline is first drawn.
    patch_edges
        Between patches that touch.
    cells
        The colour histogram's cell of each pixel.
    """

    contrast: Contrast
    bonds: tuple[NDArray[np.float32], NDArray[np.float32]]
    edges: Edges
    lengths: NDArray[np.float64]
    patches: Prototypes
    patch_edges: Edges
    cells: NDArray[np.int32]

    @classmethod
    def of(cls, rgb: NDArray[np.uint8], prototypes: Prototypes) -> Terrain:
        """Survey a picture."""
        contrast = Contrast.of(rgb)
        bonds = contrast.bonds(rgb)
        edges = region_edges(prototypes.index_map, bonds)
        centres = prototypes.mean(position((rgb.shape[0], rgb.shape[1])))
        lengths = np.sqrt(((centres[edges.u] - centres[edges.v]) ** 2).sum(axis=1))
        if lengths.sum() > 0:
            lengths = lengths / lengths.mean()
        patches = superpixels(rgb, _PATCHES)
        patch_edges = region_edges(patches.index_map, bonds)
        return cls(contrast, bonds, edges, lengths, patches, patch_edges, colour_cells(rgb))


class Groundwork:
    """Lazily prepared parts of one picture; asking again costs nothing.

    Parts are kept for the last settings that asked for them, so that memory stays bounded
    when somebody tries many.
    """

    def __init__(self, rgb: NDArray[np.uint8]) -> None:
        self.rgb = rgb
        self._levels: tuple[NDArray[np.uint8], ...] | None = None
        self._rows: tuple[object, Rows] | None = None
        self._grams: tuple[object, NDArray[np.float64]] | None = None
        self._tenant: object = None
        self._terrain: tuple[Rows, Terrain] | None = None

    @property
    def levels(self) -> tuple[NDArray[np.uint8], ...]:
        """The picture and its halvings; learning happens on the last."""
        if self._levels is None:
            self._levels = halvings(self.rgb)
        return self._levels

    def rows(self, settings: Settings) -> Rows:
        """Return prototypes with the features that need no strokes."""
        key = (settings.samples, settings.prototypes, fixed_groups(settings))
        if self._rows is None or self._rows[0] != key:
            self._rows = (key, rows_of(self.levels[-1], settings, fixed_groups(settings)))
        return self._rows[1]

    def terrain(self, settings: Settings) -> Terrain:
        """Return the lie of the regions."""
        rows = self.rows(settings)
        if self._terrain is None or self._terrain[0] is not rows:
            self._terrain = (rows, Terrain.of(self.levels[-1], rows.prototypes))
        return self._terrain[1]

    def prepare_grams(self, settings: Settings) -> None:
        """Fill in the kernel matrices that need no strokes."""
        rows = self.rows(settings)
        key = (
            rows,
            settings.features,
            settings.bandwidths,
            settings.position_bandwidths,
            settings.stroke_bandwidths,
        )
        if self._grams is not None and self._grams[0] == key:
            return
        self._grams = None  # not two stacks at once
        kernels = [k for g in fixed_groups(settings) for k in kernels_of(g, settings)]
        later = [k for g in stroke_groups(settings) for k in kernels_of(g, settings)]
        n = len(rows.prototypes)
        stack = np.empty((len(kernels) + len(later), n, n))
        if kernels:
            bank = KernelBank(kernels, rows.features.shape[1], rows.groups)
            for place, gram in zip(stack, bank.each(rows.features, rows.features), strict=False):
                place[:] = gram
        self._grams, self._tenant = (key, stack), None

    def grams(
        self,
        settings: Settings,
        tenant: object,
        from_strokes: Mapping[FeatureGroup, NDArray[np.float64]],
    ) -> NDArray[np.float64]:
        """Return all kernel matrices, in the order of `kernel_names`.

        The last ones depend on the strokes: ``from_strokes`` holds these features of the
        prototypes. They are written into the one stack there is, to spare a copy of the
        others, and belong to the ``tenant`` until another asks: whoever has let others work
        in between asks again.
        """
        self.prepare_grams(settings)
        if self._grams is None:
            raise RuntimeError("kernel matrices are missing right after they were made")
        stack = self._grams[1]
        if self._tenant is not tenant:
            groups = stroke_groups(settings)
            place = len(stack) - sum(len(kernels_of(g, settings)) for g in groups)
            for group in groups:
                for gram in _stroke_grams(from_strokes[group], kernels_of(group, settings)):
                    stack[place] = gram
                    place += 1
            self._tenant = tenant
        return stack


def _stroke_grams(
    columns: NDArray[np.float64], kernels: Iterable[Kernel]
) -> Iterator[NDArray[np.floating]]:
    """Yield the kernel matrices of features that depend on the strokes.

    They are made anew for every stroke: single precision makes distances, and above all
    their exponentials, several times faster.
    """
    squared = _squared_distances(columns)
    for kernel in kernels:
        if isinstance(kernel, Gaussian):
            yield np.exp(squared * np.float32(-0.5 / kernel.sigma**2))
        else:
            yield kernel.of(columns, columns)


def _squared_distances(columns: NDArray[np.float64]) -> NDArray[np.float32]:
    squared = np.zeros((len(columns), len(columns)), dtype=np.float32)
    for column in columns.T.astype(np.float32):
        difference = column[:, None] - column[None, :]
        squared += np.square(difference, out=difference)
    return squared
