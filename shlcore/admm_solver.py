"""The solver for large data: random features, and ADMM for the SVMs of all bits at once.

With ``o = Z w + beta`` at the rows, eq. (7) becomes ``sum_n phi_n(o_n) + 1/2 sum_m
||w_m||^2 / theta_m``. ADMM (in its Douglas-Rachford form) alternates between the rows'
losses, each by itself, and ridge regression, for which all bits share one matrix
``G = Z' Z``. What a block of rows remembers stays where the block is; per sweep it receives w
and returns ``Z' r``, both ``D x B``, however many rows it has.

What the features lack of a row's ``k_m(x, x)`` (`shlcore.random_features`), in sum delta, gives
each row a slack: ``f = o + s`` at the cost ``s^2 / (2 delta)``. With s at its best, phi is the
hinge, rounded by a parabola of width ``c delta``.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from shlcore.admm_rows import Query, answer, begin, products, relax, rescale
from shlcore.descent import BitSolution, BitTask

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from shlcore.random_features import FeatureMap

    Array = NDArray[np.float64]
    Features = NDArray[np.float32]
    Sums = tuple[NDArray[Any], ...]

LOG = logging.getLogger(__name__)
"""Tells the residuals after every sweep (level INFO)."""

SWEEPS = 60
_CG_STEPS = 8
_BALANCE_EVERY = 8
_BALANCE_UNTIL = 25
_SINGLE_PRECISION_FROM = 3000
_TINY = np.float32(1e-12)


class Blocks(Protocol):
    """Rows in blocks; every function gets a block's features first."""

    sizes: list[int]

    def gather(
        self, function: Callable[..., Any], pieces: Sequence[Any], shared: object
    ) -> list[Any]:
        """Return ``function(features, piece, shared)`` of each block."""

    def add_up(self, function: Callable[..., Any], pieces: Sequence[Any]) -> Sums:
        """Return the sums of ``function(features, piece)`` over all blocks."""

    def start(self, function: Callable[..., Any], pieces: Sequence[Any], shared: object) -> Sums:
        """Give each block the state of ``(state, sums) = function(features, piece, shared)``.

        Returns the sums of all blocks.
        """

    def advance(self, function: Callable[..., Any], shared: object) -> Sums:
        """Renew each block's state by ``(state, sums) = function(features, state, shared)``."""

    def finish(self, function: Callable[..., Any], shared: object) -> list[Any]:
        """Return ``function(features, state, shared)`` of each block; states are dropped."""


@dataclass(frozen=True, slots=True, eq=False)
class FeatureFunction:
    """``f(x) = <weights, z(x)> + intercept``."""

    weights: Features
    intercept: float


@dataclass(frozen=True, slots=True, eq=False)
class Gram:
    """``Z' Z`` of some rows after their mean is taken off, the means, and the count."""

    matrix: Array
    mean: Array
    count: int


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

    at_once = 2**30
    precision: type[np.floating[Any]] = np.float32

    def __init__(self, blocks: Blocks, map_: FeatureMap, tol: float) -> None:
        self.n_kernels = len(map_.bank)
        self.residuals: list[tuple[float, float]] = []
        """Primal and dual residual of the worst bit after each sweep of the last solve."""
        self._blocks = blocks
        self._widths = map_.widths
        self._lacks = map_.lacks
        self._tol = tol
        self._gram: tuple[NDArray[np.bool_], Gram] | None = None

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

    def _pieces(self, tasks: Sequence[BitTask[FeatureFunction]]) -> list[Any]:
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
        rho = 0.3 / np.maximum(delta, 0.05)
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


class Ridge:
    """Minimises ``rho_b/2 ||Z w + beta - r_b||^2 + 1/2 sum_m ||w_m||^2 / theta_bm`` for all b.

    The bits' matrices ``G + diag(1 / (rho_b theta_b))`` differ on the diagonal alone: the
    inverse of one between them preconditions conjugate gradients for all.
    """

    def __init__(self, gram: Gram, columns: Array, rho: Array) -> None:
        self._gram = gram
        double = len(gram.mean) < _SINGLE_PRECISION_FROM
        self._dtype = np.dtype(np.float64 if double else np.float32)
        self._theta = np.maximum(columns, 1e-9 * columns.max())
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
            if (length <= 1e-8 * scale).all():
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

    def _apply(self, w: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(self._matrix @ w + self._ridge * w)


def _query(weights: Array, intercepts: Array, delta: Array, rho: Array, factors: Array) -> Query:
    return Query(*(v.astype(np.float32) for v in (weights, intercepts, delta, rho, factors)))


def _balance(primal: Array, dual: Array) -> Array:
    """By how much the penalty should grow so that both residuals fall alike."""
    ratio = np.sqrt(primal / np.maximum(dual, _TINY))
    return np.where((ratio > 0.4) & (ratio < 2.5), 1.0, np.clip(ratio, 0.2, 5.0))


def _has_both(targets: NDArray[np.int8]) -> bool:
    return bool((targets != targets[0]).any())
