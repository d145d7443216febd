"""The descent in stages: unlabelled rows count little first, then more and more.

Each stage lowers its own eq. (6), in which unlabelled rows have that stage's weight. With full
weight from the start, a kernel that interpolates fits the first guess and no row ever moves.


@@@
How labels spread over neighbouring rows: a guess that one function of few labels cannot make.

Rows without a label that choose by the function of the labelled rows alone confirm it afterwards:
a kernel that interpolates fits any guess. Neighbours know better, because classes seldom change
between them. On the seven sets of tests/benchmarks/SEMI.md (1, 5 and 10 % labels) the labels that
spread were right more often than that function by four points in the mean, and eq. (6) at
such labels is nearly always lower.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from shlcore.descent import Machine, Step, begin, begin_and_descend, descend, until_converged
from shlcore.kernels import gram_squared_distances
from shlcore.objective import evaluate
from shlcore.problem import UNLABELLED, Function, Problem, Start

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shlcore.array_types import Array, Indices


ANNEALED = (1e-3, 3e-2, 1.0)
"""Weights of unlabelled rows, stage by stage. The first is where rows move (digits with 30 labels:
one stage of 1 leaves all where they are); two stages in between instead of one change nothing."""


FEW_LABELS = 0.15
"""Share of labelled rows up to which labels spread. At 10 % that gains on all seven sets of
tests/benchmarks/SEMI.md but one (vowel, -0.4 points); at 60 % it would lose 13 points on vowel and
7 on letter. What lies between was not measured."""


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """How to descend.

    Parameters
    ----------
    weights
        Weight of unlabelled rows in each stage.
    graph
        Over which labels spread at the start; None: they do not.
    tol, max_iter
        When a stage ends.
    """

    weights: tuple[float, ...]
    graph: NeighbourGraph | None
    tol: float
    max_iter: int


def descend_in_stages(
    problem: Problem, start: Start, machine: Machine[Function], plan: Plan
) -> Iterator[tuple[int, Step[Function]]]:
    """Yield the number of the stage and the step, until the last stage has converged."""
    unlabelled = problem.labels == UNLABELLED
    passes = 0
    step: Step[Function] | None = None
    for stage, weight in enumerate(plan.weights):
        weights = np.where(unlabelled, weight * problem.weights, problem.weights)
        weighted = problem if weight == 1.0 else replace(problem, weights=weights)
        if step is None:
            steps = _first_stage(weighted, start, machine, plan)
        else:
            steps = _next_stage(weighted, step, machine)
        for step in until_converged(steps, tol=plan.tol, max_iter=plan.max_iter):
            yield stage, replace(step, iteration=passes + step.iteration)
        passes += 0 if step is None else step.iteration


def _next_stage(
    problem: Problem, last: Step[Function], machine: Machine[Function]
) -> Iterator[Step[Function]]:
    """Go on from the last stage's model, whose eq. (6) is another one now."""
    now = evaluate(problem, last.model)
    yield Step(0, last.bit, "start", now.value, last.model, now.members, pass_ended=True)
    yield from descend(problem, last.model, machine)


def _first_stage(
    problem: Problem, start: Start, machine: Machine[Function], plan: Plan
) -> Iterator[Step[Function]]:
    if plan.graph is None:
        yield from begin_and_descend(problem, start, machine)
        return
    step: Step[Function] | None = None
    for step in begin(problem, start, machine):
        # Without any label this is the start; otherwise a guess, from which labels spread.
        yield replace(step, pass_ended=step.pass_ended and not _waiting(start))
    if step is None:
        return
    members = _spread(problem, step, plan.graph)
    if _waiting(start):
        yield from begin_and_descend(problem, Start(start.codewords, members), machine)
        return
    for moved in begin(problem, Start(start.codewords, members), machine):
        if moved.pass_ended and moved.objective < step.objective:
            step = moved
            yield step
    yield from descend(problem, step.model, machine, keep_alive=np.unique(step.members))


def _waiting(start: Start) -> bool:
    """Whether rows wait for others to be fitted: there are labels, then."""
    return bool((start.members == UNLABELLED).any())


def _spread(problem: Problem, step: Step[Function], graph: NeighbourGraph) -> Indices:
    """Return the codeword of each row once labels, or clusters, have spread."""
    if (problem.labels == UNLABELLED).all():
        count = problem.n_classes * problem.n_codewords
        return settled_clusters(graph, step.members, problem.weights, count)
    distances = evaluate(problem, step.model).distances
    classes = labels_of_neighbours(graph, problem.labels, problem.weights, distances.min(axis=2))
    own = distances[np.arange(len(classes)), classes].argmin(axis=1)
    return np.asarray(classes * problem.n_codewords + own)


_NEIGHBOURS = 6
"""Each row has so many. 10 and 15 were worse by 1 and 2 points in the mean of 21 cells."""

_REACH = 0.9
"""What a label is worth one step farther. With 0.99 the largest class swallows its neighbours:
4 points less."""

_STEPS = 60
"""After so many the rest is under 0.2 %."""

_TRUST = 0.02
"""How much the guess of a function counts beside a label, times the labels a class has (up to
ten). Where a class has one label the neighbours know more, with ten the function does."""

_ROUNDS = 10
"""In which clusters may change, without labels."""


@dataclass(frozen=True, slots=True, eq=False)
class NeighbourGraph:
    """Rows tied to their nearest others in the kernels' space.

    Parameters
    ----------
    ties
        ``n x n``, symmetric, normalised by the roots of the degrees.
    roots
        ``(n,)``, roots of the degrees.
    """

    ties: sparse.csr_array
    roots: Array

    @classmethod
    def of(cls, gram: Array) -> NeighbourGraph:
        """Tie rows by a kernel matrix; near means near for the rows that are there."""
        squared = np.maximum(gram_squared_distances(gram), 0.0)
        np.fill_diagonal(squared, np.inf)
        n = len(gram)
        count = min(_NEIGHBOURS, n - 1)
        near = np.argpartition(squared, count - 1, axis=1)[:, :count]
        gaps = np.take_along_axis(squared, near, axis=1)
        local = np.sqrt(gaps.max(axis=1)) + np.finfo(float).tiny
        ties = np.exp(-gaps / np.maximum(local[:, None] * local[near], np.finfo(float).tiny))
        rows = np.repeat(np.arange(n), count)
        one_way = sparse.csr_array((ties.ravel(), (rows, near.ravel())), shape=(n, n))
        both = one_way.maximum(one_way.T)
        roots = np.sqrt(np.asarray(both.sum(axis=1)).ravel() + np.finfo(float).tiny)
        scale = sparse.diags_array(1.0 / roots)
        return cls(sparse.csr_array(scale @ both @ scale), roots)

    def spread(self, seeds: Array) -> Array:
        """Return each class's share of each row, ``n x C``, once seeds have spread."""
        shares = seeds
        for _ in range(_STEPS):
            shares = seeds + _REACH * (self.ties @ shares)
        shares = shares / self.roots[:, None]
        total = shares.sum(axis=1, keepdims=True)
        return np.asarray(shares / np.maximum(total, np.finfo(float).tiny))


def labels_of_neighbours(
    graph: NeighbourGraph, labels: Indices, weights: Array, distances: Array
) -> Indices:
    """Return a class for each row: its label, or what spread to it.

    Parameters
    ----------
    distances
        ``n x C``, hinge distances of a function that the labelled rows taught: a weak opinion.
    """
    n_classes = distances.shape[1]
    known = labels != UNLABELLED
    counts = np.bincount(labels[known], minlength=n_classes)
    guess = np.exp(distances.min(axis=1, keepdims=True) - distances)
    guess /= guess.sum(axis=1, keepdims=True)
    seeds = _TRUST * min(10.0, float(counts.mean())) * guess
    seeds[known] = np.eye(n_classes)[labels[known]]
    shares = graph.spread(seeds)
    prior = (counts + 1.0) / (counts + 1.0).sum()
    # Few labels tell a class's share badly: only the root of the correction is taken.
    factors = np.sqrt(class_factors(shares[~known], weights[~known], prior))
    return np.where(known, labels, (shares * factors).argmax(axis=1))


def settled_clusters(
    graph: NeighbourGraph, clusters: Indices, weights: Array, n_clusters: int
) -> Indices:
    """Let neighbours decide on clusters, over and over, while these keep their weight in sum."""
    mass = np.bincount(clusters, weights=weights, minlength=n_clusters)
    prior = np.maximum(mass, weights.min()) / np.maximum(mass, weights.min()).sum()
    for _ in range(_ROUNDS):
        shares = graph.spread(np.eye(n_clusters)[clusters])
        renewed = (shares * class_factors(shares, weights, prior)).argmax(axis=1)
        if np.array_equal(renewed, clusters):
            break
        clusters = renewed
    return clusters


def class_factors(shares: Array, weights: Array, prior: Array) -> Array:
    """Return a factor of each class that brings its mass among rows to its prior share."""
    factors = np.ones(shares.shape[1])
    least = np.finfo(float).eps
    for _ in range(30):
        scaled = shares * factors
        scaled /= np.maximum(scaled.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        mass = weights @ scaled / weights.sum()
        factors *= np.sqrt(prior / np.maximum(mass, least))
    return factors
