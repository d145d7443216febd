"""What ADMM does where a block of rows is; functions that can be sent to another process."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import blas

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shlcore.random_features import Layout

    Array = NDArray[np.float64]
    Features = NDArray[np.float32]
    Sums = tuple[NDArray[Any], ...]

_RELAXATION = np.float32(1.7)
_TINY = np.float32(1e-12)


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """What a sweep brings to the blocks.

    Parameters
    ----------
    weights, intercepts
        ``D x B`` and ``(B,)``, the present functions.
    rho, factors
        ``(B,)``, the penalty, and by how much it has just grown.
    """

    weights: Features
    intercepts: Features
    rho: Features
    factors: Features


@dataclass(frozen=True, slots=True, eq=False)
class Lesson:
    """What a block is to learn.

    Parameters
    ----------
    targets, costs
        ``r x B`` and ``r x 1``.
    kernel_weights
        ``B x M``.
    """

    targets: NDArray[np.int8]
    costs: Features
    kernel_weights: Features


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """What a block remembers.

    Parameters
    ----------
    lesson
        What it was given.
    delta
        ``r x B``, the residuals' weight.
    q
        ``r x B``, ADMM's x + u.
    """

    lesson: Lesson
    delta: Features
    q: Features


def products(features: Features, piece: tuple[NDArray[np.bool_], Layout]) -> Sums:
    """Return ``Z' Z`` (one triangle, for half the work), ``Z' 1`` and the residuals' sums."""
    taking_part, layout = piece
    rows = features if taking_part.all() else features[taking_part]
    residuals = layout.residuals(rows).sum(axis=0, dtype=np.float64)
    return blas.ssyrk(1.0, rows.T), rows.sum(axis=0, dtype=np.float64), residuals


def begin(features: Features, lesson: Lesson, shared: tuple[Query, Layout]) -> tuple[State, Sums]:
    """Enter ADMM at given functions, with the multipliers that suit them."""
    query, layout = shared
    delta = layout.residuals(features) @ lesson.kernel_weights.T
    z = features @ query.weights + query.intercepts
    slope, _ = _loss(lesson, delta, z)
    state = State(lesson, delta, z - lesson.targets * slope / query.rho)
    return state, _reply(features, state, query)


def relax(features: Features, state: State, query: Query) -> tuple[State, Sums]:
    """Make one step, given the functions that the ridge regression has returned."""
    z = features @ query.weights + query.intercepts
    x = _prox(state, query.rho)
    moved = replace(state, q=state.q + _RELAXATION * (z - x))
    there = _prox(moved, query.rho)
    part = state.lesson.costs > 0
    sizes = (_squares(np.where(part, v, 0)) for v in (z - x, z, there - x, moved.q - there))
    value = _loss(state.lesson, state.delta, z)[1]
    return moved, (*_reply(features, moved, query), value, *sizes)


def rescale(features: Features, state: State, query: Query) -> tuple[State, Sums]:
    """Keep x and the multipliers when the penalty changes."""
    x = _prox(state, query.rho / query.factors)
    moved = replace(state, q=x + (state.q - x) / query.factors)
    return moved, _reply(features, moved, query)


def answer(
    features: Features, state: State, shared: tuple[Query, Layout]
) -> tuple[Features, Array]:
    """Return f at the rows, slack included, and the slacks' ``a' diag(residual_m) a``."""
    query, layout = shared
    z = features @ query.weights + query.intercepts
    slope, _ = _loss(state.lesson, state.delta, z)
    forms = np.square(slope).T.astype(np.float64) @ layout.residuals(features)
    return z + state.lesson.targets * (state.delta * slope), forms


def _reply(features: Features, state: State, query: Query) -> Sums:
    """Return ``Z' r`` and ``1' r`` of the rows that take part, where r = 2 x - q."""
    r = np.where(state.lesson.costs > 0, 2 * _prox(state, query.rho) - state.q, np.float32(0))
    return features.T @ r, r.sum(axis=0, dtype=np.float64)


def _loss(lesson: Lesson, delta: Features, z: Features) -> tuple[Features, Array]:
    """Return ``-y phi'(z)`` of each row and ``sum_n phi_n(z_n)``."""
    short = np.maximum(1 - lesson.targets * z, np.float32(0))
    slope = np.minimum(short / np.maximum(delta, _TINY), lesson.costs)
    value = (slope * (short - np.float32(0.5) * delta * slope)).sum(axis=0, dtype=np.float64)
    return slope, value


def _prox(state: State, rho: Features) -> Features:
    """Minimise ``phi(o) + rho/2 (o - q)^2`` for each row and bit."""
    lesson = state.lesson
    short = np.maximum(1 - lesson.targets * state.q, np.float32(0))
    both = rho * state.delta
    left = np.maximum(short * (both / (1 + both)), short - lesson.costs / rho)
    moved: Features = state.q + lesson.targets * (short - left)
    return moved


def _squares(values: Features) -> Array:
    return np.asarray(np.square(values).sum(axis=0, dtype=np.float64))
