"""Stroke-independent preparation of an image."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from segapp.engine.encoder_features import (
    FineRegions,
    directions,
    kinship,
    refuse_unseen,
    region_means,
    spread,
)
from segapp.engine.features import Channels, ChannelScales, SeenColours, describe
from segapp.engine.kernels import fixed_groups, kernels_of_all, stroke_groups
from segapp.engine.region_graph import RegionGraph
from segapp.engine.superpixels import Prototypes, palette, superpixels
from segapp.imaging.pyramid import count_halvings, downsample
from segapp.model.settings import FeatureGroup, Samples, Settings
from shlcore import Grams
from shlcore.kernels import KernelBank

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from segapp.engine.encoder_features import Kinds
    from segapp.engine.region_graph import Box
    from segapp.engine.superpixels import Palette
    from segapp.model.picture import EncoderFeatures


@dataclass(frozen=True, slots=True, eq=False)
class FeatureTable:
    """Prototypes with their features side by side, a row each.

    ``groups`` names the columns of each group, as `shlcore.SHL` wants them.
    """

    prototypes: Prototypes
    features: NDArray[np.float64]
    groups: dict[str, list[int]]

    def with_group(self, group: FeatureGroup, columns: NDArray[np.float64]) -> FeatureTable:
        """Return the table with the columns of one group more."""
        first, count = self.features.shape[1], columns.shape[1]
        features = np.concatenate((self.features, columns), axis=1)
        groups = self.groups | {group.value: list(range(first, first + count))}
        return FeatureTable(self.prototypes, features, groups)


def feature_table(
    colours: SeenColours,
    settings: Settings,
    chosen: Iterable[FeatureGroup],
    channels: Channels,
) -> FeatureTable:
    """Find the prototypes of a picture and describe them by some groups of features."""
    chosen = tuple(chosen)
    prototypes = _prototypes(
        colours, settings, channels if FeatureGroup.CHANNELS in chosen else None
    )
    by_group = {
        group: prototypes.mean(
            channels.coarse if group is FeatureGroup.CHANNELS else describe(colours, group)
        )
        for group in chosen
    }
    groups: dict[str, list[int]] = {}
    first = 0
    for group, columns in by_group.items():
        groups[group.value] = list(range(first, first + columns.shape[1]))
        first += columns.shape[1]
    nothing = np.zeros((len(prototypes), 0))
    return FeatureTable(prototypes, np.concatenate([nothing, *by_group.values()], axis=1), groups)


def _prototypes(colours: SeenColours, settings: Settings, channels: Channels | None) -> Prototypes:
    """Group pixels that look alike, in all channels if those are looked at."""
    wanted = settings.prototypes
    if settings.samples is Samples.SUPERPIXELS:
        return superpixels(colours.stretched if channels is None else channels.coarse, wanted)
    if channels is None:
        return palette(colours.rgb, wanted)
    return palette(channels.coarse_whole, wanted, of_channels=True)


class PreparedPicture:
    """Lazily prepared parts of one picture; asking again costs nothing.

    Parts are kept for the last settings that asked for them, so that memory stays bounded
    when somebody tries many. None of them changes once it is there.

    Parameters
    ----------
    channels
        What an instrument has measured, of any number type; ``None`` where that is ``rgb``.
    scales
        Of the channels, if they are those of another picture.
    """

    def __init__(
        self,
        rgb: NDArray[np.uint8],
        channels: NDArray[Any] | None = None,
        encoded: EncoderFeatures | None = None,
        scales: ChannelScales | None = None,
    ) -> None:
        self.rgb, self._encoded = rgb, encoded
        self.times = 1 << count_halvings(rgb.shape)
        """Pixels along a side of what is one pixel of the size at which is learnt."""
        self.channels = Channels(rgb if channels is None else channels, self.times, scales)
        self._levels: tuple[NDArray[np.uint8], ...] | None = None
        self._colours: SeenColours | None = None
        self._table: tuple[object, FeatureTable] | None = None
        self._graph: tuple[FeatureTable, RegionGraph] | None = None
        self._grams: tuple[object, Grams | None] | None = None
        self._encoded_kernel: tuple[FeatureTable, NDArray[np.float64]] | None = None
        self._fine_regions: tuple[RegionGraph, FineRegions] | None = None

    def see(self, encoded: EncoderFeatures) -> None:
        """Take what a network has come to see only now."""
        if encoded is not self._encoded:
            self._encoded, self._encoded_kernel, self._fine_regions = encoded, None, None

    def refuse_unseen(self, settings: Settings) -> None:
        """Raise a `ValueError` if the settings want what the encoder has not seen."""
        refuse_unseen(self._encoded, settings)

    @property
    def levels(self) -> tuple[NDArray[np.uint8], ...]:
        """The picture, and what is learnt on if that is smaller; learning is on the last."""
        if self._levels is None:
            coarse = downsample(self.rgb, self.times.bit_length() - 1)
            self._levels = (self.rgb,) if self.times == 1 else (self.rgb, coarse)
        return self._levels

    @property
    def colours(self) -> SeenColours:
        """Those of the size at which is learnt."""
        if self._colours is None:
            self._colours = SeenColours(self.levels[-1])
        return self._colours

    def guides(self, settings: Settings) -> tuple[NDArray[np.uint8], ...]:
        """Return the colours that outlines follow, at the sizes of `levels`."""
        return self.channels.colours if FeatureGroup.CHANNELS in settings.features else self.levels

    def table(self, settings: Settings) -> FeatureTable:
        """Return prototypes with the features that need no strokes."""
        key = (settings.samples, settings.prototypes, fixed_groups(settings))
        if self._table is None or self._table[0] != key:
            groups = fixed_groups(settings)
            self._table = (key, feature_table(self.colours, settings, groups, self.channels))
        return self._table[1]

    def prototypes_in(self, prototypes: Prototypes, box: Box) -> NDArray[np.int32]:
        """Return the prototype of each pixel of some rows and columns at full size."""
        if prototypes.palette is not None and self.times > 1:
            return prototypes.palette.numbers(self.colours_of(prototypes.palette)[box])
        if self.times == 1:
            return prototypes.index_map[box]
        rows, columns = (
            np.arange(size)[side] // self.times
            for side, size in zip(box, self.rgb.shape[:2], strict=True)
        )
        return np.asarray(prototypes.index_map[rows[:, None], columns])

    def colours_of(self, palette: Palette) -> NDArray[np.uint8] | Channels:
        """Return what the colours of a palette are, at full size."""
        return self.channels if palette.of_channels else self.rgb

    def graph(self, settings: Settings) -> RegionGraph:
        """Return how the prototypes lie to each other."""
        table = self.table(settings)
        if self._graph is None or self._graph[0] is not table:
            colours, channels = self.colours, None
            if FeatureGroup.CHANNELS in settings.features:
                colours, channels = SeenColours(self.guides(settings)[-1]), self.channels.coarse
            self._graph = (table, RegionGraph.of(colours, table.prototypes, channels))
        return self._graph[1]

    def encoded_means(self, settings: Settings) -> NDArray[np.float64]:
        """Return what the encoder sees in each prototype, on average."""
        if self._encoded is None:
            raise ValueError("encoded: wanted what the encoder sees in the picture, got nothing")
        return region_means(self._encoded, self.table(settings).prototypes, self.times)

    def encoded_kernel(self, settings: Settings) -> NDArray[np.float64] | None:
        """Return how alike any two prototypes are to the encoder; ``None`` if it is not asked."""
        if FeatureGroup.ENCODER not in settings.features:
            return None
        table = self.table(settings)
        if self._encoded_kernel is None or self._encoded_kernel[0] is not table:
            means, edges = self.encoded_means(settings), self.graph(settings).edges
            centre = np.average(means, axis=0, weights=table.prototypes.sizes)
            seen = spread(directions(means, centre), edges)
            self._encoded_kernel = (table, kinship(seen, edges, self.apart(settings)))
        return self._encoded_kernel[1]

    def kinds(self, settings: Settings) -> Kinds | None:
        """Return what the encoder's head sees, sorted; ``None`` where none is asked."""
        fine = self._fine(settings)
        return None if fine is None else fine.kinds

    def apart(self, settings: Settings) -> NDArray[np.float64] | None:
        """Return how different prototypes that touch are to the encoder's head, squared."""
        fine = self._fine(settings)
        return None if fine is None else fine.apart

    def _fine(self, settings: Settings) -> FineRegions | None:
        encoded = self._encoded
        if FeatureGroup.ENCODER not in settings.features or encoded is None:
            return None
        if encoded.fine is None:
            return None
        graph = self.graph(settings)
        if self._fine_regions is None or self._fine_regions[0] is not graph:
            prototypes = self.table(settings).prototypes
            self._fine_regions = (
                graph,
                FineRegions.of(encoded.fine, graph, prototypes, self.times),
            )
        return self._fine_regions[1]

    def grams(self, settings: Settings) -> Grams | None:
        """Return the kernel matrices that need no strokes; ``None`` when there are none."""
        table = self.table(settings)
        groups, of_strokes = fixed_groups(settings), bool(stroke_groups(settings))
        sigmas = settings.bandwidths, settings.position_bandwidths
        key = (table, groups, of_strokes, sigmas)
        if self._grams is None or self._grams[0] != key:
            self._grams = None  # not two stacks at once
            kernels = kernels_of_all(groups, settings)
            made = None
            if kernels:
                bank = KernelBank(kernels, table.features.shape[1], table.groups)
                each = bank.cross_kernels(table.features, table.features)
                # Those of the strokes are single, and are summed with these.
                precision = np.float32 if of_strokes else np.float64
                made = Grams.from_matrices(each, len(bank), len(table.features), precision)
            self._grams = (key, made)
        return self._grams[1]
