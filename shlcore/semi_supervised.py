"""Semi-supervised descent: label spreading, stages, leave-one-out rounds.

A kernel that interpolates fits any guess, so that f confirms it: in eq. (5) no row moves. Two
remedies begin with labels that spread over neighbouring rows, as classes seldom change between
neighbours.

*Stages* follow the paper then, with a weight of the unlabelled rows that grows from stage to
stage. Few rows move.

*Leave-one-out rounds* fit all rows to their codewords, and each unlabelled row chooses its next
codeword by f without the row itself (the span rule, `shlcore.calibration`). So functions, kernel
weights and memberships move together until none changes, and labels that were spread wrongly are
taken back (tests/benchmarks/SEMI.md).

Neither is better than the labelled rows alone everywhere. `supports_unlabelled` compares a round
with these on labelled rows that are left out by folds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic

import numpy as np
from scipy import sparse

from shlcore.calibration import learn_temperature, log_probabilities
from shlcore.descent import (
    BitSolver,
    Step,
    descend,
    initialise,
    initialise_and_descend,
    until_converged,
)
from shlcore.hinge import class_scores, hinge_distances
from shlcore.kernels import gram_squared_distances
from shlcore.objective import evaluate
from shlcore.problem import UNLABELLED, Function, Problem, Start

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from shlcore.array_types import Array, Floats, Indices
    from shlcore.problem import Model

    HeldOut = Callable[[Sequence[Function], Floats, Array], Floats]
    """Returns f of each row by the other rows: `TrainingView.held_out_projections`."""


STAGE_WEIGHTS = (1e-3, 3e-2, 1.0)
"""Weights of unlabelled rows, stage by stage. Rows move in the first one (digits with 30 labels:
with a single stage of weight 1 no row moves); two stages in between instead of one change
nothing."""

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

_LEAVE_ONE_OUT_ROUNDS = 6
"""Maximum number of leave-one-out rounds. On the sets of tests/benchmarks/SEMI.md the later rounds
move under 1 % of the rows."""

_SETTLED = 0.005
"""Share of moved rows below which leave-one-out rounds end."""

_FOLDS = 5
"""Folds of the labelled rows in `supports_unlabelled`."""


@dataclass(frozen=True, slots=True, eq=False)
class StagePlan(Generic[Function]):
    """Settings of the stages.

    Parameters
    ----------
    weights
        Weight of unlabelled rows in each stage.
    graph
        Neighbours for label spreading at the start; None: no spreading.
    held_out
        For leave-one-out rounds after the spreading; None: no rounds.
    tol, max_iter
        Stopping rule of each stage.
    """

    weights: tuple[float, ...]
    graph: NeighbourGraph | None
    held_out: HeldOut[Function] | None
    tol: float
    max_iter: int


def descend_in_stages(
    problem: Problem, start: Start, solver: BitSolver[Function], plan: StagePlan[Function]
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
    problem: Problem, start: Start, solver: BitSolver[Function], plan: StagePlan[Function]
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
    if (problem.labels == UNLABELLED).all():
        count = problem.n_classes * problem.n_codewords
        members = refine_clusters(plan.graph, step.members, problem.weights, count)
    else:
        members = _spread(problem, step.model, plan.graph)
    if _has_waiting_rows(start):
        begun = replace(start, members=members)
        if plan.held_out is not None:
            yield from _leave_one_out_rounds(problem, begun, solver, plan.held_out)
        else:
            yield from initialise_and_descend(problem, begun, solver)
        return
    for restarted in initialise(problem, replace(start, members=members), solver):
        if restarted.pass_ended and restarted.objective < step.objective:
            step = restarted
            yield step
    yield from descend(problem, step.model, solver, keep_alive=np.unique(step.members))


def _leave_one_out_rounds(
    problem: Problem,
    start: Start,
    solver: BitSolver[Function],
    held_out: HeldOut[Function],
) -> Iterator[Step[Function]]:
    """Let unlabelled rows choose codewords by f without themselves, then descend."""
    unlabelled = problem.labels == UNLABELLED
    for _ in range(_LEAVE_ONE_OUT_ROUNDS):
        step = yield from _begin(problem, start, solver)
        members = _choose_codewords(problem, step.model, start.members, held_out)
        moved = float((members != start.members)[unlabelled].mean())
        start = replace(start, members=members)
        if moved <= _SETTLED:
            break
    yield from initialise_and_descend(problem, start, solver)


def _begin(
    problem: Problem, start: Start, solver: BitSolver[Function]
) -> Generator[Step[Function], None, Step[Function]]:
    """Initialise, without the end of a pass; return the last step."""
    steps = initialise(problem, start, solver)
    step = next(steps)
    yield replace(step, pass_ended=False)
    for step in steps:
        yield replace(step, pass_ended=False)
    return step


def _choose_codewords(
    problem: Problem,
    model: Model[Function],
    members: Indices,
    held_out: HeldOut[Function],
) -> Indices:
    """Return the codeword of each row by leave-one-out f, with balanced classes."""
    unlabelled = problem.labels == UNLABELLED
    costs = problem.lambda1 * problem.weights
    projections = held_out(model.functions, model.projections, costs)
    scores, classes = class_scores(projections, model.codewords), members // problem.n_codewords
    temperature = learn_temperature(scores, classes, problem.weights)
    shares = np.exp(log_probabilities(scores, temperature))
    counts = np.bincount(problem.labels[~unlabelled], minlength=problem.n_classes)
    chosen = _balanced_choice(shares[unlabelled], problem.weights[unlabelled], counts)
    classes = classes.copy()
    classes[unlabelled] = chosen
    distances = hinge_distances(projections, model.codewords)
    own = distances[np.arange(len(classes)), classes].argmin(axis=1)
    return np.asarray(classes * problem.n_codewords + own)


def _balanced_choice(shares: Array, weights: Array, counts: Indices) -> Indices:
    """Return the class of the largest share, balanced towards the prior.

    Few labels estimate the class shares badly, hence only the root of the correction.
    """
    prior = (counts + 1.0) / (counts + 1.0).sum()
    factors = np.sqrt(class_factors(shares, weights, prior))
    return np.asarray((shares * factors).argmax(axis=1))


def supports_unlabelled(
    problem: Problem,
    start: Start,
    solver: BitSolver[Function],
    graph: NeighbourGraph,
    held_out: HeldOut[Function],
) -> bool:
    """Whether a leave-one-out round is no worse than functions of labelled rows alone.

    Both guess the labels of labelled rows that are left out by folds. The round is rejected if it
    loses more rows to the functions than it wins. Where each class has a single label, no fold
    can tell.
    """
    known = np.flatnonzero(problem.labels != UNLABELLED)
    order = known[np.argsort(problem.labels[known], kind="stable")]
    won = lost = 0
    for fold in range(_FOLDS):
        out = order[fold::_FOLDS]
        labels = problem.labels.copy()
        labels[out] = UNLABELLED
        rest = labels != UNLABELLED
        if not out.size or not rest.any():
            continue
        weights = np.where(rest, problem.weights, 0.0)
        members = np.where(rest, start.members, UNLABELLED)
        alone = replace(problem, labels=labels, weights=weights)
        model = _fit_start(alone, replace(start, members=members), solver)
        function = evaluate(alone, model).distances.min(axis=2)[out].argmin(axis=1)
        hidden = replace(problem, labels=labels)
        members = _spread(hidden, model, graph)
        model = _fit_start(hidden, replace(start, members=members), solver)
        chosen = _choose_codewords(hidden, model, members, held_out)[out] // problem.n_codewords
        truth = problem.labels[out]
        won += int(np.count_nonzero((chosen == truth) & (function != truth)))
        lost += int(np.count_nonzero((chosen != truth) & (function == truth)))
    return lost <= won


def _fit_start(problem: Problem, start: Start, solver: BitSolver[Function]) -> Model[Function]:
    """Return the model that is fitted to the memberships of a start."""
    *_, last = initialise(problem, start, solver)
    return last.model


def _has_waiting_rows(start: Start) -> bool:
    """Whether rows wait until the labelled ones are fitted."""
    return bool((start.members == UNLABELLED).any())


def _spread(problem: Problem, model: Model[Function], graph: NeighbourGraph) -> Indices:
    """Return the codeword of each row after spreading labels."""
    distances = evaluate(problem, model).distances
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
    classes = labels.copy()
    classes[~known] = _balanced_choice(shares[~known], weights[~known], counts)
    return classes


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
