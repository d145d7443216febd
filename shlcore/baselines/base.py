"""What all hash baselines share: checks of the input, and codes as bits or bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from shlcore import hamming

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from sklearn.utils import Tags

    from shlcore.array_types import Array


class HashTransformer(TransformerMixin, BaseEstimator):
    """A transformer from rows to bits.

    A method brings ``_learn(X, rng)``, or ``_learn(X, rng, classes)`` where it looks at
    classes (numbered from 0; None when it can do without and gets none), and
    ``_project(X)``: real values, one column a bit. A bit is 1 where its value is positive.
    Constructors are alike from method to method, and yet each has its own: scikit-learn reads a
    method's parameters from the signature of its ``__init__``.
    """

    targets: ClassVar[Literal["ignored", "optional", "required"]] = "ignored"

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Learn the hash functions.

        Parameters
        ----------
        X : (n_samples, n_features) array
            Training rows.
        y : (n_samples,) array, optional
            Classes; the unsupervised methods pay no attention to them.
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
        """Real values, one column a bit, whose signs are the bits."""
        check_is_fitted(self)
        return np.asarray(self._project(validate_data(self, X, dtype=np.float64, reset=False)))

    def transform(self, X: ArrayLike) -> NDArray[np.uint8]:
        """Codes: an ``n x n_bits`` array of 0 and 1."""
        return (self.project(X) > 0).astype(np.uint8)

    def hash(self, X: ArrayLike) -> NDArray[np.uint8]:
        """Codes packed into bytes, as `shlcore.index.HammingIndex` takes them."""
        return hamming.pack(self.transform(X))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # Codes are bytes of 0 and 1, whatever the type of X.
        tags.transformer_tags.preserves_dtype = []
        tags.target_tags.required = self.targets == "required"
        return tags
