"""Semi-supervised descent: label spreading, then stages with unlabelled rows.

Each stage lowers its own eq. (6), in which unlabelled rows have that stage's weight. With full
weight from the start, a kernel that interpolates fits the first guess and no row ever moves.

For the same reason the guess is not that of a function of the labelled rows alone: labels spread
over neighbouring rows, because classes seldom change between neighbours. On the seven sets of
tests/benchmarks/SEMI.md (1, 5 and 10 % labels) the spread labels were more accurate than that
function by four points in the mean, and eq. (6) at these labels is nearly always lower.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from shlcore.descent import (
    BitSolver,
    Step,
    descend,
    initialise,
    initialise_and_descend,
    until_converged,
)
from shlcore.kernels import gram_squared_distances
from shlcore.objective import evaluate
from shlcore.problem import UNLABELLED, Function, Problem, Start

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shlcore.array_types import Array, Indices


STAGE_WEIGHTS = (1e-3, 3e-2, 1.0)
"""Weights of unlabelled rows, stage by stage. Rows move in the first one (digits with 30 labels:
with a single stage of weight 1 no row moves); two stages in between instead of one change
nothing."""

MAX_SHARE_FOR_SPREADING = 0.15
"""Share of labelled rows up to which labels spread. At 10 % spreading gains on six of the seven
sets of tests/benchmarks/SEMI.md (vowel: -0.4 points); at 60 % it would lose 13 points on vowel and
7 on letter. Shares in between were not measured."""

_N_NEIGHBOURS = 6
"""Neighbours of a row. 10 and 15 were worse by 1 and 2 points in the mean of 21 cells."""

ALPHA = 0.9
"""Factor of a label's weight at each step. With 0.99 the largest class absorbs its neighbours:
4 points less."""

_STEPS = 60
"""Steps of the spreading; the rest after these is under 0.2 %."""

GUESS_WEIGHT = 0.02
"""Weight of a function's guess beside a label, times the labels of a class (up to ten). Where a
class has one label the neighbours are more reliable, with ten the function is."""

_ROUNDS = 10
"""Maximum number of cluster updates without labels."""


@dataclass(frozen=True, slots=True, eq=False)
class StagePlan:
    """Settings of the stages.

    Parameters
    ----------
    weights
        Weight of unlabelled rows in each stage.
    graph
        Neighbours for label spreading at the start; None: no spreading.
    tol, max_iter
        Stopping rule of each stage.
    """

    weights: tuple[float, ...]
    graph: NeighbourGraph | None
    tol: float
    max_iter: int


def descend_in_stages(
    problem: Problem, start: Start, solver: BitSolver[Function], plan: StagePlan
) -> Iterator[tuple[int, Step[Function]]]:
    """Yield the index of the stage and the step, until the last stage has converged."""
    unlabelled = problem.labels == UNLABELLED
    passes = 0
    step: Step[Function] | None = None
    for stage, weight in enumerate(plan.weights):
        weights = np.where(unlabelled, weight * problem.weights, problem.weights)
        weighted = problem if weight == 1.0 else replace(problem, weights=weights)
        if step is None:
            steps = _first_stage(weighted, start, solver, plan)
        else:
            steps = _next_stage(weighted, step, solver)
        for step in until_converged(steps, tol=plan.tol, max_iter=plan.max_iter):
            yield stage, replace(step, iteration=passes + step.iteration)
        passes += 0 if step is None else step.iteration


def _next_stage(
    problem: Problem, last: Step[Function], solver: BitSolver[Function]
) -> Iterator[Step[Function]]:
    """Continue from the model of the last stage with the weights of this one."""
    current = evaluate(problem, last.model)
    yield Step(0, last.bit, "start", current.value, last.model, current.members, pass_ended=True)
    yield from descend(problem, last.model, solver)


def _first_stage(
    problem: Problem, start: Start, solver: BitSolver[Function], plan: StagePlan
) -> Iterator[Step[Function]]:
    if plan.graph is None:
        yield from initialise_and_descend(problem, start, solver)
        return
    step: Step[Function] | None = None
    for step in initialise(problem, start, solver):
        # Without any label this is the start; otherwise a guess that label spreading improves.
        yield replace(step, pass_ended=step.pass_ended and not _has_waiting_rows(start))
    if step is None:
        return
    members = _spread(problem, step, plan.graph)
    if _has_waiting_rows(start):
        yield from initialise_and_descend(problem, Start(start.codewords, members), solver)
        return
    for restarted in initialise(problem, Start(start.codewords, members), solver):
        if restarted.pass_ended and restarted.objective < step.objective:
            step = restarted
            yield step
    yield from descend(problem, step.model, solver, keep_alive=np.unique(step.members))


def _has_waiting_rows(start: Start) -> bool:
    """Whether rows wait until the labelled ones are fitted."""
    return bool((start.members == UNLABELLED).any())


def _spread(problem: Problem, step: Step[Function], graph: NeighbourGraph) -> Indices:
    """Return the codeword of each row after spreading labels or clusters."""
    if (problem.labels == UNLABELLED).all():
        count = problem.n_classes * problem.n_codewords
        return refine_clusters(graph, step.members, problem.weights, count)
    distances = evaluate(problem, step.model).distances
    classes = spread_labels(graph, problem.labels, problem.weights, distances.min(axis=2))
    own = distances[np.arange(len(classes)), classes].argmin(axis=1)
    return np.asarray(classes * problem.n_codewords + own)


@dataclass(frozen=True, slots=True, eq=False)
class NeighbourGraph:
    """Graph of the rows and their nearest neighbours in kernel space.

    Parameters
    ----------
    affinity
        ``n x n``, symmetric, normalised by the roots of the degrees.
    roots
        ``(n,)``, roots of the degrees.
    """

    affinity: sparse.csr_array
    roots: Array

    @classmethod
    def from_gram(cls, gram: Array) -> NeighbourGraph:
        """Make the graph of a kernel matrix, with distances relative to the local scale."""
        squared = np.maximum(gram_squared_distances(gram), 0.0)
        np.fill_diagonal(squared, np.inf)
        n = len(gram)
        count = min(_N_NEIGHBOURS, n - 1)
        near = np.argpartition(squared, count - 1, axis=1)[:, :count]
        gaps = np.take_along_axis(squared, near, axis=1)
        local = np.sqrt(gaps.max(axis=1)) + np.finfo(float).tiny
        affinity = np.exp(-gaps / np.maximum(local[:, None] * local[near], np.finfo(float).tiny))
        rows = np.repeat(np.arange(n), count)
        one_way = sparse.csr_array((affinity.ravel(), (rows, near.ravel())), shape=(n, n))
        both = one_way.maximum(one_way.T)
        roots = np.sqrt(np.asarray(both.sum(axis=1)).ravel() + np.finfo(float).tiny)
        scale = sparse.diags_array(1.0 / roots)
        return cls(sparse.csr_array(scale @ both @ scale), roots)

    def spread(self, seeds: Array) -> Array:
        """Return the class shares of each row, ``n x C``, after spreading the seeds."""
        shares = seeds
        for _ in range(_STEPS):
            shares = seeds + ALPHA * (self.affinity @ shares)
        shares = shares / self.roots[:, None]
        total = shares.sum(axis=1, keepdims=True)
        return np.asarray(shares / np.maximum(total, np.finfo(float).tiny))


def spread_labels(
    graph: NeighbourGraph, labels: Indices, weights: Array, distances: Array
) -> Indices:
    """Return the class of each row: its label, or the one that spreads to it.

    Parameters
    ----------
    distances
        ``n x C``, hinge distances of a function of the labelled rows, which count little.
    """
    n_classes = distances.shape[1]
    known = labels != UNLABELLED
    counts = np.bincount(labels[known], minlength=n_classes)
    guess = np.exp(distances.min(axis=1, keepdims=True) - distances)
    guess /= guess.sum(axis=1, keepdims=True)
    seeds = GUESS_WEIGHT * min(10.0, float(counts.mean())) * guess
    seeds[known] = np.eye(n_classes)[labels[known]]
    shares = graph.spread(seeds)
    prior = (counts + 1.0) / (counts + 1.0).sum()
    # Few labels estimate the class shares badly, hence only the root of the correction.
    factors = np.sqrt(class_factors(shares[~known], weights[~known], prior))
    return np.where(known, labels, (shares * factors).argmax(axis=1))


def refine_clusters(
    graph: NeighbourGraph, clusters: Indices, weights: Array, n_clusters: int
) -> Indices:
    """Move rows to the clusters of their neighbours, at constant cluster weights."""
    mass = np.bincount(clusters, weights=weights, minlength=n_clusters)
    prior = np.maximum(mass, weights.min()) / np.maximum(mass, weights.min()).sum()
    for _ in range(_ROUNDS):
        shares = graph.spread(np.eye(n_clusters)[clusters])
        updated = (shares * class_factors(shares, weights, prior)).argmax(axis=1)
        if np.array_equal(updated, clusters):
            break
        clusters = updated
    return clusters


def class_factors(shares: Array, weights: Array, prior: Array) -> Array:
    """Return class factors that bring the mass of each class to its prior share."""
    factors = np.ones(shares.shape[1])
    least = np.finfo(float).eps
    for _ in range(30):
        scaled = shares * factors
        scaled /= np.maximum(scaled.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        mass = weights @ scaled / weights.sum()
        factors *= np.sqrt(prior / np.maximum(mass, least))
    return factors
