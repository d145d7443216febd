"""The descent in stages: unlabelled rows count little first, then more and more.

Each stage lowers its own eq. (6), in which unlabelled rows have that stage's weight. With full
weight from the start, a kernel that interpolates fits the first guess and no row ever moves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from shlcore.descent import Machine, begin, begin_and_descend, descend
from shlcore.objective import evaluate
from shlcore.problem import UNLABELLED, Function, Problem, Start
from shlcore.spreading import NeighbourGraph, labels_of_neighbours, settled_clusters
from shlcore.steps import Step, until_converged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shlcore.array_types import Indices

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
