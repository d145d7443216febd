"""From checked samples, labels and weights to the training data of a solver."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.class_weight import compute_class_weight

from shlcore.feature_hash import FeatureHash
from shlcore.feature_space import feature_space
from shlcore.gram_space import GivenRows, GramSpace
from shlcore.grams import Grams
from shlcore.kernel_hash import RowHash, StackHash
from shlcore.parameters import bytes_of
from shlcore.problem import UNLABELLED, Problem
from shlcore.sample_rows import SampleRows, ScaledRows
from shlcore.samples import Rows, encode_labels, gather_rows
from shlcore.scaling import learn_scaling, merge, summarise
from shlcore.training_data import TrainingData

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from shlcore.admm_solver import FeatureFunction
    from shlcore.array_types import AnyArray, Array, Floats, Indices, Table
    from shlcore.fitted import Hash
    from shlcore.kernel_solver import KernelFunction
    from shlcore.parameters import Parameters
    from shlcore.samples import SeenColumns

Solver = Literal["exact", "random_features"]
"""Which of the two it is, once "auto" is settled."""


def chosen_solver(
    parameters: Parameters, columns: SeenColumns, n_samples: int, *, dask: bool
) -> Solver:
    """Settle the solver: as asked, or random features if kernel matrices need too much memory.

    The samples of a Dask array are never brought together, so it wants random features, too.
    """
    if parameters.solver != "auto":
        return parameters.solver
    needed = 8.0 * len(parameters.bank(columns)) * n_samples**2
    large = needed > bytes_of(parameters.memory) or dask
    return "random_features" if large else "exact"


def gather(
    samples: Grams | SampleRows | Table,
    columns: SeenColumns,
    targets: tuple[ArrayLike | None, ArrayLike | None],
    parameters: Parameters,
    solver: Solver,
    rng: np.random.Generator,
) -> TrainingData[KernelFunction] | TrainingData[FeatureFunction]:
    """Check labels and weights, and bring all into the form that the chosen solver wants.

    The exact solver gathers equal samples into weighted rows.

    Parameters
    ----------
    samples
        Checked already; ``Grams`` if the kernels were precomputed, `SampleRows` for the exact
        solver.
    targets
        ``y`` and ``sample_weight`` as the user gave them.
    rng
        Draws features.
    """
    y, sample_weight = targets
    n_samples = _count(samples)
    classes, labels = _labels(y, n_samples, parameters)
    weights = _weights(sample_weight, n_samples)
    known = labels != UNLABELLED
    if parameters.class_weight is not None and known.any():
        factors = compute_class_weight(
            parameters.class_weight, classes=classes, y=classes[labels[known]]
        )
        weights[known] *= factors[labels[known]]
    # Columns are brought to one scale, and kernels chosen, by the same samples in both modes.
    seen = np.flatnonzero(weights > 0)
    if not parameters.transductive:
        weights = np.where(labels == UNLABELLED, 0.0, weights)
    rows = gather_rows(samples if isinstance(samples, SampleRows) else None, labels, weights)
    _check_every_class_has_rows(classes, rows, unsupervised=y is None)
    problem = Problem(
        labels=rows.labels,
        weights=rows.weights,
        n_classes=len(classes),
        n_codewords=int(parameters.n_codewords),
        n_bits=parameters.bits_for(len(classes)),
        lambda1=float(parameters.lambda1),
        lambda2=float(parameters.lambda2),
        p=float(parameters.p),
    )
    project = partial(_project_samples, samples)
    if isinstance(samples, Grams):
        space = GramSpace(samples.among(rows.first), (rows.first, samples.n_rows))
    elif isinstance(samples, SampleRows):
        every = samples, _weights(sample_weight, n_samples)
        space = _gram_space(every, columns, rows, parameters)
    else:
        features = feature_space(samples, rows, (columns, seen), parameters, rng)
        return TrainingData(classes, rows, problem, features, solver, columns, project)
    return TrainingData(classes, rows, problem, space, solver, columns, project)


def _gram_space(
    every: tuple[SampleRows, Array], columns: SeenColumns, rows: Rows, parameters: Parameters
) -> GramSpace:
    """Compute the kernels of the rows; ``every`` is all samples and their weights."""
    samples, weights = every
    seen = np.flatnonzero(weights > 0)
    parts = [summarise(block, weights[seen[place]]) for place, block in samples.blocks(seen)]
    scaling = learn_scaling(parameters.scale, merge(parts))
    bank = parameters.bank(columns, ScaledRows(samples, seen, scaling))
    scaled = ScaledRows(samples, rows.first, scaling)
    return GramSpace(Grams(bank.matrices(scaled)), GivenRows(bank, scaled))


def _count(samples: Grams | SampleRows | Table) -> int:
    if isinstance(samples, Grams):
        return samples.n_rows
    return len(samples) if isinstance(samples, SampleRows) else int(samples.shape[0])


def _project_samples(samples: Grams | SampleRows | Table, hash_: Hash, chosen: Indices) -> Floats:
    """Return f at some of the samples, by hash functions that were learnt on these samples."""
    if isinstance(samples, Grams):
        if isinstance(hash_, StackHash):
            return hash_.project(samples.matrices_of(chosen))
    elif isinstance(samples, SampleRows):
        if isinstance(hash_, RowHash):
            return hash_.project(samples, chosen)
    elif isinstance(hash_, FeatureHash):
        return hash_.project(samples[chosen])
    raise TypeError(f"samples: wanted those of {type(hash_).__name__}, got other ones")


def _labels(
    y: ArrayLike | None, n_samples: int, parameters: Parameters
) -> tuple[AnyArray, Indices]:
    n_classes = parameters.n_classes
    if y is None:
        if n_classes is None:
            raise ValueError(
                "y: SHL requires y to be passed, but the target y is None; "
                "to learn without labels, set n_classes"
            )
        return np.arange(n_classes), np.full(n_samples, UNLABELLED, dtype=np.intp)
    classes, labels = encode_labels(y, n_samples, parameters.unlabelled)
    if n_classes is not None and n_classes != len(classes):
        raise ValueError(
            f"n_classes: wanted labelled samples of {n_classes} classes, got {len(classes)}: "
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


def _check_every_class_has_rows(classes: AnyArray, rows: Rows, *, unsupervised: bool) -> None:
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
