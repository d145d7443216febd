"""From what a user hands over to what the solver sees: labels as indices, rows with weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from shlcore.problem import UNLABELLED

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from shlcore.array_types import AnyArray, Array, Indices


LEFT_OUT = -1
"""Row index of a sample that takes no part in training."""


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Samples with equal features and labels, each gathered into one weighted row.

    Parameters
    ----------
    first
        ``(n,)``, the sample that represents each row.
    labels, weights
        ``(n,)``, of the rows.
    row_of_sample
        The row of each sample, or `LEFT_OUT`.
    """

    first: Indices
    labels: Indices
    weights: Array
    row_of_sample: Indices


@dataclass(frozen=True, slots=True, eq=False)
class SeenColumns:
    """What is known of the columns of X: how many there are, and their names if they have any."""

    count: int
    names: tuple[str, ...] | None = None


def encode_labels(y: ArrayLike, n_samples: int) -> tuple[AnyArray, Indices]:
    """Return the classes, and the class index of each sample, `UNLABELLED` where y is -1."""
    array = np.asarray(column_or_1d(y, warn=True))
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError("y: wanted finite labels, got NaN or infinity")
    if array.shape != (n_samples,):
        raise ValueError(f"y: wanted {n_samples} labels, one for each sample, got {array.shape}")
    if array.dtype.kind == "O":
        missing = np.array([not isinstance(v, str | bool) and v == -1 for v in array], dtype=bool)
    elif array.dtype.kind in "US":
        # numpy writes the -1 in ["a", -1] as text.
        missing = array == np.asarray("-1", dtype=array.dtype)
    elif array.dtype.kind == "b":
        missing = np.zeros(n_samples, dtype=bool)
    else:
        missing = array == UNLABELLED
    known = array[~missing]
    if known.dtype.kind == "O":
        known = np.array(known.tolist())
    if not known.size:
        raise ValueError(
            "y: wanted labelled samples of at least two classes, got none; "
            "for unsupervised learning pass y=None and n_classes"
        )
    check_classification_targets(known)
    classes, indices = np.unique(known, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"y: wanted labelled samples of at least two classes, got only one class: {classes[0]}"
        )
    labels = np.full(n_samples, UNLABELLED, dtype=np.intp)
    labels[~missing] = indices
    return classes, labels


def gather_rows(X: Array | None, labels: Indices, weights: Array) -> Rows:
    """Merge equal samples of positive weight into rows; without X, each is its own row."""
    taking_part = np.flatnonzero(weights > 0)
    if not taking_part.size:
        raise ValueError("sample_weight: wanted a positive weight, got zero for every sample")
    if X is None:
        first, inverse = taking_part, np.arange(len(taking_part))
    else:
        keys = np.column_stack([X[taking_part], labels[taking_part].astype(float)])
        _, index, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        # Sorted as they are, the rows are the same however the samples were repeated.
        first, inverse = taking_part[index], inverse.ravel()
    row_of_sample = np.full(len(labels), LEFT_OUT, dtype=np.intp)
    row_of_sample[taking_part] = inverse
    gathered: Array = np.bincount(
        inverse, weights=weights[taking_part], minlength=len(first)
    ).astype(np.float64)
    return Rows(first, labels[first], gathered, row_of_sample)
