"""Samples: encoded labels, merged equal samples, blocks in double precision.

X may be sparse or in single precision, while kernels are computed in double precision and scaling
makes zeros nonzero. A converted copy could be many times as large as X, hence the blocks.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from shlcore.problem import UNLABELLED
from shlcore.row_blocks import rows_per_block

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from shlcore.array_types import AnyArray, Array, Floats, Indices, SparseRows
    from shlcore.scaling import Scaling

    Label = int | float | str | None


_MIN_COUNT = 10
"""Minimum number of samples to compare a share with those of the classes."""

LEFT_OUT = -1
"""Row index of a sample that takes no part in training."""


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Weighted rows, each of them all samples with equal features and label.

    Parameters
    ----------
    first
        ``(n,)``, index of the first sample of each row.
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
class ColumnInfo:
    """Number of the columns of X, and their names if they have any."""

    count: int
    names: tuple[str, ...] | None = None


def encode_labels(
    y: ArrayLike, n_samples: int, unlabelled: Label = UNLABELLED
) -> tuple[AnyArray, Indices]:
    """Return the classes, and the class index of each sample or `UNLABELLED`.

    ``unlabelled`` is the value of y for samples without a label; None: every sample has one. NaN,
    None, pandas' NA and masked values mean "no label", too.
    """
    mask = np.ma.getmask(y)  # checks of scikit-learn would drop it
    if isinstance(y, list | tuple) and not all(isinstance(value, str) for value in y):
        text = np.asarray(y).dtype.kind == "U"  # numpy would convert NaN to text
        y = np.asarray(y, dtype=object) if text else y
    array = np.asarray(column_or_1d(y, warn=True))
    if array.shape != (n_samples,):
        raise ValueError(f"y: wanted {n_samples} labels, one for each sample, got {array.shape}")
    absent = _absent(array) | np.ravel(mask)
    if unlabelled is None and absent.any():
        raise ValueError(
            f"y: wanted a label for every sample (unlabelled=None), got {absent.sum()} NaN or None"
        )
    marked = _missing(array, unlabelled) & ~absent
    missing = absent | marked
    known = array[~missing]
    if known.dtype.kind == "O":
        known = np.array(known.tolist())
    if known.dtype.kind == "f":
        if not np.isfinite(known).all():
            raise ValueError("y: wanted finite labels, got infinity")
        if absent.any() and (known == np.round(known)).all():
            known = known.astype(np.int64)  # pandas turns whole numbers beside NaN into floats
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
            + (
                f" ({unlabelled!r} means: no label; see the parameter unlabelled)"
                if missing.any()
                else ""
            )
        )
    _warn_if_mark_may_be_class(np.bincount(indices), int(marked.sum()), unlabelled)
    labels = np.full(n_samples, UNLABELLED, dtype=np.intp)
    labels[~missing] = indices
    return classes, labels


def _absent(array: AnyArray) -> NDArray[np.bool_]:
    """Return a mask of NaN, None and pandas' NA, the values unequal to themselves."""
    if array.dtype.kind != "O":
        return np.asarray(array != array)

    def is_absent(value: object) -> bool:
        try:
            return value is None or bool(value != value)
        except TypeError:  # pandas' NA has no truth value
            return True

    return np.array([is_absent(value) for value in array], dtype=bool)


def _missing(array: AnyArray, unlabelled: Label) -> NDArray[np.bool_]:
    """Return a mask of the samples without a label."""
    kind = array.dtype.kind
    if unlabelled is None or kind == "b":
        return np.zeros(len(array), dtype=bool)
    if kind == "O":
        text = isinstance(unlabelled, str)
        return np.array(
            [
                isinstance(v, str) == text and not isinstance(v, bool) and bool(v == unlabelled)
                for v in np.where(_absent(array), np.True_, array)
            ],
            dtype=bool,
        )
    if kind in "US":
        # numpy converts the -1 in ["a", -1] to text.
        return np.asarray(array == np.asarray(str(unlabelled), dtype=array.dtype.kind))
    if isinstance(unlabelled, str):
        return np.zeros(len(array), dtype=bool)
    return np.asarray(array == unlabelled)


def _warn_if_mark_may_be_class(counts: Indices, n_marked: int, unlabelled: Label) -> None:
    """Warn if the label -1 is as frequent as a class."""
    similar = 0.8 * counts.mean() <= n_marked <= 1.25 * counts.mean()
    if unlabelled == UNLABELLED and n_marked >= _MIN_COUNT and similar:
        warnings.warn(
            f"y: {n_marked} samples of label -1 are taken as samples without a label, yet their "
            f"share is like that of a class. If -1 is a class, set unlabelled=None.",
            UserWarning,
            stacklevel=2,
        )


def merge_equal_samples(X: SampleRows | None, labels: Indices, weights: Array) -> Rows:
    """Merge equal samples of positive weight into rows; without X, each is a row."""
    active = np.flatnonzero(weights > 0)
    if not active.size:
        raise ValueError("sample_weight: wanted a positive weight, got zero for every sample")
    if X is None:
        first, inverse = active, np.arange(len(active))
    else:
        # Rows are sorted, so that repeated samples do not change their order.
        index, inverse = X.unique_rows(active, labels[active])
        first = active[index]
    row_of_sample = np.full(len(labels), LEFT_OUT, dtype=np.intp)
    row_of_sample[active] = inverse
    merged: Array = np.bincount(inverse, weights=weights[active], minlength=len(first)).astype(
        np.float64
    )
    return Rows(first, labels[first], merged, row_of_sample)


@dataclass(frozen=True, slots=True, eq=False)
class SampleRows:
    """Checked samples: an array of either precision, or a CSR matrix."""

    X: Floats | SparseRows

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def take(self, chosen: Indices | slice) -> Array:
        """Return some samples, dense and in double precision."""
        part = self.X[chosen]
        dense = part if isinstance(part, np.ndarray) else part.toarray()
        return np.asarray(dense, dtype=np.float64)

    def blocks(self, chosen: Indices, bytes_per_row: int = 0) -> Iterator[tuple[slice, Array]]:
        """Yield blocks of the chosen samples, each with its slice of ``chosen``."""
        size = rows_per_block(max(8 * self.X.shape[1], bytes_per_row))
        for first in range(0, len(chosen), size):
            rows = slice(first, min(first + size, len(chosen)))
            yield rows, self.take(chosen[rows])

    def unique_rows(self, chosen: Indices, last: Indices | None = None) -> tuple[Indices, Indices]:
        """Find equal samples in sorted order, like `numpy.unique` with ``axis=0``.

        Parameters
        ----------
        last
            A further column, the last one in the order.

        Returns
        -------
        first, inverse
            For each unique row the index of its first sample in ``chosen``, and for each sample
            the index of its unique row.
        """
        rank = np.zeros(len(chosen), dtype=np.intp)
        tied = np.arange(len(chosen))
        for column in self._columns(chosen, last):
            if len(tied) < 2:
                break
            tied = _refine(rank, tied, column)
        _, first, inverse = np.unique(rank, return_index=True, return_inverse=True)
        return first, inverse.ravel()

    def _columns(self, chosen: Indices, last: Indices | None) -> Iterator[Floats]:
        if isinstance(self.X, np.ndarray):
            for j in range(self.X.shape[1]):
                yield self.X[chosen, j]
        else:
            by_column = self.X[chosen].tocsc()
            for start, stop in pairwise(by_column.indptr):
                if stop > start:
                    column = np.zeros(len(chosen))
                    column[by_column.indices[start:stop]] = by_column.data[start:stop]
                    yield column
        if last is not None:
            yield last.astype(np.float64)


def _refine(rank: Indices, tied: Indices, column: Floats) -> Indices:
    """Rank tied samples by one more column, and return those that are still tied.

    The rank of tied samples is the index of the first of them in sorted order.
    """
    tied = tied[np.lexsort((column[tied], rank[tied]))]
    ranks, values = rank[tied], column[tied]
    indices = np.arange(len(tied))
    group = np.append(True, ranks[1:] != ranks[:-1])
    run = group | np.append(True, values[1:] != values[:-1])
    of_group = np.maximum.accumulate(np.where(group, indices, 0))
    of_run = np.maximum.accumulate(np.where(run, indices, 0))
    rank[tied] = ranks + of_run - of_group
    distinct = run & np.append(run[1:], True)
    return np.asarray(tied[~distinct])


@dataclass(frozen=True, slots=True, eq=False)
class ScaledRows:
    """Chosen samples that are scaled when they are read."""

    samples: SampleRows
    chosen: Indices
    scaling: Scaling

    def __len__(self) -> int:
        return len(self.chosen)

    def take(self, rows: Indices) -> Array:
        """Return some rows."""
        return self.scaling.apply(self.samples.take(self.chosen[rows]))

    def blocks(self, bytes_per_row: int = 0) -> Iterator[tuple[slice, Array]]:
        """Yield all rows block by block, each block with its slice of the rows."""
        for rows, block in self.samples.blocks(self.chosen, bytes_per_row):
            yield rows, self.scaling.apply(block)
