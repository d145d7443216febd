"""What a fit reports after each block, and when it has converged.

@@@
Algorithm 2: the descent from the start to the optimum, block by block.

The descent knows nothing of how a bit's SVM is solved. A `Machine` does that: with kernel
matrices and LIBSVM (`shlcore.svm`), or with random features and ADMM.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Generic, Protocol

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from shlcore.codewords import MemberLoss, move_codewords
from shlcore.hinge import hinge_loss
from shlcore.mkl import uniform_weights, weigh_kernels
from shlcore.objective import Evaluation, evaluate, regularisers
from shlcore.problem import UNLABELLED, Function, Model, Problem, Start

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from shlcore.array_types import Array, Floats, Indices


@dataclass(frozen=True, slots=True, eq=False)
class Step(Generic[Function]):
    """The state after one block.

    Parameters
    ----------
    iteration
        Outer pass; 0 is the start.
    bit
        The bit that was worked on (the last one, when several were).
    block
        "start", "svm", "kernels" or "codewords".
    objective
        Eq. (6) after the block. During the start it is that of the empty model.
    members
        Gamma as flat codeword indices.
    pass_ended
        Whether the outer pass is over, so that convergence may be judged.
    """

    iteration: int
    bit: int
    block: str
    objective: float
    model: Model[Function]
    members: Indices
    pass_ended: bool = False


def until_converged(
    steps: Iterator[Step[Function]], *, tol: float, max_iter: int
) -> Iterator[Step[Function]]:
    """Pass steps on until a pass lowers eq. (6) by less than ``tol`` and moves nobody.

    Warns when ``max_iter`` passes end the descent instead.
    """
    last: Step[Function] | None = None
    for step in steps:
        yield step
        if not step.pass_ended:
            continue
        if last is not None:
            gained = last.objective - step.objective
            settled = gained <= tol * max(abs(last.objective), np.finfo(float).tiny)
            if settled and np.array_equal(last.members, step.members):
                return
        if step.iteration >= max_iter:
            warnings.warn(
                f"SHL stopped after max_iter={max_iter} passes without converging to "
                f"tol={tol:g}; raise max_iter or tol.",
                ConvergenceWarning,
                # The caller of `SHL.fit`, past this, the stages, `moments`, `_iterate` and `fit`.
                stacklevel=6,
            )
            return
        last = step


@dataclass(frozen=True, slots=True, eq=False)
class BitSolution(Generic[Function]):
    """A hash function, f at the training rows, and ``||w_m||^2`` of each kernel."""

    function: Function
    projections: Floats
    squared_norms: Array


@dataclass(frozen=True, slots=True, eq=False)
class BitTask(Generic[Function]):
    """One SVM to solve: the rows' targets and costs, kernel weights, and what is there now."""

    targets: NDArray[np.int8]
    costs: Array
    kernel_weights: Array
    present: BitSolution[Function]

    def poses_the_same(self, other: BitTask[Function]) -> bool:
        """Whether both have one answer, to the last digit."""
        return (
            self.present.function is other.present.function
            and np.array_equal(self.targets, other.targets)
            and np.array_equal(self.costs, other.costs)
            and np.array_equal(self.kernel_weights, other.kernel_weights)
            and np.array_equal(self.present.projections, other.present.projections)
        )


class Machine(Protocol[Function]):
    """Solves block 1, and knows how its functions are turned round and scaled."""

    n_kernels: int
    at_once: int
    """How many SVMs are best handed over together."""
    foresight: int
    """How many SVMs are worth solving before their turn; 0: none."""
    precision: type[np.floating]
    """What f at the training rows is held in."""

    def solve(self, tasks: Sequence[BitTask[Function]]) -> list[BitSolution[Function]]:
        """Solve independent SVMs."""

    def foresee(self, tasks: Sequence[BitTask[Function]]) -> None:
        """Solve SVMs that `solve` is likely to be asked for next."""

    def empty(self) -> Function:
        """Return the function that is 0 everywhere."""

    def scaled(self, function: Function, factor: float) -> Function:
        """Return ``factor * f``."""


def begin_and_descend(
    problem: Problem, start: Start, machine: Machine[Function]
) -> Iterator[Step[Function]]:
    """Begin, then descend for ever."""
    step: Step[Function] | None = None
    for step in begin(problem, start, machine):
        yield step
    if step is not None:
        unsupervised = bool((problem.labels == UNLABELLED).all())
        alive = np.unique(step.members) if unsupervised else None
        yield from descend(problem, step.model, machine, keep_alive=alive)


def begin(problem: Problem, start: Start, machine: Machine[Function]) -> Iterator[Step[Function]]:
    """Fit every bit once to the start's memberships; the last step is where the descent starts."""
    kernel_weights = start.kernel_weights
    if kernel_weights is None:
        kernel_weights = np.tile(
            uniform_weights(machine.n_kernels, problem.p), (problem.n_bits, 1)
        )
    shape = (problem.n_bits, machine.n_kernels)
    empty = Model(
        codewords=start.codewords,
        projections=np.zeros((len(problem.labels), problem.n_bits), dtype=machine.precision),
        kernel_weights=kernel_weights,
        squared_norms=np.zeros(shape),
        functions=tuple(machine.empty() for _ in range(problem.n_bits)),
    )
    now = evaluate(problem, empty)
    ceiling = now.value
    taking_part = start.members != UNLABELLED
    chosen = np.where(taking_part, start.members, 0)
    costs = np.where(taking_part, problem.lambda1 * problem.weights, 0.0)
    model = empty
    batches = list(_batches(bit_groups(model), machine.at_once))
    for place, groups in enumerate(batches):
        _foresee(model, batches[place:], chosen, costs, machine, place)
        model = _fit_bits(model, groups, chosen, costs, machine)
        now = evaluate(problem, model)
        yield Step(0, groups[-1][-1], "start", ceiling, model, now.members)
    # Rows that waited may be so badly placed that no model at all would be better: shorten
    # w until it is not, so that the descent starts below the empty model.
    while now.value > ceiling:
        model = _halved(model, machine)
        now = evaluate(problem, model)
    model = _weigh(problem, model, range(problem.n_bits))
    now = evaluate(problem, model)
    yield Step(0, problem.n_bits - 1, "start", now.value, model, now.members, pass_ended=True)


def descend(
    problem: Problem,
    model: Model[Function],
    machine: Machine[Function],
    *,
    keep_alive: Indices | None = None,
) -> Iterator[Step[Function]]:
    """Yield after every block, for ever; eq. (6) never rises.

    Parameters
    ----------
    keep_alive
        Flat indices of codewords that may not lose their last member in the first pass
        (without labels, eq. (6) has a worthless optimum that puts everybody on one).
    """
    costs = problem.lambda1 * problem.weights
    now = evaluate(problem, model)
    for iteration in count(1):
        protected = keep_alive if iteration == 1 else None
        batches = list(_batches(bit_groups(model), machine.at_once))
        for place, groups in enumerate(batches):
            members = _with_survivors(now, protected)
            _foresee(model, batches[place:], members, costs, machine, place)
            bits = [bit for group in groups for bit in group]
            for block in ("svm", "kernels", "codewords"):
                if block == "svm":
                    candidate = _fit_bits(model, groups, members, costs, machine)
                elif block == "kernels":
                    candidate = _weigh(problem, model, bits)
                else:
                    fixed = problem.fixed_codewords
                    candidate = model if fixed else _move(problem, model, now.members)
                then = evaluate(problem, candidate)
                alive = protected is None or bool(np.isin(protected, then.members).all())
                if then.value <= now.value and alive:
                    model, now = candidate, then
                ended = groups is batches[-1] and block == "codewords"
                yield Step(iteration, bits[-1], block, now.value, model, now.members, ended)


def bit_groups(model: Model[Function]) -> list[list[int]]:
    """Gather the bits that pose one and the same SVM.

    Bits whose codeword column agrees up to the sign, and whose kernel weights are equal,
    differ by the sign of f alone.
    """
    columns = model.codewords.reshape(-1, model.codewords.shape[-1]).T
    groups: dict[bytes, list[int]] = {}
    for bit, (column, theta) in enumerate(zip(columns, model.kernel_weights, strict=True)):
        key = (column * column[0]).tobytes() + theta.tobytes()
        groups.setdefault(key, []).append(bit)
    return list(groups.values())


def _batches(groups: list[list[int]], size: int) -> Iterator[list[list[int]]]:
    for first in range(0, len(groups), size):
        yield groups[first : first + size]


def _with_survivors(now: Evaluation, protected: Indices | None) -> Indices:
    """Return gamma, but leave each protected codeword its nearest row if it would lose all."""
    if protected is None:
        return now.members
    members = now.members.copy()
    for codeword in protected:
        if not (members == codeword).any():
            distances = now.distances.reshape(len(members), -1)
            members[distances[:, codeword].argmin()] = codeword
    return members


def _foresee(
    model: Model[Function],
    coming: list[list[list[int]]],
    members: Indices,
    costs: Array,
    machine: Machine[Function],
    place: int,
) -> None:
    """Let a machine with foresight look at the next batches, every time it has none left."""
    if machine.foresight and place % machine.foresight == 0:
        groups = [group for batch in coming[: machine.foresight] for group in batch]
        machine.foresee(_tasks(model, groups, members, costs))


def _tasks(
    model: Model[Function], groups: list[list[int]], members: Indices, costs: Array
) -> list[BitTask[Function]]:
    """Return the SVM that each group of bits poses."""
    columns = model.codewords.reshape(-1, model.codewords.shape[-1])
    return [
        BitTask(
            columns[members, group[0]],
            costs,
            model.kernel_weights[group[0]],
            BitSolution(
                model.functions[group[0]],
                model.projections[:, group[0]],
                model.squared_norms[group[0]],
            ),
        )
        for group in groups
    ]


def _fit_bits(
    model: Model[Function],
    groups: list[list[int]],
    members: Indices,
    costs: Array,
    machine: Machine[Function],
) -> Model[Function]:
    """Block 1 for groups of bits, under memberships that stay fixed meanwhile."""
    columns = model.codewords.reshape(-1, model.codewords.shape[-1])
    tasks = _tasks(model, groups, members, costs)
    projections = model.projections.copy()
    squared_norms = model.squared_norms.copy()
    functions = list(model.functions)
    for group, task, solution in zip(groups, tasks, machine.solve(tasks), strict=True):
        if solution is task.present or not _lowers(task, solution):
            continue
        for bit in group:
            sign = float(columns[0, bit] * columns[0, group[0]])
            projections[:, bit] = sign * solution.projections
            squared_norms[bit] = solution.squared_norms
            functions[bit] = machine.scaled(solution.function, sign)
    return replace(
        model, projections=projections, squared_norms=squared_norms, functions=tuple(functions)
    )


def _lowers(task: BitTask[Function], solution: BitSolution[Function]) -> bool:
    """Whether a solution, exact to a tolerance only, is no worse than what was there."""

    def value(bit: BitSolution[Function]) -> float:
        loss = hinge_loss(task.costs, task.targets, bit.projections)
        return float(loss + regularisers(bit.squared_norms, task.kernel_weights))

    return value(solution) <= value(task.present)


def _weigh(problem: Problem, model: Model[Function], bits: Sequence[int]) -> Model[Function]:
    """Block 2 for some bits."""
    kernel_weights = model.kernel_weights.copy()
    chosen = list(bits)
    kernel_weights[chosen] = weigh_kernels(
        model.squared_norms[chosen], kernel_weights[chosen], problem.p
    )
    return replace(model, kernel_weights=kernel_weights)


def _move(problem: Problem, model: Model[Function], members: Indices) -> Model[Function]:
    """Block 3."""
    n_codewords = problem.n_classes * problem.n_codewords
    costs = problem.lambda1 * problem.weights
    loss = MemberLoss(model.projections, members, costs, n_codewords)
    return replace(model, codewords=move_codewords(loss, model.codewords, problem.lambda2))


def _halved(model: Model[Function], machine: Machine[Function]) -> Model[Function]:
    return replace(
        model,
        projections=0.5 * model.projections,
        squared_norms=0.25 * model.squared_norms,
        functions=tuple(machine.scaled(function, 0.5) for function in model.functions),
    )
