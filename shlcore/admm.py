"""The solver for large data: random features, and ADMM for the SVMs of all bits at once.

With ``o = Z w + beta`` at the rows, eq. (7) becomes ``sum_n phi_n(o_n) + 1/2 sum_m
||w_m||^2 / theta_m``. ADMM (in its Douglas-Rachford form) alternates between the rows'
losses, each by itself, and ridge regression, for which all bits share one matrix
``G = Z' Z``. What a block of rows remembers stays where the block is; per sweep it receives w
and returns ``Z' r``, both ``D x B``, however many rows it has.

What the features lack of a row's ``k_m(x, x)`` (`shlcore.random_features`), in sum delta, gives
each row a slack: ``f = o + s`` at the cost ``s^2 / (2 delta)``. With s at its best, phi is the
hinge, rounded by a parabola of width ``c delta``.


@@@
What ADMM does where a block of rows is; functions that can be sent to another process.

@@@
Ridge regression for all bits at once: the half of ADMM that all rows share.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import blas, cho_factor, cho_solve

from shlcore.descent import BitSolution, BitTask
from shlcore.hinge import hinge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shlcore.array_types import Array, Features, Floats, Sums
    from shlcore.random_features import FeatureMap
    from shlcore.row_blocks import Blocks


LOG = logging.getLogger(__name__)
"""Tells the residuals after every sweep (level INFO)."""

# "Tried" below: 1500 rows of usps and of pendigits, the paper's kernels, 600 features, 5 bits.
# There the constants change how many sweeps a solution takes, and neither eq. (6) nor any
# prediction.

SWEEPS = 60
"""At the most. Tried: 19 and 35 sweeps reach the tolerance from nothing, 7 and 18 go on from
the last pass. What ends here is the best that was met, and the descent takes it only if eq.
(6) falls."""

_FIRST_PENALTY = 0.3
_LEAST_SLACK = 0.05
"""ADMM's penalty rho begins at the one over the slack delta, which is the scale on which the
loss bends: the sweeps are then alike whether features lack much or little. Where they lack
almost nothing, 1 / delta would be without bound, hence the other. Tried for the first, sweeps
of the start and one pass: 26 on usps and 53 on pendigits with 0.3, 40 and 52 with 0.03, 32 and
45 with 0.1, 30 and 56 with 1.0, 43 and 79 with 3.0; for the second, 0.005 and 0.5 made no
difference, as the paper's narrow kernels keep delta above both."""

_BALANCE_EVERY = 8
_BALANCE_UNTIL = 25
_UNLIKE = 2.5
_LARGEST_CHANGE = 5.0
"""Residual balancing (Boyd et al. 2011, sect. 3.4.1): every 8th sweep, rho moves by at most 5
times where one residual is more than 2.5^2 times the other. A new rho costs a matrix inverse,
so it is rare, and it ends after 25 sweeps, because ADMM converges for a rho that stays. Where
these four numbers come from is not recorded. Tried: every 3rd sweep or never made no
difference; 1.2 instead of 2.5 saved 12 of 35 sweeps on pendigits."""

_TINY = np.float32(1e-12)
"""Keeps a division by a residual, a slack or a direction of 0 from failing."""


@dataclass(frozen=True, slots=True, eq=False)
class FeatureFunction:
    """``f(x) = <weights, z(x)> + intercept``."""

    weights: Features
    intercept: float


class FeatureMachine:
    """Solves block 1 on features, all SVMs together.

    Parameters
    ----------
    blocks
        The training rows' features.
    map_
        What the columns are.
    tol
        Relative residuals at which a solution is good enough.
    """

    at_once = 2**30  # all of them: they share each pass over the rows
    foresight = 0
    precision: type[np.floating] = np.float32

    def __init__(self, blocks: Blocks[Features], map_: FeatureMap, tol: float) -> None:
        self.n_kernels = len(map_.bank)
        self.residuals: list[tuple[float, float]] = []
        """Primal and dual residual of the worst bit after each sweep of the last solve."""
        self._blocks = blocks
        self._widths = map_.widths
        self._lacks = map_.lacks
        self._tol = tol
        self._gram: tuple[NDArray[np.bool_], Gram] | None = None

    def foresee(self, tasks: Sequence[BitTask[FeatureFunction]]) -> None:
        """Do nothing: all bits are solved at once anyway."""

    def empty(self) -> FeatureFunction:
        """Return the function that is 0 everywhere."""
        return FeatureFunction(np.zeros(sum(self._widths), dtype=np.float32), 0.0)

    def scaled(self, function: FeatureFunction, factor: float) -> FeatureFunction:
        """Return ``factor * f``."""
        return FeatureFunction(np.float32(factor) * function.weights, factor * function.intercept)

    def solve(
        self, tasks: Sequence[BitTask[FeatureFunction]]
    ) -> list[BitSolution[FeatureFunction]]:
        """Solve independent SVMs over the same rows and costs."""
        taking_part = tasks[0].costs > 0
        mixed = [i for i, task in enumerate(tasks) if _has_both(task.targets[taking_part])]
        solutions = [self._constant(task, taking_part) for task in tasks]
        if mixed:
            solved = self._solve([tasks[i] for i in mixed], taking_part)
            for i, solution in zip(mixed, solved, strict=True):
                solutions[i] = solution
        return solutions

    def _constant(
        self, task: BitTask[FeatureFunction], taking_part: NDArray[np.bool_]
    ) -> BitSolution[FeatureFunction]:
        """Answer a bit on which all targets agree."""
        sign = float(task.targets[taking_part][0])
        function = FeatureFunction(self.empty().weights, sign)
        projections = np.full(len(task.targets), sign, dtype=np.float32)
        return BitSolution(function, projections, np.zeros(self.n_kernels))

    def _solve(
        self, tasks: Sequence[BitTask[FeatureFunction]], taking_part: NDArray[np.bool_]
    ) -> list[BitSolution[FeatureFunction]]:
        theta = np.stack([task.kernel_weights for task in tasks])
        gram = self._gram_of(taking_part)
        weights, intercepts = self._descend(tasks, theta, gram)
        ones = np.ones(len(tasks))
        query = _query(weights, intercepts, theta @ self._lacks, ones, ones)
        answers = self._blocks.finish(answer, query)
        projections = np.concatenate([found[0] for found in answers])
        squares = np.sum([found[1] for found in answers], axis=0)
        norms = theta**2 * self._lacks * squares[:, None]
        ends = np.cumsum(self._widths)
        for m, (end, width) in enumerate(zip(ends, self._widths, strict=True)):
            norms[:, m] += (weights[end - width : end] ** 2).sum(axis=0)
        return [
            BitSolution(
                FeatureFunction(weights[:, i].astype(np.float32), float(intercepts[i])),
                projections[:, i],
                norms[i],
            )
            for i in range(len(tasks))
        ]

    def _pieces(
        self, tasks: Sequence[BitTask[FeatureFunction]]
    ) -> list[tuple[NDArray[np.int8], Features]]:
        """Split targets and costs as the rows are split."""
        pieces, first = [], 0
        costs = tasks[0].costs.astype(np.float32)
        for size in self._blocks.sizes:
            rows = slice(first, first + size)
            targets = np.stack([task.targets[rows] for task in tasks], axis=1)
            pieces.append((targets, costs[rows, None]))
            first += size
        return pieces

    def _gram_of(self, taking_part: NDArray[np.bool_]) -> Gram:
        """Make the Gram matrix of some rows' features; the last one is kept."""
        if self._gram is None or not np.array_equal(self._gram[0], taking_part):
            ends = np.cumsum(self._blocks.sizes)[:-1]
            triangle, sums = self._blocks.add_up(products, np.split(taking_part, ends))
            total = triangle
            total += np.triu(triangle, 1).T
            count = int(np.count_nonzero(taking_part))
            mean = sums / count
            total -= count * np.outer(mean, mean)
            self._gram = (taking_part, Gram(total, mean, count))
        return self._gram[1]

    def _descend(
        self,
        tasks: Sequence[BitTask[FeatureFunction]],
        theta: Array,
        gram: Gram,
    ) -> tuple[Array, Array]:
        """Run ADMM; returns the best weights (``D x B``) and intercepts that it met."""
        weights = np.stack([t.present.function.weights for t in tasks], axis=1).astype(float)
        intercepts = np.array([t.present.function.intercept for t in tasks])
        columns = np.repeat(theta, self._widths, axis=1).T
        delta = theta @ self._lacks
        rho = _FIRST_PENALTY / np.maximum(delta, _LEAST_SLACK)
        ridge = Ridge(gram, columns, rho)
        steady = np.ones(len(tasks))
        query = _query(weights, intercepts, delta, rho, steady)
        sums = self._blocks.start(begin, self._pieces(tasks), query)
        self.residuals = []
        best = Best(weights, intercepts)
        for sweep in range(1, SWEEPS + 1):
            weights, intercepts = ridge.solve(sums[0], sums[1], weights)
            query = _query(weights, intercepts, delta, rho, steady)
            sums = self._blocks.advance(relax, query)
            best.see(sums[2] + ridge.penalty(weights), weights, intercepts)
            primal = np.sqrt(sums[3] / np.maximum(sums[4], _TINY))
            dual = np.sqrt(sums[5] / np.maximum(sums[6], _TINY))
            self.residuals.append((float(primal.max()), float(dual.max())))
            LOG.info("sweep %d: residuals %.1e, %.1e", sweep, primal.max(), dual.max())
            if max(self.residuals[-1]) <= self._tol:
                break
            if sweep % _BALANCE_EVERY == 0 and sweep <= _BALANCE_UNTIL:
                grown = _balance(primal, dual)
                if (grown != 1.0).any():
                    rho = rho * grown
                    ridge = Ridge(gram, columns, rho)
                    query = _query(weights, intercepts, delta, rho, grown)
                    sums = self._blocks.advance(rescale, query)
        return best.weights, best.intercepts


class Best:
    """For each bit the functions of the smallest value so far."""

    def __init__(self, weights: Array, intercepts: Array) -> None:
        self.weights = weights.copy()
        self.intercepts = intercepts.copy()
        self._values = np.full(len(intercepts), np.inf)

    def see(self, values: Array, weights: Array, intercepts: Array) -> None:
        """Take over what is better."""
        better = values < self._values
        self._values = np.where(better, values, self._values)
        self.weights[:, better] = weights[:, better]
        self.intercepts[better] = intercepts[better]


def _query(weights: Array, intercepts: Array, delta: Array, rho: Array, factors: Array) -> Query:
    return Query(*(v.astype(np.float32) for v in (weights, intercepts, delta, rho, factors)))


def _balance(primal: Array, dual: Array) -> Array:
    """By how much the penalty should grow so that both residuals fall alike."""
    ratio = np.sqrt(primal / np.maximum(dual, _TINY))
    alike = (ratio > 1 / _UNLIKE) & (ratio < _UNLIKE)
    return np.where(alike, 1.0, np.clip(ratio, 1 / _LARGEST_CHANGE, _LARGEST_CHANGE))


def _has_both(targets: NDArray[np.int8]) -> bool:
    return bool((targets != targets[0]).any())


_RELAXATION = np.float32(1.7)
"""Over-relaxation: ADMM converges for factors below 2, and 1.5 to 1.8 is the usual advice
(Boyd et al. 2011, sect. 3.4.3). On 1500 rows of usps and of pendigits 1.7 takes 19 and 35
sweeps, 1.4 takes 15 and 19, 1.0 takes 18 and 33; eq. (6) is the same."""


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


_CG_STEPS = 8
_CG_TOLERANCE = 1e-8
"""Conjugate gradients stop after so many steps, or when the squared residual is so small a
share: 1e-4 of the residual itself, a tenth of what ADMM asks for at the default ``tol``. On
usps and pendigits 2, 4 and 16 steps take ADMM as many sweeps as 8 do, since each sweep goes on
from the last."""

_LEAST_WEIGHT = 1e-9
"""A kernel of weight 0 would divide by 0. With this share of the largest weight its w is as
good as 0."""

_SINGLE_PRECISION_FROM = 3000
"""Features from which on matrices of single precision spare half of the memory and of the
time; below, neither counts. With single precision everywhere usps and pendigits have the same
eq. (6) and sweeps to all digits that were looked at."""


@dataclass(frozen=True, slots=True, eq=False)
class Gram:
    """``Z' Z`` of some rows after their mean is taken off, the means, and the count."""

    matrix: Array
    mean: Array
    count: int


class Ridge:
    """Minimises ``rho_b/2 ||Z w + beta - r_b||^2 + 1/2 sum_m ||w_m||^2 / theta_bm`` for all b.

    The bits' matrices ``G + diag(1 / (rho_b theta_b))`` differ on the diagonal alone: the
    inverse of one between them preconditions conjugate gradients for all.
    """

    def __init__(self, gram: Gram, columns: Array, rho: Array) -> None:
        self._gram = gram
        double = len(gram.mean) < _SINGLE_PRECISION_FROM
        self._dtype = np.dtype(np.float64 if double else np.float32)
        self._theta = np.maximum(columns, _LEAST_WEIGHT * columns.max())
        ridge = 1.0 / (rho * self._theta)
        self._ridge = ridge.astype(self._dtype)
        self._matrix = gram.matrix.astype(self._dtype)
        between = gram.matrix + np.diag(np.exp(np.log(ridge).mean(axis=1)))
        factor = cho_factor(between, overwrite_a=True, check_finite=False)
        unit = np.eye(len(between))
        inverse = cho_solve(factor, unit, overwrite_b=True, check_finite=False)
        self._inverse = inverse.astype(self._dtype)

    def solve(self, products: Array, sums: Array, start: Array) -> tuple[Array, Array]:
        """Return w and beta, given ``Z' r``, ``1' r`` and a w to begin with."""
        right = (products - np.outer(self._gram.mean, sums)).astype(self._dtype)
        w = start.astype(self._dtype)
        residual = right - self._apply(w)
        direction = ahead = self._inverse @ residual
        length = (residual * ahead).sum(axis=0)
        scale = np.abs((right * w).sum(axis=0))
        for _ in range(_CG_STEPS):
            if (length <= _CG_TOLERANCE * scale).all():
                break
            image = self._apply(direction)
            step = length / np.maximum((direction * image).sum(axis=0), _TINY)
            w = w + step * direction
            residual = residual - step * image
            ahead = self._inverse @ residual
            before, length = length, (residual * ahead).sum(axis=0)
            direction = ahead + length / np.maximum(before, _TINY) * direction
        weights = w.astype(np.float64)
        return weights, sums / self._gram.count - self._gram.mean @ weights

    def penalty(self, weights: Array) -> Array:
        """Return ``1/2 sum_m ||w_m||^2 / theta_m`` of each bit."""
        return np.asarray(0.5 * (weights**2 / self._theta).sum(axis=0))

    def _apply(self, w: Floats) -> Floats:
        return np.asarray(self._matrix @ w + self._ridge * w)
