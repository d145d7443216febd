"""A model of all finished pictures of a folder, and probable mistakes in them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from segapp.engine.encoder_features import region_means
from segapp.engine.features import pixel_features, position
from segapp.engine.likelihood import AppearanceModel, ClassDensities
from segapp.engine.refinement import PixelRefiner, StepTimer
from segapp.engine.region_classifier import RegionScores
from segapp.engine.region_graph import FlowWarmStart
from segapp.imaging.seeds import SeedMap
from segapp.model.answer import Answer, Report
from segapp.model.document import Document
from segapp.model.settings import DEFAULT_SETTINGS, FeatureGroup
from shlcore.parallel import one_blas_thread

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from segapp.engine.preparation import PreparedPicture
    from segapp.model.answer import Update
    from segapp.model.classes import ClassInfo
    from segapp.model.settings import Settings


# Ridge regression on random features of the regions (Rahimi and Recht, 2007), of which only sums
# over the pictures are needed: a picture is added or taken away in one pass, and leaving each one
# out costs as much as adding it. Finished pictures have a label everywhere, so that all regions
# count, not the marked ones alone. Position counts together with appearance: it helps where
# pictures show one scene, and the appearance alone is there for others.

_RIDGE = 0.1
"""Against regions whose weights sum to `_PICTURE_WEIGHT` in each picture."""
_PICTURE_WEIGHT = 100.0
_TEXTURE, _DENSE, _PLACE = 0.2, 0.6, 0.2
"""Sigmas of the kernels on texture, on dense features, and on position."""
_N_TEXTURE, _N_DENSE, _N_PLACED = 200, 300, 300
"""Random features of texture, of dense features, and of both of these with position."""
_COST = 2.0
"""Weight of the scores in the cut energy."""
_SURE = 0.7
"""Score from which on a region shows the colours of its class in a new picture."""
CODE_BITS = 64

SETTINGS = DEFAULT_SETTINGS
"""Regions of all pictures are those of the default settings."""


@dataclass(frozen=True, slots=True, eq=False)
class RegionTable:
    """Features of a picture's regions that mean the same in other pictures.

    Parameters
    ----------
    columns
        Regions x features: texture, dense features, and position last.
    n_texture
        Number of the columns of texture.
    weights
        The share of the picture that each region has.
    """

    columns: NDArray[np.float32]
    n_texture: int
    weights: NDArray[np.float64]

    @classmethod
    def of(cls, picture: PreparedPicture, settings: Settings = SETTINGS) -> RegionTable:
        """Describe the regions; by an encoder's features where the settings ask for them."""
        prototypes = picture.table(settings).prototypes
        texture = prototypes.mean(pixel_features(picture.colours, FeatureGroup.TEXTURE))
        if FeatureGroup.ENCODER in settings.features:
            dense = picture.dense_means(settings)
            lengths = np.sqrt((dense**2).sum(axis=1, keepdims=True))
            dense = dense / np.maximum(lengths, 1e-9)
        else:
            dense = region_means(picture.descriptors, prototypes, picture.times)
        place = prototypes.mean(position(prototypes.index_map.shape))
        columns = np.concatenate((texture, dense, place), axis=1).astype(np.float32)
        return cls(columns, texture.shape[1], prototypes.sizes / prototypes.sizes.sum())

    @property
    def n_dense(self) -> int:
        """Number of the columns of dense features."""
        return int(self.columns.shape[1]) - self.n_texture - 2

    def features(self) -> NDArray[np.float64]:
        """Return the constant, the dense features and the random ones of each region."""
        values = self.columns.astype(np.float64)
        texture, dense = values[:, : self.n_texture], values[:, self.n_texture : -2]
        placed = np.concatenate((dense / _DENSE, values[:, -2:] / _PLACE), axis=1)
        return np.concatenate(
            (
                np.ones((len(values), 1)),
                dense,
                _random_features(texture / _TEXTURE, _N_TEXTURE, 1),
                _random_features(dense / _DENSE, _N_DENSE, 2),
                _random_features(placed, _N_PLACED, 3),
            ),
            axis=1,
        )

    def codes(self) -> NDArray[np.uint8]:
        """Return a packed code of texture and dense features for each region.

        Similar regions have codes at a small Hamming distance, in all pictures.
        """
        values = self.columns[:, :-2].astype(np.float64)
        values[:, : self.n_texture] /= _TEXTURE
        values[:, self.n_texture :] /= _DENSE
        waves = _random_features(values, CODE_BITS, 4)
        return np.packbits(waves >= 0, axis=1, bitorder="little")


def _random_features(values: NDArray[np.float64], count: int, seed: int) -> NDArray[np.float64]:
    """Return random Fourier features of a Gaussian kernel of sigma 1."""
    frequencies, phases = _waves(values.shape[1], count, seed)
    return np.asarray(np.sqrt(2.0 / count) * np.cos(values @ frequencies + phases))


@lru_cache(maxsize=16)
def _waves(
    n_columns: int, count: int, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_columns, count)), rng.uniform(0.0, 2 * np.pi, count)


@dataclass(frozen=True, slots=True, eq=False)
class FinishedPicture:
    """The regions of a finished picture with the shares of the classes in each.

    Parameters
    ----------
    name
        Of its file.
    table
        Its features.
    shares
        Regions x classes; rows sum to 1.
    edges
        Pairs of regions that touch, 2 x edges.
    side
        Pixels of the picture's longer side.
    """

    name: str
    table: RegionTable
    shares: NDArray[np.float64]
    edges: NDArray[np.intp]
    side: int

    @classmethod
    def of(
        cls,
        name: str,
        picture: PreparedPicture,
        labels: NDArray[np.uint8],
        n_classes: int,
        settings: Settings = SETTINGS,
    ) -> FinishedPicture:
        """Count the labels of a picture, which are those of its full size, in each region."""
        prototypes, times = picture.table(settings).prototypes, picture.times
        coarse = labels[::times, ::times]
        keys = prototypes.index_map.ravel() * np.intp(n_classes) + coarse.ravel()
        counts = np.bincount(keys, minlength=len(prototypes) * n_classes)
        shares = counts.reshape(-1, n_classes) / prototypes.sizes[:, None]
        edges = picture.graph(settings).edges
        both = np.stack((edges.u, edges.v)).astype(np.intp)
        return cls(name, RegionTable.of(picture, settings), shares, both, max(labels.shape))

    def sums(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return weighted products of the features, with each other and with the shares.

        Each class that is there has the same weight.
        """
        areas = self.table.weights @ self.shares
        present = areas > 0
        per_class = np.where(present, 1.0 / np.maximum(areas, 1e-12), 0.0) / present.sum()
        weights = _PICTURE_WEIGHT * self.table.weights * (self.shares @ per_class)
        features = self.table.features()
        with one_blas_thread():  # the order of summation decides the last bits
            weighted = features.T * weights
            return weighted @ features, weighted @ self.shares


@dataclass(frozen=True, eq=False)
class FolderModel:
    """Class scores of regions by all finished pictures.

    Parameters
    ----------
    classes
        Of the folder.
    gram, targets
        The sums over the pictures.
    n_pictures
        Number of pictures in the sums.
    """

    classes: tuple[ClassInfo, ...]
    gram: NDArray[np.float64]
    targets: NDArray[np.float64]
    n_pictures: int

    @classmethod
    def empty(cls, classes: tuple[ClassInfo, ...], n_dense: int) -> FolderModel:
        """Return a model of no picture."""
        n_features = 1 + n_dense + _N_TEXTURE + _N_DENSE + _N_PLACED
        gram = np.zeros((n_features, n_features))
        return cls(classes, gram, np.zeros((n_features, len(classes))), 0)

    @classmethod
    def of(cls, classes: tuple[ClassInfo, ...], pictures: list[FinishedPicture]) -> FolderModel:
        """Add up finished pictures, of which there is at least one."""
        model = cls.empty(classes, pictures[0].table.n_dense)
        for picture in pictures:
            model = model.plus(picture)
        return model

    def plus(self, picture: FinishedPicture) -> FolderModel:
        """Add a finished picture."""
        return self._changed(picture, 1)

    def minus(self, picture: FinishedPicture) -> FolderModel:
        """Take a picture away that was added before."""
        return self._changed(picture, -1)

    def _changed(self, picture: FinishedPicture, sign: int) -> FolderModel:
        gram, targets = picture.sums()
        return replace(
            self,
            gram=self.gram + sign * gram,
            targets=self.targets + sign * targets,
            n_pictures=self.n_pictures + sign,
        )

    @cached_property
    def coefficients(self) -> NDArray[np.float64]:
        """The ridge regression, features x classes."""
        with one_blas_thread():
            factor = cho_factor(self.gram + _RIDGE * np.eye(len(self.gram)))
            return np.asarray(cho_solve(factor, self.targets))

    def scores(self, table: RegionTable) -> NDArray[np.float64]:
        """Return the score of each class for some regions, near 1 where it is sure."""
        return np.asarray(table.features() @ self.coefficients)

    def agreement(self, picture: FinishedPicture) -> float:
        """Return the mean IoU of the classes of a picture, by regions."""
        n_classes, weights = len(self.classes), picture.table.weights[:, None]
        labelled = weights * picture.shares
        found = weights * np.eye(n_classes)[self.scores(picture.table).argmax(axis=1)]
        both = (found * picture.shares).sum(axis=0)
        either = found.sum(axis=0) + labelled.sum(axis=0) - both
        present = labelled.sum(axis=0) > 0
        present[Document(self.classes).background] &= np.count_nonzero(present) == 1
        return float((both / np.maximum(either, 1e-12))[present].mean())

    def updates(self, picture: PreparedPicture, settings: Settings = SETTINGS) -> Iterator[Update]:
        """Answer a picture without strokes, cut like any other answer.

        Regions of which the model is sure show the picture's own colours of their classes.
        """
        yield Report("Finding regions", 0.0)
        table, prototypes = RegionTable.of(picture, settings), picture.table(settings).prototypes
        values = self.scores(table)
        yield Report("Comparing with what was learnt", 0.5)
        labels, learnt = values.argmax(axis=1), np.arange(len(self.classes))
        best = values.max(axis=1, keepdims=True)
        ordered = np.sort(values, axis=1)
        margin = (ordered[:, -1] - ordered[:, -2]).astype(np.float32)
        costs = _COST * np.minimum(best - values, 1.0)
        codes = np.zeros(len(values), np.uint32)
        scores = RegionScores(labels, costs, np.maximum(margin, 0.0), codes)
        document = Document(self.classes)
        sure = np.where(best[:, 0] >= _SURE, labels, -1).astype(np.int16)
        marks = sure.take(prototypes.index_map)
        present = np.unique(marks[marks >= 0])
        appearances: tuple[AppearanceModel, ...] = ()
        if len(present) == len(learnt):
            graph = picture.graph(settings)
            shown = ClassDensities.of(graph.bins, marks, learnt, document.background)
            weight = settings.colour_likelihood
            appearances = (
                AppearanceModel(graph.bins, graph.patch_colours, shown.costs(), weight, shown),
            )
        size = picture.rgb.shape[:2]
        clean_up = replace(settings.clean_up, keep_touching=False)
        refiner = PixelRefiner(
            picture,
            SeedMap.empty((size[0], size[1]), picture.times),
            document,
            learnt,
            appearances,
            replace(settings, clean_up=clean_up),
        )
        timer = StepTimer()
        warm = FlowWarmStart(picture.graph(settings))
        answer = yield from refiner.working_answer(scores, warm, timer)
        labelling, _ = yield from refiner.full_size(answer, scores, timer)
        yield Answer(labelling)


_SURE_OF_MISTAKE = 0.35
"""Lead of the likeliest class over the labels of a region from which on these are in doubt."""
_FULL_AREA = 0.01
"""Share of a picture from which on a larger area is no surer to be a mistake: smaller ones are
often parts of an outline."""


@dataclass(frozen=True, slots=True)
class Suspect:
    """An area whose label is probably wrong.

    Parameters
    ----------
    name
        Of the picture's file.
    x, y
        A point in it, in pixels.
    box
        Left, top, right and bottom around the centres of its regions.
    label, likelier
        Positions of its present class and of the one that the other pictures suggest.
    score
        From 0 to about 1: how sure they are, less for small areas.
    area
        As a share of the picture.
    """

    name: str
    x: float
    y: float
    box: tuple[float, float, float, float]
    label: int
    likelier: int
    score: float
    area: float


def review(model: FolderModel, pictures: list[FinishedPicture]) -> list[Suspect]:
    """Rank the areas of all pictures; ``model`` is that of all of them."""
    suspects = [found for picture in pictures for found in suspects_of(model, picture)]
    return sorted(suspects, key=lambda suspect: -suspect.score)


def suspects_of(model: FolderModel, picture: FinishedPicture) -> Iterator[Suspect]:
    """Yield the areas of one picture, judged without it."""
    if model.n_pictures < 2:
        return
    scores = model.minus(picture).scores(picture.table)
    lead = scores.max(axis=1) - (picture.shares * scores).sum(axis=1)
    likelier, present = scores.argmax(axis=1), picture.shares.argmax(axis=1)
    doubtful = (lead > _SURE_OF_MISTAKE) & (likelier != present)
    weights, places = picture.table.weights, picture.table.columns[:, -2:] * picture.side
    for rows in _areas(doubtful, likelier, picture.edges):
        area = float(weights[rows].sum())
        sure = float(weights[rows] @ lead[rows]) / area
        score = min(sure, 1.0) * min(1.0, area / _FULL_AREA) ** 0.5
        nearest = rows[int((weights[rows] * lead[rows]).argmax())]
        top, left = places[rows].min(axis=0)
        bottom, right = places[rows].max(axis=0)
        yield Suspect(
            picture.name,
            float(places[nearest, 1]),
            float(places[nearest, 0]),
            (float(left), float(top), float(right), float(bottom)),
            int(np.bincount(present[rows], weights[rows]).argmax()),
            int(likelier[rows[0]]),
            score,
            area,
        )


def _areas(
    doubtful: NDArray[np.bool_], likelier: NDArray[np.intp], edges: NDArray[np.intp]
) -> Iterator[NDArray[np.intp]]:
    """Yield connected regions in doubt for which the same class is likelier."""
    u, v = edges
    joined = doubtful[u] & doubtful[v] & (likelier[u] == likelier[v])
    n = len(doubtful)
    links = coo_array((joined[joined], (u[joined], v[joined])), shape=(n, n))
    _, components = connected_components(links, directed=False)
    rows = np.flatnonzero(doubtful)
    for number in np.unique(components[rows]):
        yield rows[components[rows] == number]
