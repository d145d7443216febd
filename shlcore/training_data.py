"""A training set, checked and brought into the solver's form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import validate_data

from shlcore.clustering import kernel_clusters
from shlcore.codewords import spread_codewords
from shlcore.kernels import KernelBank, paper_kernels
from shlcore.mkl import uniform_weights
from shlcore.problem import UNLABELLED, Problem
from shlcore.samples import Rows, encode_labels, gather_rows
from shlcore.scaling import Scaling, learn_scaling
from shlcore.svm import Grams

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]


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
    X
        Scaled features of the rows; None with precomputed kernels.
    scaling, bank
        How X was scaled, and the kernels; None with precomputed kernels.
    grams
        Kernel matrices of the rows.
    """

    classes: NDArray[Any]
    rows: Rows
    problem: Problem
    X: Array | None
    scaling: Scaling | None
    bank: KernelBank | None
    grams: Grams


def gather(
    estimator: Any,  # noqa: ANN401 - SHL, which imports this module
    X: Any,  # noqa: ANN401 - anything array-like
    y: Any,  # noqa: ANN401 - anything array-like
    sample_weight: ArrayLike | None,
) -> TrainingData:
    """Check a training set and gather equal samples into weighted rows."""
    given: Grams | None = None
    features = np.empty((0, 0))
    if isinstance(estimator.kernels, str) and estimator.kernels == "precomputed":
        given = X if isinstance(X, Grams) else Grams(X)
        n_samples = estimator.n_features_in_ = given.n_rows
    else:
        features = np.asarray(validate_data(estimator, X, dtype=np.float64))
        n_samples = len(features)
    classes, labels = _labels(estimator, y, n_samples)
    weights = _weights(sample_weight, n_samples)
    if not estimator.transductive:
        weights = np.where(labels == UNLABELLED, 0.0, weights)
    rows = gather_rows(None if given is not None else features, labels, weights)
    _check_every_class_has_rows(classes, rows, unsupervised=y is None)
    scaling, bank, scaled = None, None, None
    if given is not None:
        grams = given.among(rows.first)
    else:
        chosen = features[rows.first]
        scaling = learn_scaling(estimator.scale, chosen, rows.weights)
        scaled = scaling.apply(chosen)
        bank = kernel_bank(estimator)
        grams = Grams.of(bank.each(scaled, scaled), len(bank), len(scaled))
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
    return TrainingData(classes, rows, problem, scaled, scaling, bank, grams)


def start(
    data: TrainingData,
    random_state: Any,  # noqa: ANN401 - what scikit-learn takes as a seed
) -> tuple[NDArray[np.int8], NDArray[np.intp]]:
    """Return spread codewords, and the codeword of each row (UNLABELLED: not yet known).

    With labels, unlabelled rows wait. Where labels say too little (no labels at all, or
    several codewords a class), clusters in the kernels' space decide.
    """
    problem = data.problem
    seed = check_random_state(random_state).randint(2**31 - 1)
    rng = np.random.default_rng(seed)
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


def kernel_bank(estimator: Any) -> KernelBank:  # noqa: ANN401 - SHL, which imports this module
    """Return the estimator's kernels for the columns it has seen."""
    paper = isinstance(estimator.kernels, str)
    return KernelBank(
        paper_kernels() if paper else estimator.kernels,
        estimator.n_features_in_,
        estimator.column_groups,
        getattr(estimator, "feature_names_in_", None),
    )


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
    theta = uniform_weights(len(data.grams), data.problem.p)
    gram = data.grams.weighted_sum(theta, rows)
    return kernel_clusters(gram, data.problem.weights[rows], count, rng)
