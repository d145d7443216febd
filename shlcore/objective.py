"""The objective, eq. (6), summed over the bits.

``lambda1 sum_n w_n d(f(x_n), mu_gamma(n)) + 1/2 sum_bm ||w_bm||^2 / theta_bm
+ lambda2 sum_c sum_{i<j} ||mu_ci - mu_cj||``, with gamma at its best (eq. 5). The paper
prints the last term in each bit's problem; it belongs to the whole vectors, so it counts
once. The paper's eq. (3_4) drops lambda1, which would let a codeword step raise eq. (6).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from shlcore.hinge import hinge_distances, nearest_codewords
from shlcore.mkl import regularisers

if TYPE_CHECKING:
    from shlcore.array_types import AnyArray, Array, Indices
    from shlcore.problem import Function, Model, Problem


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """The value of eq. (6) at a model, with memberships and distances.

    Parameters
    ----------
    value
        Eq. (6).
    members
        ``(n,)``, gamma as flat codeword indices.
    distances
        ``(n, C, S)``, hinge distances.
    """

    value: float
    members: Indices
    distances: Array


def evaluate(problem: Problem, model: Model[Function]) -> Evaluation:
    """Return eq. (6) at a model."""
    distances = hinge_distances(model.projections, model.codewords)
    members, nearest = nearest_codewords(distances, problem.labels)
    loss = problem.lambda1 * float(problem.weights @ nearest)
    norms = float(regularisers(model.squared_norms, model.kernel_weights).sum())
    value = loss + norms + problem.lambda2 * codeword_spread(model.codewords)
    return Evaluation(value, members, distances)


def codeword_spread(codewords: AnyArray) -> float:
    """Return the sum of Euclidean distances between the codewords of each class."""
    pairs = list(combinations(range(codewords.shape[1]), 2))
    if not pairs:
        return 0.0
    i, j = np.array(pairs).T
    gaps = codewords[:, i].astype(float) - codewords[:, j]
    return float(np.linalg.norm(gaps, axis=-1).sum())
