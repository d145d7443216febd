"""Base classes of the hash baselines, and kernels with anchor rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from shlcore import hamming
from shlcore.kernels import Gaussian, KernelBank, squared_distances
from shlcore.scaling import learn_scaling, summarise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray
    from sklearn.utils import Tags

    from shlcore.array_types import Array
    from shlcore.kernels import Kernel
    from shlcore.scaling import Scaling


class HashTransformer(TransformerMixin, BaseEstimator):
    """A transformer from rows to bits.

    A subclass defines ``_learn(X, rng)``, or ``_learn(X, rng, classes)`` if it uses classes
    (numbered from 0; None if they are optional and missing), and ``_project(X)``: real values, one
    column a bit. A bit is 1 where its value is positive. Each subclass has a constructor of its
    own, because scikit-learn reads the parameters from the signature of ``__init__``.
    """

    targets: ClassVar[Literal["ignored", "optional", "required"]] = "ignored"

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Learn the hash functions.

        Parameters
        ----------
        X : (n_samples, n_features) array
            Training rows.
        y : (n_samples,) array, optional
            Classes, which unsupervised methods ignore.
        """
        if self.n_bits < 1:
            raise ValueError(f"n_bits: wanted at least 1, got {self.n_bits}")
        rng = check_random_state(self.random_state)
        if self.targets == "ignored":
            self._learn(validate_data(self, X, dtype=np.float64, ensure_min_samples=2), rng)
        elif y is not None:
            rows, labels = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
            check_classification_targets(labels)
            self._learn(rows, rng, np.unique(labels, return_inverse=True)[1])
        elif self.targets == "optional":
            self._learn(validate_data(self, X, dtype=np.float64, ensure_min_samples=2), rng, None)
        else:
            name = type(self).__name__
            raise ValueError(f"{name} requires y to be passed, but the target y is None")
        return self

    def project(self, X: ArrayLike) -> Array:
        """Return real values whose signs are the bits, one column a bit."""
        check_is_fitted(self)
        return np.asarray(self._project(validate_data(self, X, dtype=np.float64, reset=False)))

    def transform(self, X: ArrayLike) -> NDArray[np.uint8]:
        """Return the codes, an ``n x n_bits`` array of 0 and 1."""
        return (self.project(X) > 0).astype(np.uint8)

    def hash(self, X: ArrayLike) -> NDArray[np.uint8]:
        """Return the codes packed into bytes, for `shlcore.index.HammingIndex`."""
        return hamming.pack(self.transform(X))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # Codes are bytes of 0 and 1 for any type of X.
        tags.transformer_tags.preserves_dtype = []
        tags.target_tags.required = self.targets == "required"
        return tags


def sample_rows(X: Array, count: int, rng: np.random.RandomState) -> Array:
    """Draw at most `count` rows without replacement."""
    return X[rng.choice(len(X), min(count, len(X)), replace=False)]


def cluster_centres(X: Array, count: int, rng: np.random.RandomState) -> Array:
    """Return at most `count` k-means centres, or all distinct rows if these are fewer."""
    distinct = np.unique(X, axis=0)
    if len(distinct) <= count:
        return distinct
    # Anchors need only a coarse clustering: few iterations, one start.
    seed = rng.randint(np.iinfo(np.int32).max)
    means = KMeans(count, init="random", n_init=1, max_iter=10, random_state=seed).fit(X)
    return np.asarray(means.cluster_centers_)


def mean_square_distance(X: Array, anchors: Array) -> float:
    """Return the mean squared distance of rows and anchors, 1 if all are equal."""
    return float(squared_distances(X, anchors).mean()) or 1.0


@dataclass(frozen=True, slots=True, eq=False)
class KernelMean:
    """The mean of some kernels between scaled rows and anchors."""

    bank: KernelBank
    scaling: Scaling
    anchors: Array

    def of(self, X: Array) -> Array:
        """Return the kernels between rows and anchors, ``n x n_anchors``."""
        rows = self.scaling.apply(X)
        total = np.zeros((len(rows), len(self.anchors)))
        for matrix in self.bank.cross_kernels(rows, self.anchors):
            total += matrix
        return total / len(self.bank)


class AnchorHash(HashTransformer):
    """A method whose bits combine kernels between a row and anchor rows.

    ``_learn`` of a subclass calls ``_draw_anchors`` first.
    """

    kernels: Sequence[Kernel] | None

    def _draw_anchors(self, X: Array, rng: np.random.RandomState, count: int | None) -> Array:
        """Draw anchors from the training rows (None: all); return the kernels with them.

        Without given kernels there is one Gaussian, whose width is the root mean square distance
        of rows and anchors. Given ones act on columns scaled to [0, 1], as in `shlcore.SHL`.
        """
        self.anchors_ = X if count is None else sample_rows(X, count, rng)
        if self.kernels is None:
            self.width_ = mean_square_distance(X, self.anchors_)
            chosen: Sequence[Kernel] = [Gaussian(float(np.sqrt(self.width_)))]
        else:
            chosen = self.kernels
        scale = None if self.kernels is None else "minmax"
        scaling = learn_scaling(scale, summarise(X, np.ones(len(X))))
        bank = KernelBank(chosen, X.shape[1])
        self.similarity_ = KernelMean(bank, scaling, scaling.apply(self.anchors_))
        return self._kernels(X)

    def _kernels(self, X: Array) -> Array:
        """Return the kernels between rows and anchors, ``n x n_anchors``."""
        return self.similarity_.of(X)
