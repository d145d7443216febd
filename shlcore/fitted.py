"""Everything that a fitted SHL knows, as one immutable record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shlcore.feature_hash import FeatureHash
from shlcore.kernel_hash import RowHash, StackHash

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shlcore.array_types import AnyArray, Array, Indices
    from shlcore.kernels import Kernel
    from shlcore.samples import SeenColumns

Hash = RowHash | StackHash | FeatureHash
"""All B hash functions: over rows, over given kernel matrices, or over explicit features."""


@dataclass(frozen=True, slots=True, eq=False)
class Stages:
    """How a fit was divided: the unlabelled rows' weight in each stage, its first step, its cost.

    The cost is lambda1, or what was taken instead; files written before there was a choice
    do not say it.
    """

    weights: tuple[float, ...]
    starts: tuple[int, ...]
    costs: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fitted:
    """What a fit has learnt: at its end, or at any of its steps.

    Parameters
    ----------
    classes
        ``(C,)``, values of the labels.
    codewords
        ``(C, S, B)``, -1 or +1.
    n_codewords
        ``(C,)``, distinct codewords of each class.
    kernel_weights, squared_norms
        ``(B, M)``, theta and ``||w_bm||^2``.
    objective
        Eq. (6) at the start of each stage and after every block.
    stages
        Where each stage begins in it.
    transduction
        ``(n,)``, label of each training sample.
    n_iter
        Passes made.
    solver
        "exact" or "random_features".
    columns
        What X looked like.
    hash
        The hash functions, ready for further samples.
    temperature
        What scores are divided by before they become probabilities; None: not learnt.
    """

    classes: AnyArray
    codewords: NDArray[np.int8]
    n_codewords: Indices
    kernel_weights: Array
    squared_norms: Array
    objective: Array
    stages: Stages
    transduction: AnyArray
    n_iter: int
    solver: str
    columns: SeenColumns
    hash: Hash
    temperature: float | None = None

    def __post_init__(self) -> None:
        n_classes, _, n_bits = self.codewords.shape
        check_shape(self.classes, n_classes)
        check_shape(self.kernel_weights, n_bits, self.hash.n_kernels)
        check_shape(self.hash.intercepts, n_bits)
        if self.temperature is not None and not 0.0 < self.temperature < np.inf:
            raise ValueError(f"temperature: wanted one above 0, got {self.temperature!r}")

    @property
    def kernels(self) -> tuple[Kernel, ...] | None:
        """The kernels that were chosen; None if their matrices were given."""
        if isinstance(self.hash, RowHash):
            return self.hash.bank.kernels
        return None if isinstance(self.hash, StackHash) else self.hash.map.bank.kernels

    def attributes(self) -> dict[str, object]:
        """Return the record under the names that scikit-learn gives to what was learnt."""
        named: dict[str, object] = {
            "classes_": self.classes,
            "codewords_": self.codewords,
            "n_codewords_": self.n_codewords,
            "kernel_weights_": self.kernel_weights,
            "objective_": self.objective,
            "stage_starts_": np.array(self.stages.starts, dtype=np.intp),
            "stage_weights_": np.array(self.stages.weights),
            "stage_costs_": np.array(self.stages.costs),
            "transduction_": self.transduction,
            "n_iter_": self.n_iter,
            "solver_": self.solver,
            "n_features_in_": self.columns.count,
        }
        if self.temperature is not None:
            named["temperature_"] = self.temperature
        if self.kernels is not None:
            named["kernels_"] = list(self.kernels)
        if self.columns.names is not None:
            named["feature_names_in_"] = np.array(self.columns.names, dtype=object)
        return named


def check_shape(array: AnyArray, *shape: int) -> None:
    """Raise a ValueError unless an array has a shape."""
    if array.shape != shape:
        raise ValueError(f"shape: wanted {shape}, got {array.shape}")
