"""Stroke-independent preparation of an image."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from segapp.engine.encoder_features import (
    FineRegionFeatures,
    diffuse,
    directions,
    region_affinity,
    region_means,
    require_encoder_features,
)
from segapp.engine.features import (
    Channels,
    ChannelScales,
    ColourImage,
    descriptor_factor,
    descriptor_kernel,
    local_statistics,
    pixel_features,
)
from segapp.engine.kernels import fixed_groups, kernels_of, stroke_groups
from segapp.engine.region_graph import RegionGraph
from segapp.engine.superpixels import Prototypes, colour_palette, superpixels
from segapp.imaging.pyramid import count_halvings, downsample
from segapp.model.settings import FeatureGroup, Samples, Settings, dense_group
from shlcore import Grams
from shlcore.kernels import KernelBank

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from segapp.engine.superpixels import Palette
    from segapp.model.labelling import Box
    from segapp.model.picture import EncoderFeatures


@dataclass(frozen=True, slots=True, eq=False)
class FeatureTable:
    """Prototypes with their features side by side, a row each.

    ``groups`` names the columns of each group, as `shlcore.SHL` expects them.
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


class PreparedPicture:
    """Representations of one image that depend on no stroke, computed on demand.

    They are kept for the settings of the latest call, so that memory stays bounded when the
    user tries many. None of them changes once it is computed.

    Parameters
    ----------
    channels
        An instrument's channels, of any number type; ``None`` where they are ``rgb``.
    encoded
        Encoder features of the image.
    scales
        Of the channels, if they are those of another image.
    working_pixels
        Of the working resolution, at most, where that is not the usual one.
    """

    def __init__(
        self,
        rgb: NDArray[np.uint8],
        channels: NDArray[Any] | None = None,
        encoded: EncoderFeatures | None = None,
        scales: ChannelScales | None = None,
        working_pixels: int | None = None,
    ) -> None:
        self.rgb, self._encoded = rgb, encoded
        self.times = 1 << count_halvings(rgb.shape, working_pixels)
        """Pixels along a side of a pixel of the working resolution."""
        self.channels = Channels(rgb if channels is None else channels, self.times, scales)
        self._table: tuple[object, FeatureTable] | None = None
        self._graph: tuple[FeatureTable, RegionGraph] | None = None
        self._grams: tuple[object, Grams | None] | None = None
        self._dense_kernel: tuple[object, NDArray[np.float64]] | None = None
        self._dense_factor: NDArray[np.float64] | None = None
        self._fine_features: tuple[RegionGraph, FineRegionFeatures] | None = None

    def set_encoder_features(self, encoded: EncoderFeatures) -> None:
        """Replace the encoder features, which may arrive after the first strokes."""
        if encoded is not self._encoded:
            self._encoded, self._dense_kernel, self._fine_features = encoded, None, None

    def require_encoder_features(self, settings: Settings) -> None:
        """Raise an error if the settings ask for encoder features that are missing."""
        require_encoder_features(self._encoded, settings)

    @cached_property
    def levels(self) -> tuple[NDArray[np.uint8], ...]:
        """The image, and its working resolution if that is smaller."""
        if self.times == 1:
            return (self.rgb,)
        return self.rgb, downsample(self.rgb, self.times.bit_length() - 1)

    @cached_property
    def colours(self) -> ColourImage:
        """The colours of the working resolution."""
        return ColourImage(self.levels[-1])

    def guides(self, settings: Settings) -> tuple[NDArray[np.uint8], ...]:
        """Return the colours whose edges boundaries follow, at the sizes of `levels`."""
        return self.channels.colours if FeatureGroup.CHANNELS in settings.features else self.levels

    def table(self, settings: Settings) -> FeatureTable:
        """Return prototypes with the features that need no strokes."""
        groups = fixed_groups(settings)
        key = (settings.samples, settings.prototypes, groups)
        if self._table is None or self._table[0] != key:
            prototypes = self._prototypes(settings)
            table = FeatureTable(prototypes, np.zeros((len(prototypes), 0)), {})
            for group in groups:
                is_raw = group is FeatureGroup.CHANNELS
                pixels = self.channels.coarse if is_raw else pixel_features(self.colours, group)
                table = table.with_group(group, prototypes.mean(pixels))
            self._table = (key, table)
        return self._table[1]

    def _prototypes(self, settings: Settings) -> Prototypes:
        """Group similar pixels, by all channels if those are features."""
        with_channels = FeatureGroup.CHANNELS in settings.features
        count = settings.prototypes
        if settings.samples is Samples.SUPERPIXELS:
            image = self.channels.coarse if with_channels else self.colours.stretched_lab
            return superpixels(image, count)
        colours = self.channels.coarse_quantised if with_channels else self.colours.rgb
        prototypes = colour_palette(colours, count, of_channels=with_channels)
        if self.times == 1 or prototypes.palette is None:
            return prototypes
        palette = prototypes.palette.extended_to(self.colours_of(prototypes.palette))
        return replace(prototypes, palette=palette)

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
        """Return the colours that a palette groups, at full size."""
        return self.channels if palette.of_channels else self.rgb

    def graph(self, settings: Settings) -> RegionGraph:
        """Return the graph of the prototypes."""
        table = self.table(settings)
        if self._graph is None or self._graph[0] is not table:
            colours, channels = self.colours, None
            if FeatureGroup.CHANNELS in settings.features:
                colours, channels = ColourImage(self.guides(settings)[-1]), self.channels.coarse
            self._graph = (table, RegionGraph.of(colours, table.prototypes, channels))
        return self._graph[1]

    @cached_property
    def descriptors(self) -> EncoderFeatures:
        """Local statistics of the working resolution."""
        return local_statistics(self.colours.lab, self.times)

    def dense_means(self, settings: Settings) -> NDArray[np.float64]:
        """Return the mean dense features of each prototype."""
        if dense_group(settings) is FeatureGroup.DESCRIPTORS:
            features = self.descriptors
        elif self._encoded is None:
            raise ValueError("encoded: wanted what the encoder sees in the picture, got nothing")
        else:
            features = self._encoded
        return region_means(features, self.table(settings).prototypes, self.times)

    def dense_kernel(self, settings: Settings) -> NDArray[np.float64] | None:
        """Return the affinity of prototypes by dense features, if there are any."""
        group = dense_group(settings)
        if group is None:
            return None
        table = self.table(settings)
        key = table, group
        if self._dense_kernel is None or self._dense_kernel[0] != key:
            means, edges = self.dense_means(settings), self.graph(settings).edges
            centre = np.average(means, axis=0, weights=table.prototypes.sizes)
            vectors = diffuse(directions(means, centre), edges)
            self._dense_factor = None
            if group is FeatureGroup.DESCRIPTORS:
                kernel = descriptor_kernel(vectors)
                self._dense_factor = descriptor_factor(vectors)
            else:
                fine = self.fine_features(settings)
                distances = None if fine is None else fine.edge_distances
                kernel = region_affinity(vectors, edges, distances)
            self._dense_kernel = (key, kernel)
        return self._dense_kernel[1]

    def dense_factor(self, settings: Settings) -> NDArray[np.float64] | None:
        """Return vectors whose product `dense_kernel` is, if it has a low rank."""
        self.dense_kernel(settings)
        return self._dense_factor if dense_group(settings) is FeatureGroup.DESCRIPTORS else None

    def fine_features(self, settings: Settings) -> FineRegionFeatures | None:
        """Return the fine encoder features of regions; ``None`` where there are none."""
        encoded = self._encoded
        if (
            FeatureGroup.ENCODER not in settings.features
            or encoded is None
            or encoded.fine is None
        ):
            return None
        graph = self.graph(settings)
        if self._fine_features is None or self._fine_features[0] is not graph:
            prototypes = self.table(settings).prototypes
            fine = FineRegionFeatures.of(encoded.fine, graph, prototypes, self.times)
            self._fine_features = (graph, fine)
        return self._fine_features[1]

    def grams(self, settings: Settings) -> Grams | None:
        """Return the kernel matrices that need no strokes; ``None`` when there are none."""
        table = self.table(settings)
        groups, of_strokes = fixed_groups(settings), bool(stroke_groups(settings))
        sigmas = settings.bandwidths, settings.position_bandwidths
        key = (table, groups, of_strokes, sigmas)
        if self._grams is None or self._grams[0] != key:
            self._grams = None  # memory never holds two stacks
            kernels = kernels_of(groups, settings)
            grams = None
            if kernels:
                bank = KernelBank(kernels, table.features.shape[1], table.groups)
                each = bank.cross_kernels(table.features, table.features)
                # Those of the strokes are in single precision, and are summed with these.
                precision = np.float32 if of_strokes else np.float64
                grams = Grams.from_matrices(each, len(bank), len(table.features), precision)
            self._grams = (key, grams)
        return self._grams[1]
