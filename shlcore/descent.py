"""Algorithm 2: block coordinate descent on eq. (6), and its stopping rule.

A `BitSolver` solves the SVM of a bit: with kernel matrices and LIBSVM (`shlcore.svm`), or with
explicit features and ADMM (`shlcore.admm`).
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
from shlcore.mkl import regularisers, uniform_weights, weigh_kernels
from shlcore.objective import Evaluation, evaluate
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
        The bit of this block (the last one of several).
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
    """Yield steps until a pass lowers eq. (6) by less than ``tol`` and moves no row.

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
                # The caller of `SHL.fit`, behind `until_converged`, `descend_in_stages`,
                # `fit_states`, `_iterate` and `fit`.
                stacklevel=6,
            )
            return
        last = step


@dataclass(frozen=True, slots=True, eq=False)
class BitSolution(Generic[Function]):
    """A hash function with f at the training rows and ``||w_m||^2`` of each kernel."""

    function: Function
    projections: Floats
    squared_norms: Array


@dataclass(frozen=True, slots=True, eq=False)
class BitTask(Generic[Function]):
    """The SVM of one bit: targets, costs, kernel weights and current solution."""

    targets: NDArray[np.int8]
    costs: Array
    kernel_weights: Array
    current: BitSolution[Function]

    def is_same_problem(self, other: BitTask[Function]) -> bool:
        """Whether both tasks are equal to the last digit."""
        return (
            self.current.function is other.current.function
            and np.array_equal(self.targets, other.targets)
            and np.array_equal(self.costs, other.costs)
            and np.array_equal(self.kernel_weights, other.kernel_weights)
            and np.array_equal(self.current.projections, other.current.projections)
        )


class BitSolver(Protocol[Function]):
    """Solver of block 1 in its own representation of functions."""

    n_kernels: int
    batch_size: int
    """Number of SVMs in one call of `solve`."""
    n_prefetch: int
    """Number of SVMs to solve ahead of their turn; 0: none."""
    precision: type[np.floating]
    """Data type of f at the training rows."""

    def solve(self, tasks: Sequence[BitTask[Function]]) -> list[BitSolution[Function]]:
        """Solve independent SVMs."""

    def prefetch(self, tasks: Sequence[BitTask[Function]]) -> None:
        """Solve SVMs in advance that `solve` will probably receive next."""

    def zero(self) -> Function:
        """Return the function that is 0 everywhere."""

    def scale(self, function: Function, factor: float) -> Function:
        """Return ``factor * f``."""


def initialise_and_descend(
    problem: Problem, start: Start, solver: BitSolver[Function]
) -> Iterator[Step[Function]]:
    """Initialise, then descend without end."""
    step: Step[Function] | None = None
    for step in initialise(problem, start, solver):
        yield step
    if step is not None:
        unsupervised = bool((problem.labels == UNLABELLED).all())
        alive = np.unique(step.members) if unsupervised else None
        yield from descend(problem, step.model, solver, keep_alive=alive)


def initialise(
    problem: Problem, start: Start, solver: BitSolver[Function]
) -> Iterator[Step[Function]]:
    """Fit every bit once to the memberships of the start."""
    kernel_weights = start.kernel_weights
    if kernel_weights is None:
        kernel_weights = np.tile(uniform_weights(solver.n_kernels, problem.p), (problem.n_bits, 1))
    shape = (problem.n_bits, solver.n_kernels)
    empty = Model(
        codewords=start.codewords,
        projections=np.zeros((len(problem.labels), problem.n_bits), dtype=solver.precision),
        kernel_weights=kernel_weights,
        squared_norms=np.zeros(shape),
        functions=tuple(solver.zero() for _ in range(problem.n_bits)),
    )
    current = evaluate(problem, empty)
    ceiling = current.value
    active = start.members != UNLABELLED
    members = np.where(active, start.members, 0)
    costs = np.where(active, problem.lambda1 * problem.weights, 0.0)
    model = empty
    batches = list(_batches(bit_groups(model), solver.batch_size))
    for index, groups in enumerate(batches):
        _prefetch(model, batches[index:], members, costs, solver, index)
        model = _fit_bits(model, groups, members, costs, solver)
        current = evaluate(problem, model)
        yield Step(0, groups[-1][-1], "start", ceiling, model, current.members)
    # Rows that waited may have losses so large that the empty model would be better. Halving w
    # lets the descent start at or below the empty model.
    while current.value > ceiling:
        model = _halve_functions(model, solver)
        current = evaluate(problem, model)
    model = _update_kernel_weights(problem, model, range(problem.n_bits))
    current = evaluate(problem, model)
    yield Step(
        0, problem.n_bits - 1, "start", current.value, model, current.members, pass_ended=True
    )


def descend(
    problem: Problem,
    model: Model[Function],
    solver: BitSolver[Function],
    *,
    keep_alive: Indices | None = None,
) -> Iterator[Step[Function]]:
    """Yield a step after every block, without end; eq. (6) never rises.

    Parameters
    ----------
    keep_alive
        Flat indices of codewords that keep a member in the first pass (without labels, eq. (6)
        has a trivial optimum: all rows on one codeword).
    """
    costs = problem.lambda1 * problem.weights
    current = evaluate(problem, model)
    for iteration in count(1):
        protected = keep_alive if iteration == 1 else None
        batches = list(_batches(bit_groups(model), solver.batch_size))
        for index, groups in enumerate(batches):
            members = _keep_codewords_alive(current, protected)
            _prefetch(model, batches[index:], members, costs, solver, index)
            bits = [bit for group in groups for bit in group]
            for block in ("svm", "kernels", "codewords"):
                if block == "svm":
                    candidate = _fit_bits(model, groups, members, costs, solver)
                elif block == "kernels":
                    candidate = _update_kernel_weights(problem, model, bits)
                else:
                    fixed = problem.fixed_codewords
                    candidate = (
                        model if fixed else _update_codewords(problem, model, current.members)
                    )
                updated = evaluate(problem, candidate)
                alive = protected is None or bool(np.isin(protected, updated.members).all())
                if updated.value <= current.value and alive:
                    model, current = candidate, updated
                ended = groups is batches[-1] and block == "codewords"
                yield Step(
                    iteration, bits[-1], block, current.value, model, current.members, ended
                )


def bit_groups(model: Model[Function]) -> list[list[int]]:
    """Group the bits that have the same SVM.

    Bits with equal kernel weights and codeword columns that agree up to the sign have functions
    that agree up to the sign.
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


def _keep_codewords_alive(current: Evaluation, protected: Indices | None) -> Indices:
    """Return gamma, where protected codewords without members get their nearest row."""
    if protected is None:
        return current.members
    members = current.members.copy()
    for codeword in protected:
        if not (members == codeword).any():
            distances = current.distances.reshape(len(members), -1)
            members[distances[:, codeword].argmin()] = codeword
    return members


def _prefetch(
    model: Model[Function],
    remaining: list[list[list[int]]],
    members: Indices,
    costs: Array,
    solver: BitSolver[Function],
    index: int,
) -> None:
    """Prefetch the next batches whenever the solver has used up those before."""
    if solver.n_prefetch and index % solver.n_prefetch == 0:
        groups = [group for batch in remaining[: solver.n_prefetch] for group in batch]
        solver.prefetch(_bit_tasks(model, groups, members, costs))


def _bit_tasks(
    model: Model[Function], groups: list[list[int]], members: Indices, costs: Array
) -> list[BitTask[Function]]:
    """Return the SVM of each group of bits."""
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
    solver: BitSolver[Function],
) -> Model[Function]:
    """Update groups of bits by block 1, with fixed memberships."""
    columns = model.codewords.reshape(-1, model.codewords.shape[-1])
    tasks = _bit_tasks(model, groups, members, costs)
    projections = model.projections.copy()
    squared_norms = model.squared_norms.copy()
    functions = list(model.functions)
    for group, task, solution in zip(groups, tasks, solver.solve(tasks), strict=True):
        if solution is task.current or not _is_no_worse(task, solution):
            continue
        for bit in group:
            sign = float(columns[0, bit] * columns[0, group[0]])
            projections[:, bit] = sign * solution.projections
            squared_norms[bit] = solution.squared_norms
            functions[bit] = solver.scale(solution.function, sign)
    return replace(
        model, projections=projections, squared_norms=squared_norms, functions=tuple(functions)
    )


def _is_no_worse(task: BitTask[Function], solution: BitSolution[Function]) -> bool:
    """Whether a solution, exact to a tolerance only, is no worse than the current one."""

    def value(bit: BitSolution[Function]) -> float:
        loss = hinge_loss(task.costs, task.targets, bit.projections)
        return float(loss + regularisers(bit.squared_norms, task.kernel_weights))

    return value(solution) <= value(task.current)


def _update_kernel_weights(
    problem: Problem, model: Model[Function], bits: Sequence[int]
) -> Model[Function]:
    """Update the kernel weights of some bits by block 2."""
    kernel_weights = model.kernel_weights.copy()
    chosen = list(bits)
    kernel_weights[chosen] = weigh_kernels(
        model.squared_norms[chosen], kernel_weights[chosen], problem.p
    )
    return replace(model, kernel_weights=kernel_weights)


def _update_codewords(
    problem: Problem, model: Model[Function], members: Indices
) -> Model[Function]:
    """Update the codewords by block 3."""
    n_codewords = problem.n_classes * problem.n_codewords
    costs = problem.lambda1 * problem.weights
    loss = MemberLoss(model.projections, members, costs, n_codewords)
    return replace(model, codewords=move_codewords(loss, model.codewords, problem.lambda2))


def _halve_functions(model: Model[Function], solver: BitSolver[Function]) -> Model[Function]:
    return replace(
        model,
        projections=0.5 * model.projections,
        squared_norms=0.25 * model.squared_norms,
        functions=tuple(solver.scale(function, 0.5) for function in model.functions),
    )
