"""From what a user hands over to what the solver sees: labels as indices, rows with weights.

@@@
Samples as they were given, sparse or in single precision, read in blocks of doubles.

The exact solver compares rows in double precision, and scaling fills what was 0. A whole copy of X
in that form may be many times as large as X: so only blocks of it are made, and one by one.
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


_ENOUGH = 10
"""Samples from which on a share says something."""

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


def encode_labels(
    y: ArrayLike, n_samples: int, unlabelled: Label = UNLABELLED
) -> tuple[AnyArray, Indices]:
    """Return the classes, and the class index of each sample, `UNLABELLED` where it has none.

    ``unlabelled`` is the value of y that says so; None: every sample has a label.
    """
    array = np.asarray(column_or_1d(y, warn=True))
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError("y: wanted finite labels, got NaN or infinity")
    if array.shape != (n_samples,):
        raise ValueError(f"y: wanted {n_samples} labels, one for each sample, got {array.shape}")
    missing = _missing(array, unlabelled)
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
            + (
                f" ({unlabelled!r} says: no label; see the parameter unlabelled)"
                if missing.any()
                else ""
            )
        )
    _warn_of_a_class(np.bincount(indices), int(missing.sum()), unlabelled)
    labels = np.full(n_samples, UNLABELLED, dtype=np.intp)
    labels[~missing] = indices
    return classes, labels


def _missing(array: AnyArray, unlabelled: Label) -> NDArray[np.bool_]:
    """Return which labels are none."""
    kind = array.dtype.kind
    if unlabelled is None or kind == "b":
        return np.zeros(len(array), dtype=bool)
    if kind == "O":
        text = isinstance(unlabelled, str)
        return np.array(
            [
                v == unlabelled and isinstance(v, str) == text and not isinstance(v, bool)
                for v in array
            ],
            dtype=bool,
        )
    if kind in "US":
        # numpy writes the -1 in ["a", -1] as text.
        return np.asarray(array == np.asarray(str(unlabelled), dtype=array.dtype.kind))
    if isinstance(unlabelled, str):
        return np.zeros(len(array), dtype=bool)
    return np.asarray(array == unlabelled)


def _warn_of_a_class(counts: Indices, n_missing: int, unlabelled: Label) -> None:
    """Warn where the mark of samples without a label has a share as if it were a class."""
    alike = 0.8 * counts.mean() <= n_missing <= 1.25 * counts.mean()
    if unlabelled == UNLABELLED and n_missing >= _ENOUGH and alike:
        warnings.warn(
            f"y: {n_missing} samples of label -1 are taken as samples without a label, yet their "
            f"share is like that of a class. If -1 is a class, set unlabelled=None.",
            UserWarning,
            stacklevel=2,
        )


def gather_rows(X: SampleRows | None, labels: Indices, weights: Array) -> Rows:
    """Merge equal samples of positive weight into rows; without X, each is its own row."""
    taking_part = np.flatnonzero(weights > 0)
    if not taking_part.size:
        raise ValueError("sample_weight: wanted a positive weight, got zero for every sample")
    if X is None:
        first, inverse = taking_part, np.arange(len(taking_part))
    else:
        # Sorted as they are, the rows are the same however the samples were repeated.
        index, inverse = X.kinds(taking_part, labels[taking_part])
        first = taking_part[index]
    row_of_sample = np.full(len(labels), LEFT_OUT, dtype=np.intp)
    row_of_sample[taking_part] = inverse
    gathered: Array = np.bincount(
        inverse, weights=weights[taking_part], minlength=len(first)
    ).astype(np.float64)
    return Rows(first, labels[first], gathered, row_of_sample)


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
        """Yield some samples block by block, and where among the chosen ones each block is."""
        size = rows_per_block(max(8 * self.X.shape[1], bytes_per_row))
        for first in range(0, len(chosen), size):
            place = slice(first, min(first + size, len(chosen)))
            yield place, self.take(chosen[place])

    def kinds(self, chosen: Indices, last: Indices | None = None) -> tuple[Indices, Indices]:
        """Tell equal samples, in the order of their numbers, as `numpy.unique` does of rows.

        Parameters
        ----------
        last
            A further column, which counts last.

        Returns
        -------
        first, kind
            The first sample of each kind, as a place in ``chosen``, and the kind of each sample.
        """
        rank = np.zeros(len(chosen), dtype=np.intp)
        tied = np.arange(len(chosen))
        for column in self._columns(chosen, last):
            if len(tied) < 2:
                break
            tied = _refine(rank, tied, column)
        _, first, kind = np.unique(rank, return_index=True, return_inverse=True)
        return first, kind.ravel()

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
    """Rank samples that are tied so far by one column more; returns those that still are.

    The rank of tied samples is the place where their group begins in the order of all.
    """
    tied = tied[np.lexsort((column[tied], rank[tied]))]
    ranks, values = rank[tied], column[tied]
    places = np.arange(len(tied))
    group = np.append(True, ranks[1:] != ranks[:-1])
    run = group | np.append(True, values[1:] != values[:-1])
    of_group = np.maximum.accumulate(np.where(group, places, 0))
    of_run = np.maximum.accumulate(np.where(run, places, 0))
    rank[tied] = ranks + of_run - of_group
    alone = run & np.append(run[1:], True)
    return np.asarray(tied[~alone])


@dataclass(frozen=True, slots=True, eq=False)
class ScaledRows:
    """Some samples, scaled when they are read."""

    samples: SampleRows
    chosen: Indices
    scaling: Scaling

    def __len__(self) -> int:
        return len(self.chosen)

    def take(self, rows: Indices) -> Array:
        """Return some rows."""
        return self.scaling.apply(self.samples.take(self.chosen[rows]))

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield all rows block by block, and where each block is."""
        for place, block in self.samples.blocks(self.chosen):
            yield place, self.scaling.apply(block)
