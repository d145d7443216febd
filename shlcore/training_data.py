"""A training set, checked and brought into the solver's form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import validate_data

from shlcore.codewords import spread_codewords
from shlcore.feature_space import feature_space
from shlcore.gram_space import GivenRows, GramSpace
from shlcore.kernels import kernel_bank
from shlcore.parameters import bytes_of
from shlcore.problem import UNLABELLED, Function, Problem
from shlcore.samples import Rows, encode_labels, gather_rows
from shlcore.scaling import learn_scaling, summarise
from shlcore.svm import Grams

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from shlcore.descent import Machine
    from shlcore.hash_functions import Hash

    Array = NDArray[np.float64]


class Space(Protocol[Function]):
    """What a solver works on: the training rows as its kernels see them."""

    @property
    def n_kernels(self) -> int:
        """How many kernels there are."""

    def machine(self, tol: float) -> Machine[Function]:
        """Return what solves block 1."""

    def clusters(
        self,
        rows: NDArray[np.intp],
        weights: Array,
        count: int,
        rng: np.random.Generator,
    ) -> NDArray[np.intp]:
        """Split some rows, of these weights, into clusters."""

    def hash_of(self, functions: Sequence[Function]) -> Hash:
        """Make learnt functions ready for further samples."""


@dataclass(frozen=True, slots=True, eq=False)
class TrainingData:
    """What a fit works on.

    Parameters
    ----------
    classes
        The labels' values.
    rows
        How samples were gathered into rows.
    problem
        Labels, weights and constants of the rows.
    space
        Where the solver finds the rows' kernels.
    """

    classes: NDArray[Any]
    rows: Rows
    problem: Problem
    space: Space[Any]


def gather(
    estimator: Any,  # noqa: ANN401 - SHL, which imports this module
    X: Any,  # noqa: ANN401 - anything array-like
    y: Any,  # noqa: ANN401 - anything array-like
    sample_weight: ArrayLike | None,
) -> TrainingData:
    """Check a training set and bring it into the form that the chosen solver wants.

    Sets ``estimator.solver_``. The exact solver gathers equal samples into weighted rows.
    """
    precomputed = isinstance(estimator.kernels, str) and estimator.kernels == "precomputed"
    samples = _grams(estimator, X) if precomputed else _samples(estimator, X)
    n_samples = samples.n_rows if isinstance(samples, Grams) else samples.shape[0]
    classes, labels = _labels(estimator, y, n_samples)
    weights = _weights(sample_weight, n_samples)
    if not estimator.transductive:
        weights = np.where(labels == UNLABELLED, 0.0, weights)
    large = estimator.solver_ == "random_features"
    alike = None if precomputed or large else np.asarray(samples)
    rows = gather_rows(alike, labels, weights)
    _check_every_class_has_rows(classes, rows, unsupervised=y is None)
    if large:
        rng = _rng(estimator.random_state)
        space: Space[Any] = feature_space(samples, rows, kernel_bank(estimator), estimator, rng)
    else:
        space = _gram_space(estimator, samples, rows)
    problem = Problem(
        labels=rows.labels,
        weights=rows.weights,
        n_classes=len(classes),
        n_codewords=int(estimator.n_codewords),
        n_bits=int(estimator.n_bits),
        lambda1=float(estimator.lambda1),
        lambda2=float(estimator.lambda2),
        p=float(estimator.p),
    )
    return TrainingData(classes, rows, problem, space)


def _grams(estimator: Any, X: Any) -> Grams:  # noqa: ANN401
    if estimator.solver == "random_features":
        raise ValueError(
            "solver: wanted 'exact' or 'auto' with precomputed kernels, got 'random_features'"
        )
    given = X if isinstance(X, Grams) else Grams(X)
    estimator.n_features_in_ = given.n_rows
    estimator.solver_ = "exact"
    return given


def _samples(estimator: Any, X: Any) -> Any:  # noqa: ANN401 - anything array-like
    """Check X, which is copied for the exact solver alone."""
    if estimator.solver != "exact" and getattr(X, "ndim", 0) == 2 and 0 not in X.shape:
        validate_data(estimator, X, skip_check_array=True)
        if _is_large(estimator, X):
            estimator.solver_ = "random_features"
            return lazy_rows(estimator, X)
    samples = np.asarray(validate_data(estimator, X, dtype=np.float64))
    large = _is_large(estimator, samples)
    estimator.solver_ = "random_features" if large else "exact"
    return samples


def _is_large(estimator: Any, samples: Any) -> bool:  # noqa: ANN401
    """Whether to use random features: as asked, or if kernel matrices need too much memory."""
    if estimator.solver != "auto":
        return bool(estimator.solver == "random_features")
    needed = 8.0 * len(kernel_bank(estimator)) * samples.shape[0] ** 2
    return needed > bytes_of(estimator.memory) or hasattr(samples, "dask")


def lazy_rows(estimator: Any, X: Any) -> Any:  # noqa: ANN401 - anything array-like
    """Check the columns of X; an array, memory map or Dask array is neither read nor copied."""
    if isinstance(X, np.ndarray) or hasattr(X, "dask"):
        validate_data(estimator, X, skip_check_array=True, reset=False)
        return X
    return validate_data(estimator, X, dtype=np.float64, reset=False)


def _gram_space(estimator: Any, samples: Any, rows: Rows) -> GramSpace:  # noqa: ANN401
    if isinstance(samples, Grams):
        return GramSpace(samples.among(rows.first), (rows.first, samples.n_rows))
    chosen = samples[rows.first]
    scaling = learn_scaling(estimator.scale, summarise(chosen, rows.weights))
    scaled = scaling.apply(chosen)
    bank = kernel_bank(estimator)
    grams = Grams.of(bank.each(scaled, scaled), len(bank), len(scaled))
    return GramSpace(grams, GivenRows(bank, scaling, scaled))


def _rng(random_state: Any) -> np.random.Generator:  # noqa: ANN401 - what scikit-learn takes
    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))


def start(
    data: TrainingData,
    random_state: Any,  # noqa: ANN401 - what scikit-learn takes as a seed
) -> tuple[NDArray[np.int8], NDArray[np.intp]]:
    """Return spread codewords, and the codeword of each row (UNLABELLED: not yet known).

    With labels, unlabelled rows wait. Where labels say too little (no labels at all, or
    several codewords a class), clusters in the kernels' space decide.
    """
    problem = data.problem
    rng = _rng(random_state)
    codewords = spread_codewords(problem.n_classes, problem.n_codewords, problem.n_bits, rng)
    labels, s = problem.labels, problem.n_codewords
    labelled = labels != UNLABELLED
    if not labelled.any():
        members = _clusters(data, np.arange(len(labels)), problem.n_classes * s, rng)
        return codewords, members
    members = np.where(labelled, labels * s, UNLABELLED)
    if s > 1:
        for c in range(problem.n_classes):
            own = np.flatnonzero(labels == c)
            members[own] += _clusters(data, own, s, rng)
    return codewords, members


def _labels(
    estimator: Any,  # noqa: ANN401 - SHL, which imports this module
    y: Any,  # noqa: ANN401 - anything array-like
    n_samples: int,
) -> tuple[NDArray[Any], NDArray[np.intp]]:
    wanted = estimator.n_classes
    if y is None:
        if wanted is None:
            raise ValueError(
                "y: SHL requires y to be passed, but the target y is None; "
                "to learn without labels, set n_classes"
            )
        return np.arange(wanted), np.full(n_samples, UNLABELLED, dtype=np.intp)
    classes, labels = encode_labels(y, n_samples)
    if wanted is not None and wanted != len(classes):
        raise ValueError(
            f"n_classes: wanted labelled samples of {wanted} classes, got {len(classes)}: "
            f"{list(classes)}"
        )
    return classes, labels


def _weights(sample_weight: ArrayLike | None, n_samples: int) -> Array:
    if sample_weight is None:
        return np.ones(n_samples)
    weights: Array = check_array(
        sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight"
    )
    if weights.ndim == 0:
        weights = np.full(n_samples, float(weights))
    if weights.shape != (n_samples,):
        raise ValueError(
            f"sample_weight: wanted {n_samples} numbers, one for each sample, "
            f"got shape {weights.shape}"
        )
    if weights.min() < 0:
        raise ValueError(f"sample_weight: wanted no negative weight, got {weights.min()!r}")
    return weights


def _check_every_class_has_rows(classes: NDArray[Any], rows: Rows, *, unsupervised: bool) -> None:
    if unsupervised:
        if len(rows.labels) < len(classes):
            raise ValueError(
                f"n_classes: wanted at least {len(classes)} different samples, "
                f"got {len(rows.labels)}"
            )
        return
    missing = np.setdiff1d(np.arange(len(classes)), rows.labels)
    if missing.size:
        raise ValueError(
            f"sample_weight: wanted a labelled sample of positive weight of every class, "
            f"got none of class {classes[missing[0]]}"
        )


def _clusters(
    data: TrainingData, rows: NDArray[np.intp], count: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    return data.space.clusters(rows, data.problem.weights[rows], count, rng)
