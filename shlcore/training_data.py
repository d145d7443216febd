"""A training set in the solver's form, and the fit of it step by step.

`TrainingData` knows how its solver writes down a hash function, and what it hands out, a
`Moment` for each step, no longer does. So the estimator treats all solvers alike.


@@@
From checked samples, labels and weights to the training data of a solver.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Generic, Literal, Protocol

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.class_weight import compute_class_weight

from shlcore.calibration import learn_temperature
from shlcore.clustering import WeightedRows
from shlcore.codewords import count_distinct, spread_codewords
from shlcore.feature_data import FeatureHash, feature_space
from shlcore.fit_result import Fitted, Stages
from shlcore.gram_matrices import Grams
from shlcore.hinge import class_scores, hinge_distances, nearest_codewords
from shlcore.kernel_data import GivenRows, GramSpace, RowHash, StackHash
from shlcore.parameters import bytes_of
from shlcore.problem import UNLABELLED, Function, Model, Problem, Start
from shlcore.samples import LEFT_OUT, Rows, SampleRows, ScaledRows, encode_labels, gather_rows
from shlcore.scaling import learn_scaling, merge, summarise
from shlcore.semi_supervised import ANNEALED, FEW_LABELS, Plan, descend_in_stages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import ArrayLike

    from shlcore.admm import FeatureFunction
    from shlcore.array_types import AnyArray, Array, Floats, Indices, Table
    from shlcore.descent import Machine, Step
    from shlcore.fit_result import Hash
    from shlcore.parameters import Parameters
    from shlcore.samples import Rows, SeenColumns
    from shlcore.semi_supervised import NeighbourGraph
    from shlcore.svm import KernelFunction


_HARDLY = 0.1
_ENOUGH = 1.0
"""At a lambda1 below, a class may lose all rows but a tenth: then this is taken. With kernels
normalised to k(x, x) = 1, a row of this cost can reach the margin by itself."""


class Space(Protocol[Function]):
    """What a solver works on: the training rows as its kernels see them."""

    @property
    def n_kernels(self) -> int:
        """How many kernels there are."""

    def machine(self, tol: float, n_jobs: int) -> Machine[Function]:
        """Return what solves block 1, several bits at a time if there are jobs for that."""

    def clusters(self, some: WeightedRows, count: int, rng: np.random.Generator) -> Indices:
        """Split some rows into clusters."""

    def hash_of(self, functions: Sequence[Function]) -> Hash:
        """Make learnt functions ready for further samples."""

    def held_out(self, functions: Sequence[Function], projections: Floats, costs: Array) -> Floats:
        """Return f of each row by functions that do not know it, as far as that can be told."""

    def graph(self) -> NeighbourGraph | None:
        """Tie rows to their neighbours; None where there are too many rows for that."""


@dataclass(frozen=True, slots=True, eq=False)
class Moment:
    """A step of a fit, whichever solver made it.

    Parameters
    ----------
    projections
        ``n x B``, f at the training samples; NaN for those that were left out.
    fitted
        Call it for the record of what has been learnt so far.
    """

    objective: float
    iteration: int
    bit: int
    block: str
    pass_ended: bool
    projections: Floats
    fitted: Callable[[], Fitted]


@dataclass(frozen=True, slots=True, eq=False)
class TrainingData(Generic[Function]):
    """What a fit works on.

    Parameters
    ----------
    classes
        The labels' values.
    rows
        How samples were gathered into rows.
    problem
        Labels, weights and constants of the rows.
    space
        Where the solver finds the rows' kernels.
    solver
        "exact" or "random_features".
    columns
        What X looks like.
    project_samples
        Returns f at some of the samples, given hash functions: for samples that were left out.
    """

    classes: AnyArray
    rows: Rows
    problem: Problem
    space: Space[Function]
    solver: str
    columns: SeenColumns
    project_samples: Callable[[Hash, Indices], Floats]

    def cold_start(self, rng: np.random.Generator) -> Start:
        """Return spread codewords, and the codeword of each row (UNLABELLED: not yet known).

        With labels, unlabelled rows wait. Where labels say too little (no labels at all, or
        several codewords a class), clusters in the kernels' space decide.
        """
        problem = self.problem
        codewords = spread_codewords(problem.n_classes, problem.n_codewords, problem.n_bits, rng)
        labels, s = problem.labels, problem.n_codewords
        labelled = labels != UNLABELLED
        if not labelled.any():
            members = self._clusters(np.arange(len(labels)), problem.n_classes * s, rng)
            return Start(codewords, members)
        members = np.where(labelled, labels * s, UNLABELLED)
        if s > 1:
            for c in range(problem.n_classes):
                own = np.flatnonzero(labels == c)
                members[own] += self._clusters(own, s, rng)
        return Start(codewords, members)

    def continues(self, earlier: Fitted) -> bool:
        """Whether an earlier fit had the same classes, features, codes and kernels."""
        shape = (self.problem.n_classes, self.problem.n_codewords, self.problem.n_bits)
        return (
            earlier.columns.count == self.columns.count
            and np.array_equal(earlier.classes, self.classes)
            and earlier.codewords.shape == shape
            and earlier.kernel_weights.shape[1] == self.space.n_kernels
        )

    def warm_start(self, earlier: Fitted, projections: Floats) -> Start:
        """Return the codewords of an earlier fit, and whom its hash functions assign to them.

        ``projections`` are the earlier f at all samples, ``n x B``.
        """
        distances = hinge_distances(projections[self.rows.first], earlier.codewords)
        members, _ = nearest_codewords(distances, self.problem.labels)
        return Start(earlier.codewords, members, earlier.kernel_weights)

    def plan(self, start: Start, parameters: Parameters) -> Plan:
        """Settle the stages: one, unless unlabelled rows are to count more and more.

        Where labels are not few, the function of the labelled rows knows more than neighbours.
        A start in which all rows have a codeword although there are labels is a warm one: it has
        been through the stages already.
        """
        unlabelled = self.problem.labels == UNLABELLED
        weight = 1.0 if parameters.annealed else float(parameters.unlabelled_weight)
        weights: tuple[float, ...] = (1.0 if unlabelled.all() else weight,)
        graph: NeighbourGraph | None = None
        fresh = start.kernel_weights is None
        few = (~unlabelled).mean() <= FEW_LABELS
        if parameters.annealed and fresh and unlabelled.any() and few:
            graph = self.space.graph()
            if graph is not None and not unlabelled.all():
                weights = ANNEALED
        return Plan(weights, graph, parameters.tol, parameters.max_iter)

    def moments(self, start: Start, parameters: Parameters) -> Iterator[Moment]:
        """Descend from a start, stage by stage, until nothing changes any more.

        A cost at which no function tells some class from the others is raised, and the descent
        begins anew: those are further stages.
        """
        plan = self.plan(start, parameters)
        machine = self.space.machine(parameters.tol, parameters.threads)
        path: list[float] = []
        marks: list[tuple[float, int, float]] = []
        passes = 0
        for cost in (self.problem.lambda1, _ENOUGH):
            problem = replace(self.problem, lambda1=cost)
            before, first, step = len(marks), passes, None
            for stage, found in descend_in_stages(problem, start, machine, plan):
                step = replace(found, iteration=first + found.iteration)
                passes = step.iteration
                if step.block != "start" or step.pass_ended:
                    if before + stage == len(marks):
                        marks.append((plan.weights[stage], len(path), cost))
                    path.append(step.objective)
                yield self._moment(step, tuple(path), _stages(marks), parameters)
            if step is None or cost >= _ENOUGH or not self.undecided(step.model):
                return

    def undecided(self, model: Model[Function]) -> int:
        """Return of how many classes hardly any labelled row is decoded right."""
        known = self.problem.labels != UNLABELLED
        if not known.any():
            return 0
        labels = self.problem.labels[known]
        found = class_scores(model.projections[known], model.codewords).argmax(axis=1)
        right = np.bincount(labels[found == labels], minlength=self.problem.n_classes)
        return int(np.count_nonzero(right < _HARDLY * np.bincount(labels)))

    def _moment(
        self,
        step: Step[Function],
        path: tuple[float, ...],
        stages: Stages,
        parameters: Parameters,
    ) -> Moment:
        projections = step.model.projections[self.rows.row_of_sample]
        projections[self.rows.row_of_sample == LEFT_OUT] = np.nan
        return Moment(
            step.objective,
            step.iteration,
            step.bit,
            step.block,
            step.pass_ended,
            projections,
            partial(self._fitted, step, path, stages, parameters),
        )

    def _fitted(
        self,
        step: Step[Function],
        path: tuple[float, ...],
        stages: Stages,
        parameters: Parameters,
    ) -> Fitted:
        """Return the record of a step."""
        model, decoding = step.model, parameters.decoding
        hash_ = self.space.hash_of(model.functions)
        rows = self.rows.row_of_sample
        found = np.where(rows == LEFT_OUT, 0, (step.members // self.problem.n_codewords)[rows])
        left_out = np.flatnonzero(rows == LEFT_OUT)
        if left_out.size:
            projections = self.project_samples(hash_, left_out)
            found[left_out] = class_scores(projections, model.codewords, decoding).argmax(axis=1)
        temperature: float | None = None
        if parameters.probability:
            cost = stages.costs[-1] if stages.costs else self.problem.lambda1
            temperature = self._temperature(step, decoding, cost)
        return Fitted(
            classes=self.classes,
            codewords=model.codewords.copy(),
            n_codewords=count_distinct(model.codewords),
            kernel_weights=model.kernel_weights,
            squared_norms=model.squared_norms,
            objective=np.array(path),
            stages=stages,
            transduction=self.classes[found],
            n_iter=step.iteration,
            solver=self.solver,
            columns=self.columns,
            hash=hash_,
            temperature=temperature,
        )

    def _temperature(self, step: Step[Function], decoding: str, cost: float) -> float:
        """Learn how sure scores are, from labelled rows; without labels, from the answers."""
        problem, model = self.problem, step.model
        known = problem.labels != UNLABELLED
        labels = problem.labels if known.any() else step.members // problem.n_codewords
        chosen = np.flatnonzero(known if known.any() else problem.weights > 0)
        costs = cost * problem.weights
        held_out = self.space.held_out(model.functions, model.projections, costs)[chosen]
        scores = class_scores(held_out, model.codewords, decoding)
        return learn_temperature(scores, labels[chosen], problem.weights[chosen])

    def _clusters(self, rows: Indices, count: int, rng: np.random.Generator) -> Indices:
        weights: Array = self.problem.weights[rows]
        return self.space.clusters(WeightedRows(rows, weights), count, rng)


def _stages(marks: list[tuple[float, int, float]]) -> Stages:
    weights, starts, costs = tuple(zip(*marks, strict=True)) or ((), (), ())
    return Stages(weights, starts, costs)


Solver = Literal["exact", "random_features"]
"""Which of the two it is, once "auto" is settled."""


def chosen_solver(
    parameters: Parameters, columns: SeenColumns, n_samples: int, *, dask: bool
) -> Solver:
    """Settle the solver: as asked, or random features if kernel matrices need too much memory.

    The samples of a Dask array are never brought together, so it wants random features, too.
    """
    if parameters.solver != "auto":
        return parameters.solver
    needed = 8.0 * len(parameters.bank(columns)) * n_samples**2
    large = needed > bytes_of(parameters.memory) or dask
    return "random_features" if large else "exact"


def gather(
    samples: Grams | SampleRows | Table,
    columns: SeenColumns,
    targets: tuple[ArrayLike | None, ArrayLike | None],
    parameters: Parameters,
    solver: Solver,
    rng: np.random.Generator,
) -> TrainingData[KernelFunction] | TrainingData[FeatureFunction]:
    """Check labels and weights, and bring all into the form that the chosen solver wants.

    The exact solver gathers equal samples into weighted rows.

    Parameters
    ----------
    samples
        Checked already; ``Grams`` if the kernels were precomputed, `SampleRows` for the exact
        solver.
    targets
        ``y`` and ``sample_weight`` as the user gave them.
    rng
        Draws features.
    """
    y, sample_weight = targets
    n_samples = _count(samples)
    classes, labels = _labels(y, n_samples, parameters)
    weights = _weights(sample_weight, n_samples)
    known = labels != UNLABELLED
    if parameters.class_weight is not None and known.any():
        factors = compute_class_weight(
            parameters.class_weight, classes=classes, y=classes[labels[known]]
        )
        weights[known] *= factors[labels[known]]
    # Columns are brought to one scale, and kernels chosen, by the same samples in both modes.
    seen = np.flatnonzero(weights > 0)
    if not parameters.transductive:
        weights = np.where(labels == UNLABELLED, 0.0, weights)
    rows = gather_rows(samples if isinstance(samples, SampleRows) else None, labels, weights)
    _check_every_class_has_rows(classes, rows, unsupervised=y is None)
    problem = Problem(
        labels=rows.labels,
        weights=rows.weights,
        n_classes=len(classes),
        n_codewords=int(parameters.n_codewords),
        n_bits=parameters.bits_for(len(classes)),
        lambda1=float(parameters.lambda1),
        lambda2=float(parameters.lambda2),
        p=float(parameters.p),
    )
    project = partial(_project_samples, samples)
    if isinstance(samples, Grams):
        space = GramSpace(samples.among(rows.first), (rows.first, samples.n_rows))
    elif isinstance(samples, SampleRows):
        every = samples, _weights(sample_weight, n_samples)
        space = _gram_space(every, columns, rows, parameters)
    else:
        features = feature_space(samples, rows, (columns, seen), parameters, rng)
        return TrainingData(classes, rows, problem, features, solver, columns, project)
    return TrainingData(classes, rows, problem, space, solver, columns, project)


def _gram_space(
    every: tuple[SampleRows, Array], columns: SeenColumns, rows: Rows, parameters: Parameters
) -> GramSpace:
    """Compute the kernels of the rows; ``every`` is all samples and their weights."""
    samples, weights = every
    seen = np.flatnonzero(weights > 0)
    parts = [summarise(block, weights[seen[place]]) for place, block in samples.blocks(seen)]
    scaling = learn_scaling(parameters.scale, merge(parts))
    bank = parameters.bank(columns, ScaledRows(samples, seen, scaling))
    scaled = ScaledRows(samples, rows.first, scaling)
    return GramSpace(Grams(bank.matrices(scaled)), GivenRows(bank, scaled))


def _count(samples: Grams | SampleRows | Table) -> int:
    if isinstance(samples, Grams):
        return samples.n_rows
    return len(samples) if isinstance(samples, SampleRows) else int(samples.shape[0])


def _project_samples(samples: Grams | SampleRows | Table, hash_: Hash, chosen: Indices) -> Floats:
    """Return f at some of the samples, by hash functions that were learnt on these samples."""
    if isinstance(samples, Grams):
        if isinstance(hash_, StackHash):
            return hash_.project(samples.matrices_of(chosen))
    elif isinstance(samples, SampleRows):
        if isinstance(hash_, RowHash):
            return hash_.project(samples, chosen)
    elif isinstance(hash_, FeatureHash):
        return hash_.project(samples[chosen])
    raise TypeError(f"samples: wanted those of {type(hash_).__name__}, got other ones")


def _labels(
    y: ArrayLike | None, n_samples: int, parameters: Parameters
) -> tuple[AnyArray, Indices]:
    n_classes = parameters.n_classes
    if y is None:
        if n_classes is None:
            raise ValueError(
                "y: SHL requires y to be passed, but the target y is None; "
                "to learn without labels, set n_classes"
            )
        return np.arange(n_classes), np.full(n_samples, UNLABELLED, dtype=np.intp)
    classes, labels = encode_labels(y, n_samples, parameters.unlabelled)
    if n_classes is not None and n_classes != len(classes):
        raise ValueError(
            f"n_classes: wanted labelled samples of {n_classes} classes, got {len(classes)}: "
            f"{list(classes)}"
        )
    return classes, labels


def _weights(sample_weight: ArrayLike | None, n_samples: int) -> Array:
    if sample_weight is None:
        return np.ones(n_samples)
    weights: Array = check_array(
        sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight"
    )
    if weights.ndim == 0:
        weights = np.full(n_samples, float(weights))
    if weights.shape != (n_samples,):
        raise ValueError(
            f"sample_weight: wanted {n_samples} numbers, one for each sample, "
            f"got shape {weights.shape}"
        )
    if weights.min() < 0:
        raise ValueError(f"sample_weight: wanted no negative weight, got {weights.min()!r}")
    return weights


def _check_every_class_has_rows(classes: AnyArray, rows: Rows, *, unsupervised: bool) -> None:
    if unsupervised:
        if len(rows.labels) < len(classes):
            raise ValueError(
                f"n_classes: wanted at least {len(classes)} different samples, "
                f"got {len(rows.labels)}"
            )
        return
    missing = np.setdiff1d(np.arange(len(classes)), rows.labels)
    if missing.size:
        raise ValueError(
            f"sample_weight: wanted a labelled sample of positive weight of every class, "
            f"got none of class {classes[missing[0]]}"
        )
