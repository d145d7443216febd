"""What ADMM does where a block of rows is; functions that can be sent to another process."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import blas

from shlcore.hinge import hinge

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shlcore.array_types import Array, Features, Sums

_RELAXATION = np.float32(1.7)
"""Over-relaxation: ADMM converges for factors below 2, and 1.5 to 1.8 is the usual advice
(Boyd et al. 2011, sect. 3.4.3). On 1500 rows of usps and of pendigits 1.7 takes 19 and 35
sweeps, 1.4 takes 15 and 19, 1.0 takes 18 and 33; eq. (6) is the same."""

_TINY = np.float32(1e-12)
"""Stands for a slack of 0, where the rounded hinge becomes the hinge."""


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """What a sweep brings to the blocks.

    Parameters
    ----------
    weights, intercepts
        ``D x B`` and ``(B,)``, the present functions.
    delta
        ``(B,)``, weight of the slack.
    rho, factors
        ``(B,)``, the penalty, and by how much it has just grown.
    """

    weights: Features
    intercepts: Features
    delta: Features
    rho: Features
    factors: Features


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """What a block remembers: targets (``r x B``), costs (``r x 1``), and ADMM's ``x + u``."""

    targets: NDArray[np.int8]
    costs: Features
    q: Features


def products(features: Features, taking_part: NDArray[np.bool_]) -> Sums:
    """Return ``Z' Z`` (one triangle, for half the work) and ``Z' 1`` of some rows."""
    rows = features if taking_part.all() else features[taking_part]
    return blas.ssyrk(1.0, rows.T), rows.sum(axis=0, dtype=np.float64)


def begin(
    features: Features, piece: tuple[NDArray[np.int8], Features], query: Query
) -> tuple[State, Sums]:
    """Enter ADMM at given functions, with the multipliers that suit them."""
    targets, costs = piece
    z = features @ query.weights + query.intercepts
    slope, _ = _loss(targets, costs, query.delta, z)
    state = State(targets, costs, z - targets * slope / query.rho)
    return state, _reply(features, state, query)


def relax(features: Features, state: State, query: Query) -> tuple[State, Sums]:
    """Make one step, given the functions that the ridge regression has returned."""
    z = features @ query.weights + query.intercepts
    x = _prox(state, query)
    moved = replace(state, q=state.q + _RELAXATION * (z - x))
    there = _prox(moved, query)
    part = state.costs > 0
    sizes = (_squares(np.where(part, v, 0)) for v in (z - x, z, there - x, moved.q - there))
    value = _loss(state.targets, state.costs, query.delta, z)[1]
    return moved, (*_reply(features, moved, query), value, *sizes)


def rescale(features: Features, state: State, query: Query) -> tuple[State, Sums]:
    """Keep x and the multipliers when the penalty changes."""
    x = _prox(state, replace(query, rho=query.rho / query.factors))
    moved = replace(state, q=x + (state.q - x) / query.factors)
    return moved, _reply(features, moved, query)


def answer(features: Features, state: State, query: Query) -> tuple[Features, Array]:
    """Return f at the rows, slack included, and the sum of squares of the multipliers."""
    z = features @ query.weights + query.intercepts
    slope, _ = _loss(state.targets, state.costs, query.delta, z)
    return z + state.targets * (query.delta * slope), _squares(slope)


def _reply(features: Features, state: State, query: Query) -> Sums:
    """Return ``Z' r`` and ``1' r`` of the rows that take part, where r = 2 x - q."""
    r = np.where(state.costs > 0, 2 * _prox(state, query) - state.q, np.float32(0))
    return features.T @ r, r.sum(axis=0, dtype=np.float64)


def _loss(
    targets: NDArray[np.int8], costs: Features, delta: Features, z: Features
) -> tuple[Features, Array]:
    """Return ``-y phi'(z)`` of each row and ``sum_n phi_n(z_n)``."""
    short = hinge(targets * z)
    slope = np.minimum(short / np.maximum(delta, _TINY), costs)
    value = (slope * (short - np.float32(0.5) * delta * slope)).sum(axis=0, dtype=np.float64)
    return slope, value


def _prox(state: State, query: Query) -> Features:
    """Minimise ``phi(o) + rho/2 (o - q)^2`` for each row and bit."""
    short = hinge(state.targets * state.q)
    both = query.rho * query.delta
    left = np.maximum(short * (both / (1 + both)), short - state.costs / query.rho)
    moved: Features = state.q + state.targets * (short - left)
    return moved


def _squares(values: Features) -> Array:
    return np.asarray(np.square(values).sum(axis=0, dtype=np.float64))
