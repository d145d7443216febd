"""Block 1 for large data: ADMM on explicit features, all bits together.

With ``o = Z w + beta`` at the rows, eq. (7) becomes ``sum_n phi_n(o_n) + 1/2 sum_m
||w_m||^2 / theta_m``. ADMM (in its Douglas-Rachford form) alternates between the losses of the
single rows and ridge regression, for which all bits share one matrix ``G = Z' Z``. The state of a
block of rows stays in the process of the block: per sweep it receives w and returns ``Z' r``, both
``D x B``, for any number of rows.

The missing diagonal delta, the sum of the parts of ``k_m(x, x)`` that the features lack
(`shlcore.random_features`), gives each row a slack: ``f = o + s`` at the cost
``s^2 / (2 delta)``. With the optimal s, phi is the hinge, rounded by a parabola of width
``c delta``.
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
"""Residuals after every sweep, on level INFO."""

# "Tried" below: 1500 rows of usps and of pendigits, the paper's kernels, 600 features, 5 bits.
# There the constants change the number of sweeps, and neither eq. (6) nor any prediction.

SWEEPS = 60
"""Maximum number of sweeps. Tried: 19 and 35 sweeps reach the tolerance from zero, 7 and 18 from
the solution of the last pass. At the maximum the best iterate is returned, and the descent accepts
it only if eq. (6) falls."""

_FIRST_PENALTY = 0.3
_MIN_SLACK = 0.05
"""ADMM's penalty rho begins at the first constant over the slack delta, the scale on which the
loss bends, so that the number of sweeps hardly depends on delta. The second one bounds delta from
below, as 1 / delta is unbounded. Tried for the first, sweeps of the start and one pass: 26 on usps
and 53 on pendigits with 0.3, 40 and 52 with 0.03, 32 and 45 with 0.1, 30 and 56 with 1.0, 43 and
79 with 3.0; for the second, 0.005 and 0.5 made no difference, as the paper's narrow kernels keep
delta above both."""

_BALANCE_EVERY = 8
_BALANCE_UNTIL = 25
_BALANCE_RATIO = 2.5
_MAX_CHANGE = 5.0
"""Residual balancing (Boyd et al. 2011, sect. 3.4.1): every 8th sweep, rho changes by a factor of
at most 5 where one residual is more than 2.5^2 times the other. A new rho costs a matrix inverse,
so changes are rare, and they end after 25 sweeps, because ADMM converges for a constant rho. The
origin of these four numbers is not recorded. Tried: every 3rd sweep or never made no difference;
1.2 instead of 2.5 saved 12 of 35 sweeps on pendigits."""

_TINY = np.float32(1e-12)
"""Avoids division by a residual, a slack or a direction of 0."""

_RELAXATION = np.float32(1.7)
"""Over-relaxation: ADMM converges for factors below 2, and 1.5 to 1.8 is the usual advice
(Boyd et al. 2011, sect. 3.4.3). On 1500 rows of usps and of pendigits 1.7 takes 19 and 35
sweeps, 1.4 takes 15 and 19, 1.0 takes 18 and 33; eq. (6) is the same."""

_CG_STEPS = 8
_CG_TOLERANCE = 1e-8
"""Conjugate gradients stop after 8 steps, or when the squared residual falls below this share:
1e-4 of the residual itself, a tenth of ADMM's tolerance at the default ``tol``. On usps and
pendigits 2, 4 and 16 steps need as many sweeps as 8, since each sweep starts from the last one."""

_MIN_WEIGHT = 1e-9
"""Smallest kernel weight, as a share of the largest, to avoid division by 0; its w is close to
0."""

_SINGLE_PRECISION_FROM = 3000
"""Features from which on matrices of single precision save half of the memory and of the time.
With single precision everywhere usps and pendigits have the same eq. (6) and number of sweeps to
all digits that were compared."""


@dataclass(frozen=True, slots=True, eq=False)
class FeatureFunction:
    """``f(x) = <weights, z(x)> + intercept``."""

    weights: Features
    intercept: float


class AdmmSolver:
    """Solver of block 1 on explicit features, all SVMs together.

    Parameters
    ----------
    blocks
        Features of the training rows.
    map_
        The map that made them.
    tol
        Relative residuals at which the sweeps stop.
    """

    batch_size = 2**30  # all of them, as they share each pass over the rows
    n_prefetch = 0
    precision: type[np.floating] = np.float32

    def __init__(self, blocks: Blocks[Features], map_: FeatureMap, tol: float) -> None:
        self.n_kernels = len(map_.bank)
        self.residuals: list[tuple[float, float]] = []
        """Primal and dual residual of the worst bit after each sweep of the last solve."""
        self._blocks = blocks
        self._widths = map_.widths
        self._missing_diagonal = map_.missing_diagonal
        self._tol = tol
        self._gram: tuple[NDArray[np.bool_], CentredGram] | None = None

    def prefetch(self, tasks: Sequence[BitTask[FeatureFunction]]) -> None:
        """Do nothing, since all bits are solved together."""

    def zero(self) -> FeatureFunction:
        """Return the function that is 0 everywhere."""
        return FeatureFunction(np.zeros(sum(self._widths), dtype=np.float32), 0.0)

    def scale(self, function: FeatureFunction, factor: float) -> FeatureFunction:
        """Return ``factor * f``."""
        return FeatureFunction(np.float32(factor) * function.weights, factor * function.intercept)

    def solve(
        self, tasks: Sequence[BitTask[FeatureFunction]]
    ) -> list[BitSolution[FeatureFunction]]:
        """Solve independent SVMs over the same rows and costs."""
        active = tasks[0].costs > 0
        mixed = [i for i, task in enumerate(tasks) if _has_both(task.targets[active])]
        solutions = [self._constant(task, active) for task in tasks]
        if mixed:
            solved = self._solve([tasks[i] for i in mixed], active)
            for i, solution in zip(mixed, solved, strict=True):
                solutions[i] = solution
        return solutions

    def _constant(
        self, task: BitTask[FeatureFunction], active: NDArray[np.bool_]
    ) -> BitSolution[FeatureFunction]:
        """Return the constant solution of a bit whose targets are all equal."""
        sign = float(task.targets[active][0])
        function = FeatureFunction(self.zero().weights, sign)
        projections = np.full(len(task.targets), sign, dtype=np.float32)
        return BitSolution(function, projections, np.zeros(self.n_kernels))

    def _solve(
        self, tasks: Sequence[BitTask[FeatureFunction]], active: NDArray[np.bool_]
    ) -> list[BitSolution[FeatureFunction]]:
        theta = np.stack([task.kernel_weights for task in tasks])
        gram = self._active_gram(active)
        weights, intercepts = self._descend(tasks, theta, gram)
        ones = np.ones(len(tasks))
        inputs = _sweep_input(weights, intercepts, theta @ self._missing_diagonal, ones, ones)
        results = self._blocks.finish(block_projections, inputs)
        projections = np.concatenate([part[0] for part in results])
        squares = np.sum([part[1] for part in results], axis=0)
        norms = theta**2 * self._missing_diagonal * squares[:, None]
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
        """Split targets and costs by the blocks of rows."""
        pieces, first = [], 0
        costs = tasks[0].costs.astype(np.float32)
        for size in self._blocks.sizes:
            rows = slice(first, first + size)
            targets = np.stack([task.targets[rows] for task in tasks], axis=1)
            pieces.append((targets, costs[rows, None]))
            first += size
        return pieces

    def _active_gram(self, active: NDArray[np.bool_]) -> CentredGram:
        """Return the centred Gram matrix of the active rows, cached for the next call."""
        if self._gram is None or not np.array_equal(self._gram[0], active):
            ends = np.cumsum(self._blocks.sizes)[:-1]
            triangle, sums = self._blocks.sum(block_gram, np.split(active, ends))
            total = triangle
            total += np.triu(triangle, 1).T
            count = int(np.count_nonzero(active))
            mean = sums / count
            total -= count * np.outer(mean, mean)
            self._gram = (active, CentredGram(total, mean, count))
        return self._gram[1]

    def _descend(
        self,
        tasks: Sequence[BitTask[FeatureFunction]],
        theta: Array,
        gram: CentredGram,
    ) -> tuple[Array, Array]:
        """Run ADMM; return the best weights (``D x B``) and intercepts of all sweeps."""
        weights = np.stack([t.current.function.weights for t in tasks], axis=1).astype(float)
        intercepts = np.array([t.current.function.intercept for t in tasks])
        columns = np.repeat(theta, self._widths, axis=1).T
        delta = theta @ self._missing_diagonal
        rho = _FIRST_PENALTY / np.maximum(delta, _MIN_SLACK)
        ridge = RidgeRegression(gram, columns, rho)
        unchanged = np.ones(len(tasks))
        inputs = _sweep_input(weights, intercepts, delta, rho, unchanged)
        sums = self._blocks.start(start_block, self._pieces(tasks), inputs)
        self.residuals = []
        best = BestIterate(weights, intercepts)
        for sweep in range(1, SWEEPS + 1):
            weights, intercepts = ridge.solve(sums[0], sums[1], weights)
            inputs = _sweep_input(weights, intercepts, delta, rho, unchanged)
            sums = self._blocks.advance(update_block, inputs)
            best.update(sums[2] + ridge.penalty(weights), weights, intercepts)
            primal = np.sqrt(sums[3] / np.maximum(sums[4], _TINY))
            dual = np.sqrt(sums[5] / np.maximum(sums[6], _TINY))
            self.residuals.append((float(primal.max()), float(dual.max())))
            LOG.info("sweep %d: residuals %.1e, %.1e", sweep, primal.max(), dual.max())
            if max(self.residuals[-1]) <= self._tol:
                break
            if sweep % _BALANCE_EVERY == 0 and sweep <= _BALANCE_UNTIL:
                factors = _balance(primal, dual)
                if (factors != 1.0).any():
                    rho = rho * factors
                    ridge = RidgeRegression(gram, columns, rho)
                    inputs = _sweep_input(weights, intercepts, delta, rho, factors)
                    sums = self._blocks.advance(rescale_block, inputs)
        return best.weights, best.intercepts


class BestIterate:
    """The functions with the smallest value so far, bit by bit."""

    def __init__(self, weights: Array, intercepts: Array) -> None:
        self.weights = weights.copy()
        self.intercepts = intercepts.copy()
        self._values = np.full(len(intercepts), np.inf)

    def update(self, values: Array, weights: Array, intercepts: Array) -> None:
        """Replace the functions that have improved."""
        better = values < self._values
        self._values = np.where(better, values, self._values)
        self.weights[:, better] = weights[:, better]
        self.intercepts[better] = intercepts[better]


def _sweep_input(
    weights: Array, intercepts: Array, delta: Array, rho: Array, factors: Array
) -> SweepInput:
    return SweepInput(*(v.astype(np.float32) for v in (weights, intercepts, delta, rho, factors)))


def _balance(primal: Array, dual: Array) -> Array:
    """Return the factors of the penalty that bring both residuals closer together."""
    ratio = np.sqrt(primal / np.maximum(dual, _TINY))
    balanced = (ratio > 1 / _BALANCE_RATIO) & (ratio < _BALANCE_RATIO)
    return np.where(balanced, 1.0, np.clip(ratio, 1 / _MAX_CHANGE, _MAX_CHANGE))


def _has_both(targets: NDArray[np.int8]) -> bool:
    return bool((targets != targets[0]).any())


@dataclass(frozen=True, slots=True, eq=False)
class SweepInput:
    """Input of a sweep, the same for all blocks.

    Parameters
    ----------
    weights, intercepts
        ``D x B`` and ``(B,)``, the current functions.
    delta
        ``(B,)``, weight of the slack.
    rho, factors
        ``(B,)``, the penalty, and the factor of its last change.
    """

    weights: Features
    intercepts: Features
    delta: Features
    rho: Features
    factors: Features


@dataclass(frozen=True, slots=True, eq=False)
class BlockState:
    """State of a block: targets (``r x B``), costs (``r x 1``), and ADMM's ``x + u``."""

    targets: NDArray[np.int8]
    costs: Features
    q: Features


def block_gram(features: Features, active: NDArray[np.bool_]) -> Sums:
    """Return one triangle of ``Z' Z``, and ``Z' 1``, of the active rows."""
    rows = features if active.all() else features[active]
    return blas.ssyrk(1.0, rows.T), rows.sum(axis=0, dtype=np.float64)


def start_block(
    features: Features, piece: tuple[NDArray[np.int8], Features], inputs: SweepInput
) -> tuple[BlockState, Sums]:
    """Start ADMM at given functions and their multipliers."""
    targets, costs = piece
    z = features @ inputs.weights + inputs.intercepts
    slope, _ = _loss(targets, costs, inputs.delta, z)
    state = BlockState(targets, costs, z - targets * slope / inputs.rho)
    return state, _ridge_sums(features, state, inputs)


def update_block(
    features: Features, state: BlockState, inputs: SweepInput
) -> tuple[BlockState, Sums]:
    """Update the state by one step, given the functions of the ridge regression."""
    z = features @ inputs.weights + inputs.intercepts
    x = _prox(state, inputs)
    updated = replace(state, q=state.q + _RELAXATION * (z - x))
    there = _prox(updated, inputs)
    part = state.costs > 0
    sizes = (_squares(np.where(part, v, 0)) for v in (z - x, z, there - x, updated.q - there))
    value = _loss(state.targets, state.costs, inputs.delta, z)[1]
    return updated, (*_ridge_sums(features, updated, inputs), value, *sizes)


def rescale_block(
    features: Features, state: BlockState, inputs: SweepInput
) -> tuple[BlockState, Sums]:
    """Rescale the state to a new penalty; x and the multipliers stay."""
    x = _prox(state, replace(inputs, rho=inputs.rho / inputs.factors))
    updated = replace(state, q=x + (state.q - x) / inputs.factors)
    return updated, _ridge_sums(features, updated, inputs)


def block_projections(
    features: Features, state: BlockState, inputs: SweepInput
) -> tuple[Features, Array]:
    """Return f at the rows, slack included, and the squared norms of the multipliers."""
    z = features @ inputs.weights + inputs.intercepts
    slope, _ = _loss(state.targets, state.costs, inputs.delta, z)
    return z + state.targets * (inputs.delta * slope), _squares(slope)


def _ridge_sums(features: Features, state: BlockState, inputs: SweepInput) -> Sums:
    """Return ``Z' r`` and ``1' r`` of the active rows, where r = 2 x - q."""
    r = np.where(state.costs > 0, 2 * _prox(state, inputs) - state.q, np.float32(0))
    return features.T @ r, r.sum(axis=0, dtype=np.float64)


def _loss(
    targets: NDArray[np.int8], costs: Features, delta: Features, z: Features
) -> tuple[Features, Array]:
    """Return ``-y phi'(z)`` of each row and ``sum_n phi_n(z_n)``."""
    short = hinge(targets * z)
    slope = np.minimum(short / np.maximum(delta, _TINY), costs)
    value = (slope * (short - np.float32(0.5) * delta * slope)).sum(axis=0, dtype=np.float64)
    return slope, value


def _prox(state: BlockState, inputs: SweepInput) -> Features:
    """Minimise ``phi(o) + rho/2 (o - q)^2`` for each row and bit."""
    short = hinge(state.targets * state.q)
    both = inputs.rho * inputs.delta
    left = np.maximum(short * (both / (1 + both)), short - state.costs / inputs.rho)
    updated: Features = state.q + state.targets * (short - left)
    return updated


def _squares(values: Features) -> Array:
    return np.asarray(np.square(values).sum(axis=0, dtype=np.float64))


@dataclass(frozen=True, slots=True, eq=False)
class CentredGram:
    """``Z' Z`` of some rows less their mean, the mean, and the number of rows."""

    matrix: Array
    mean: Array
    count: int


class RidgeRegression:
    """Ridge regression of all bits, the part of ADMM that all rows share.

    Minimises ``rho_b/2 ||Z w + beta - r_b||^2 + 1/2 sum_m ||w_m||^2 / theta_bm`` for all b. The
    matrices ``G + diag(1 / (rho_b theta_b))`` differ on the diagonal alone, so that the inverse
    of a mean one preconditions conjugate gradients for all.
    """

    def __init__(self, gram: CentredGram, columns: Array, rho: Array) -> None:
        self._gram = gram
        double = len(gram.mean) < _SINGLE_PRECISION_FROM
        self._dtype = np.dtype(np.float64 if double else np.float32)
        self._theta = np.maximum(columns, _MIN_WEIGHT * columns.max())
        ridge = 1.0 / (rho * self._theta)
        self._ridge = ridge.astype(self._dtype)
        self._matrix = gram.matrix.astype(self._dtype)
        mean_matrix = gram.matrix + np.diag(np.exp(np.log(ridge).mean(axis=1)))
        factor = cho_factor(mean_matrix, overwrite_a=True, check_finite=False)
        unit = np.eye(len(mean_matrix))
        inverse = cho_solve(factor, unit, overwrite_b=True, check_finite=False)
        self._inverse = inverse.astype(self._dtype)

    def solve(self, products: Array, sums: Array, start: Array) -> tuple[Array, Array]:
        """Return w and beta, given ``Z' r``, ``1' r`` and an initial w."""
        right = (products - np.outer(self._gram.mean, sums)).astype(self._dtype)
        w = start.astype(self._dtype)
        residual = right - self._apply(w)
        direction = preconditioned = self._inverse @ residual
        length = (residual * preconditioned).sum(axis=0)
        scale = np.abs((right * w).sum(axis=0))
        for _ in range(_CG_STEPS):
            if (length <= _CG_TOLERANCE * scale).all():
                break
            image = self._apply(direction)
            step = length / np.maximum((direction * image).sum(axis=0), _TINY)
            w = w + step * direction
            residual = residual - step * image
            preconditioned = self._inverse @ residual
            before, length = length, (residual * preconditioned).sum(axis=0)
            direction = preconditioned + length / np.maximum(before, _TINY) * direction
        weights = w.astype(np.float64)
        return weights, sums / self._gram.count - self._gram.mean @ weights

    def penalty(self, weights: Array) -> Array:
        """Return ``1/2 sum_m ||w_m||^2 / theta_m`` of each bit."""
        return np.asarray(0.5 * (weights**2 / self._theta).sum(axis=0))

    def _apply(self, w: Floats) -> Floats:
        return np.asarray(self._matrix @ w + self._ridge * w)
