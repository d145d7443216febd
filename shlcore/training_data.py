"""Training data in the form of a solver, and the fit on them step by step.

`TrainingData` depends on the solver's representation of hash functions. The `FitState` that it
yields after each step does not, so that the estimator is the same for all solvers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Generic, Literal, Protocol

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.class_weight import compute_class_weight

from shlcore.calibration import codeword_distances, distance_quantiles, learn_temperature
from shlcore.clustering import WeightedRows
from shlcore.codewords import count_distinct, spread_codewords
from shlcore.feature_data import FeatureData, FeatureHash, prepare_feature_data
from shlcore.fit_result import FitResult, Stages
from shlcore.gram_matrices import Grams
from shlcore.hinge import class_scores, hinge_distances, nearest_codewords
from shlcore.kernel_data import KernelData, KernelRows, PrecomputedHash, RowHash
from shlcore.parameters import bytes_of
from shlcore.problem import UNLABELLED, Function, Model, Problem, Start
from shlcore.samples import (
    LEFT_OUT,
    Rows,
    SampleRows,
    ScaledRows,
    encode_labels,
    merge_equal_samples,
)
from shlcore.scaling import learn_scaling, merge, summarise
from shlcore.selection import (
    FEW_LABELS_COST,
    NO_LABELS_COST,
    choose,
    choose_rows,
    has_enough_labels,
)
from shlcore.semi_supervised import (
    STAGE_WEIGHTS,
    StagePlan,
    descend_in_stages,
    supports_unlabelled,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from shlcore.admm import FeatureFunction
    from shlcore.array_types import AnyArray, Array, Floats, Indices, Table
    from shlcore.descent import BitSolver, Step
    from shlcore.feature_data import Selector
    from shlcore.fit_result import Hash
    from shlcore.kernels import KernelBank
    from shlcore.parameters import Parameters
    from shlcore.samples import ColumnInfo, Rows
    from shlcore.selection import Choice
    from shlcore.semi_supervised import NeighbourGraph
    from shlcore.svm import KernelFunction


MIN_CLASS_RECALL = 0.1
FALLBACK_LAMBDA1 = 1.0
"""With a smaller lambda1 the recall of a class among labelled rows may fall below the first
constant; then lambda1 is raised to the second. With kernels normalised to k(x, x) = 1, a row of
this cost can reach the margin by itself."""

_SINGLE_PRECISION_FROM = 1000
"""Rows from which on kernel matrices have single precision: half of the memory and traffic. With
2000 rows of usps, pendigits and letter no prediction changes."""

Solver = Literal["exact", "random_features"]
"""The solver in use, after resolving "auto"."""


class TrainingView(Protocol[Function]):
    """Training rows in the form of a solver: kernel matrices or explicit features."""

    @property
    def n_kernels(self) -> int:
        """Number of kernels."""

    def bit_solver(self, tol: float, n_jobs: int) -> BitSolver[Function]:
        """Return the solver of block 1, on up to ``n_jobs`` threads."""

    def clusters(self, some: WeightedRows, count: int, rng: np.random.Generator) -> Indices:
        """Split some rows into clusters."""

    def hash_of(self, functions: Sequence[Function]) -> Hash:
        """Return the hash functions for further samples."""

    def held_out_projections(
        self, functions: Sequence[Function], projections: Floats, costs: Array
    ) -> Floats:
        """Return an estimate of f at each row by functions learnt without the row."""

    def residuals(self, functions: Sequence[Function]) -> Array | None:
        """Return the share of each row that kernels with other rows do not explain."""

    def neighbour_graph(self) -> NeighbourGraph | None:
        """Return the neighbour graph of the rows; None if it is too large or too small."""


@dataclass(frozen=True, slots=True, eq=False)
class FitState:
    """The state of a fit after one step, independent of the solver.

    Parameters
    ----------
    projections
        ``n x B``, f at the training samples; NaN for those that were left out.
    result
        Returns the result so far.
    """

    objective: float
    iteration: int
    bit: int
    block: str
    pass_ended: bool
    projections: Floats
    result: Callable[[], FitResult]


@dataclass(frozen=True, slots=True, eq=False)
class TrainingData(Generic[Function]):
    """The checked data of a fit.

    Parameters
    ----------
    classes
        Values of the labels.
    rows
        Samples merged into rows.
    problem
        Labels, weights and constants of the rows.
    view
        The rows in the form of the solver.
    solver
        "exact" or "random_features".
    columns
        Columns of X.
    project_samples
        Returns f at some of the samples, given hash functions: for samples that were left out.
    choice
        Kernels, lambda1 and codewords as chosen by leave-one-out; None: too few labels.
    """

    classes: AnyArray
    rows: Rows
    problem: Problem
    view: TrainingView[Function]
    solver: str
    columns: ColumnInfo
    project_samples: Callable[[Hash, Indices], Floats]
    choice: Choice | None

    def cold_start(
        self, rng: np.random.Generator, codewords: NDArray[np.int8] | None = None
    ) -> Start:
        """Return given or spread codewords and initial memberships.

        If there are labels, unlabelled rows wait (`UNLABELLED`). Without labels, and among several
        codewords of a class, clusters in kernel space decide.
        """
        problem = self.problem
        if codewords is not None and len(codewords) != problem.n_classes:
            raise ValueError(
                f"codewords: wanted those of {problem.n_classes} classes, got {len(codewords)}"
            )
        if codewords is None:
            codewords = spread_codewords(
                problem.n_classes, problem.n_codewords, problem.n_bits, rng
            )
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

    def is_compatible(self, earlier: FitResult) -> bool:
        """Whether an earlier fit had the same classes, features, codes and kernels."""
        shape = (self.problem.n_classes, self.problem.n_codewords, self.problem.n_bits)
        return (
            earlier.columns.count == self.columns.count
            and np.array_equal(earlier.classes, self.classes)
            and earlier.codewords.shape == shape
            and earlier.kernel_weights.shape[1] == self.view.n_kernels
        )

    def warm_start(self, earlier: FitResult, projections: Floats) -> Start:
        """Return the codewords of an earlier fit, with the memberships by its functions.

        ``projections`` are the earlier f at all samples, ``n x B``.
        """
        distances = hinge_distances(projections[self.rows.first], earlier.codewords)
        members, _ = nearest_codewords(distances, self.problem.labels)
        return Start(earlier.codewords, members, earlier.kernel_weights)

    def plan(
        self,
        problem: Problem,
        start: Start,
        solver: BitSolver[Function],
        parameters: Parameters,
        *,
        warm: bool,
    ) -> StagePlan[Function]:
        """Choose how unlabelled rows take part: `SHL.semi_supervised`.

        A warm start has been through it already. Without a graph (few rows, or the solver for
        large data) labels do not spread, and "auto" leaves unlabelled rows out.
        """
        unlabelled = problem.labels == UNLABELLED
        stop = parameters.tol, parameters.max_iter
        mode, weight = parameters.semi_supervised, float(parameters.unlabelled_weight)
        if not unlabelled.any() or warm or mode == "paper":
            return StagePlan((1.0 if unlabelled.all() else weight,), None, None, *stop)
        graph = self.view.neighbour_graph()
        if unlabelled.all():
            return StagePlan((1.0,), graph, None, *stop)
        if mode == "auto" and (
            graph is None
            or not supports_unlabelled(
                problem, start, solver, graph, self.view.held_out_projections
            )
        ):
            return StagePlan((0.0,), None, None, *stop)
        if mode == "spreading" and graph is not None:
            # With a smaller cost than 1 functions would not follow the labels that were spread.
            least = min(1.0, 1.0 / problem.lambda1)
            weights = tuple(weight * max(part, least) for part in STAGE_WEIGHTS)
            return StagePlan(weights, graph, None, *stop)
        return StagePlan((weight,), graph, self.view.held_out_projections, *stop)

    def problem_at(self, lambda1: float, lambda2: float) -> Problem:
        """Return the problem with some lambda1, and lambda2 on its scale.

        In units of lambda1 and of the mean weight of a codeword's rows, the pull between codewords
        means the same for any cost and number of samples.
        """
        problem = self.problem
        share = float(problem.weights.sum()) / (problem.n_classes * problem.n_codewords)
        return replace(problem, lambda1=lambda1, lambda2=lambda1 * share * lambda2)

    def tuned_start(self, start: Start, parameters: Parameters) -> tuple[float, Start]:
        """Return lambda1, and the start with the kernel weights of its choice.

        They save a pass; a warm start has its own.
        """
        if parameters.lambda1 != "auto":
            return float(parameters.lambda1), start
        if self.choice is None:
            unsupervised = (self.problem.labels == UNLABELLED).all()
            return (NO_LABELS_COST if unsupervised else FEW_LABELS_COST), start
        if start.kernel_weights is None:
            every = np.tile(self.choice.kernel_weights, (self.problem.n_bits, 1))
            start = replace(start, kernel_weights=every)
        return self.choice.lambda1, start

    def fit_states(self, start: Start, parameters: Parameters) -> Iterator[FitState]:
        """Descend from a start, stage by stage, until convergence.

        A lambda1 with which some class is lost is raised to `FALLBACK_LAMBDA1`, and the descent
        starts again, which adds further stages.
        """
        solver = self.view.bit_solver(parameters.tol, parameters.threads)
        pull, warm = float(parameters.lambda2), start.kernel_weights is not None
        lambda1, start = self.tuned_start(start, parameters)
        problem = self.problem_at(lambda1, pull)
        plan = self.plan(problem, start, solver, parameters, warm=warm)
        objectives: list[float] = []
        stages: list[tuple[float, int, float]] = []
        passes = 0
        for cost in (lambda1, FALLBACK_LAMBDA1):
            problem = self.problem_at(cost, pull)
            first_stage, first_pass, step = len(stages), passes, None
            for stage, own_step in descend_in_stages(problem, start, solver, plan):
                step = replace(own_step, iteration=first_pass + own_step.iteration)
                passes = step.iteration
                if step.block != "start" or step.pass_ended:
                    if first_stage + stage == len(stages):
                        stages.append((plan.weights[stage], len(objectives), cost))
                    objectives.append(step.objective)
                yield self._fit_state(step, tuple(objectives), _stages(stages), parameters)
            if step is None or cost >= FALLBACK_LAMBDA1 or not self.n_lost_classes(step.model):
                return

    def n_lost_classes(self, model: Model[Function]) -> int:
        """Return the number of classes whose recall among labelled rows is near 0."""
        known = self.problem.labels != UNLABELLED
        if not known.any():
            return 0
        labels = self.problem.labels[known]
        decoded = class_scores(model.projections[known], model.codewords).argmax(axis=1)
        correct = np.bincount(labels[decoded == labels], minlength=self.problem.n_classes)
        return int(np.count_nonzero(correct < MIN_CLASS_RECALL * np.bincount(labels)))

    def _fit_state(
        self,
        step: Step[Function],
        path: tuple[float, ...],
        stages: Stages,
        parameters: Parameters,
    ) -> FitState:
        projections = step.model.projections[self.rows.row_of_sample]
        projections[self.rows.row_of_sample == LEFT_OUT] = np.nan
        return FitState(
            step.objective,
            step.iteration,
            step.bit,
            step.block,
            step.pass_ended,
            projections,
            partial(self._result, step, path, stages, parameters),
        )

    def _result(
        self,
        step: Step[Function],
        path: tuple[float, ...],
        stages: Stages,
        parameters: Parameters,
    ) -> FitResult:
        """Return the result after a step."""
        model, decoding = step.model, parameters.decoding
        hash_ = self.view.hash_of(model.functions)
        rows = self.rows.row_of_sample
        labels = np.where(rows == LEFT_OUT, 0, (step.members // self.problem.n_codewords)[rows])
        left_out = np.flatnonzero(rows == LEFT_OUT)
        if left_out.size:
            projections = self.project_samples(hash_, left_out)
            labels[left_out] = class_scores(projections, model.codewords, decoding).argmax(axis=1)
        temperature: float | None = None
        quantiles: Array | None = None
        if parameters.probability:
            cost = stages.costs[-1] if stages.costs else FALLBACK_LAMBDA1
            temperature, quantiles = self._calibrate(step, decoding, cost)
        return FitResult(
            classes=self.classes,
            codewords=model.codewords.copy(),
            n_codewords=count_distinct(model.codewords),
            kernel_weights=model.kernel_weights,
            squared_norms=model.squared_norms,
            objective=np.array(path),
            stages=stages,
            transduction=self.classes[labels],
            n_iter=step.iteration,
            solver=self.solver,
            columns=self.columns,
            hash=hash_,
            temperature=temperature,
            distance_quantiles=quantiles,
        )

    def _calibrate(self, step: Step[Function], decoding: str, cost: float) -> tuple[float, Array]:
        """Learn the temperature and the distances from labelled rows.

        Without labels, the memberships replace them.
        """
        problem, model = self.problem, step.model
        known = problem.labels != UNLABELLED
        labels = problem.labels if known.any() else step.members // problem.n_codewords
        chosen = np.flatnonzero(known if known.any() else problem.weights > 0)
        costs = cost * problem.weights
        held_out = self.view.held_out_projections(model.functions, model.projections, costs)[
            chosen
        ]
        scores, weights = (
            class_scores(held_out, model.codewords, decoding),
            problem.weights[chosen],
        )
        left = self.view.residuals(model.functions)
        left = None if left is None else left[chosen]
        distances = codeword_distances(held_out, left, model.codewords)
        temperature = learn_temperature(scores, labels[chosen], weights)
        return temperature, distance_quantiles(distances, weights)

    def _clusters(self, rows: Indices, count: int, rng: np.random.Generator) -> Indices:
        weights: Array = self.problem.weights[rows]
        return self.view.clusters(WeightedRows(rows, weights), count, rng)


def _stages(stages: list[tuple[float, int, float]]) -> Stages:
    weights, starts, costs = tuple(zip(*stages, strict=True)) or ((), (), ())
    return Stages(weights, starts, costs)


def choose_solver(
    parameters: Parameters, columns: ColumnInfo, n_samples: int, *, dask: bool
) -> Solver:
    """Resolve "auto": random features if kernel matrices need too much memory.

    A Dask array is read block by block, which also needs random features.
    """
    if parameters.solver != "auto":
        return parameters.solver
    needed = 8.0 * len(parameters.bank(columns)) * n_samples**2
    large = needed > bytes_of(parameters.memory) or dask
    return "random_features" if large else "exact"


def prepare_training_data(
    samples: Grams | SampleRows | Table,
    columns: ColumnInfo,
    targets: tuple[ArrayLike | None, ArrayLike | None],
    parameters: Parameters,
    solver: Solver,
    rng: np.random.Generator,
) -> TrainingData[KernelFunction] | TrainingData[FeatureFunction]:
    """Check labels and weights, and bring the samples into the form of the solver.

    The exact solver merges equal samples into weighted rows.

    Parameters
    ----------
    samples
        Checked samples; ``Grams`` if the kernels are precomputed, `SampleRows` for the exact
        solver.
    targets
        ``y`` and ``sample_weight`` of the user.
    rng
        Generator of the features.
    """
    y, sample_weight = targets
    n_samples = _n_samples(samples)
    classes, labels = _labels(y, n_samples, parameters)
    weights = sample_weights(sample_weight, n_samples)
    known = labels != UNLABELLED
    if parameters.class_weight is not None and known.any():
        factors = compute_class_weight(
            parameters.class_weight, classes=classes, y=classes[labels[known]]
        )
        weights[known] *= factors[labels[known]]
    # Inductive and transductive learning have the same scaling and kernels, from all samples.
    active = np.flatnonzero(weights > 0)
    if parameters.semi_supervised == "none" and known.any():
        weights = np.where(labels == UNLABELLED, 0.0, weights)
    rows = merge_equal_samples(
        samples if isinstance(samples, SampleRows) else None, labels, weights
    )
    _check_every_class_has_rows(classes, rows, unsupervised=y is None)
    select = partial(_select, parameters, len(classes))
    view: KernelData | FeatureData
    if isinstance(samples, Grams):
        grams = samples.submatrices(rows.first)
        choice = _choose([grams], rows.labels, rows.weights, parameters, len(classes))
        view = KernelData(grams, (rows.first, samples.n_rows))
    elif isinstance(samples, SampleRows):
        every = samples, sample_weights(sample_weight, n_samples)
        view, choice = _kernel_data(every, columns, rows, parameters, select)
    else:
        view, choice = prepare_feature_data(
            samples, rows, (columns, active), parameters, rng, select
        )
    if choice is not None:
        parameters = replace(parameters, n_codewords=choice.n_codewords)
    problem = Problem(
        labels=rows.labels,
        weights=rows.weights,
        n_classes=len(classes),
        n_codewords=parameters.words_per_class,
        n_bits=parameters.bits_for(len(classes)),
        lambda1=FALLBACK_LAMBDA1,  # until `problem_at`
        lambda2=0.0,
        p=float(parameters.p),
        fixed_codewords=not parameters.learns_codewords,
    )
    project = partial(_project_samples, samples)
    if isinstance(view, KernelData):
        return TrainingData(classes, rows, problem, view, solver, columns, project, choice)
    return TrainingData(classes, rows, problem, view, solver, columns, project, choice)


def _choose(
    banks: Iterable[Grams],
    labels: Indices,
    weights: Array,
    parameters: Parameters,
    n_classes: int,
) -> Choice | None:
    """Choose among kernels, costs and numbers of codewords; None with too few labels.

    The matrices are those of all rows, or of the rows of `choose_rows`.
    """
    asked = parameters.lambda1 == "auto" or parameters.n_codewords == "auto"
    if not asked or not has_enough_labels(labels, n_classes):
        return None
    rows = choose_rows(labels)
    among = [grams.submatrices(rows) if grams.n_rows > len(rows) else grams for grams in banks]
    given = parameters.given_codewords is not None or parameters.n_codewords != "auto"
    count = parameters.words_per_class if given else None
    n_bits = None if parameters.n_bits == "auto" else int(parameters.n_bits)
    return choose(
        among,
        labels[rows],
        weights[rows],
        float(parameters.p),
        n_codewords=count,
        n_bits=n_bits,
    )


def _select(
    parameters: Parameters,
    n_classes: int,
    banks: Sequence[KernelBank],
    rows: ScaledRows,
    labels: Indices,
    weights: Array,
) -> tuple[KernelBank, Choice | None]:
    """Select kernels by labelled ones of the rows."""
    some = replace(rows, chosen=rows.chosen[choose_rows(labels)])
    grams = (Grams(bank.matrices(some)) for bank in banks)
    choice = _choose(grams, labels, weights, parameters, n_classes)
    return banks[0 if choice is None else choice.bank], choice


def _kernel_data(
    every: tuple[SampleRows, Array],
    columns: ColumnInfo,
    rows: Rows,
    parameters: Parameters,
    select: Selector,
) -> tuple[KernelData, Choice | None]:
    """Compute the kernels of the rows; ``every`` is all samples and their weights."""
    samples, weights = every
    active = np.flatnonzero(weights > 0)
    parts = [summarise(block, weights[active[part]]) for part, block in samples.blocks(active)]
    scaling = learn_scaling(parameters.scale, merge(parts))
    scaled = ScaledRows(samples, rows.first, scaling)
    banks = parameters.banks(columns, ScaledRows(samples, active, scaling))
    bank, choice = select(banks, scaled, rows.labels, rows.weights)
    # LIBSVM stores products in single precision. A given lambda1 may be so large that the margins
    # need more digits.
    single = choice is not None and len(scaled) >= _SINGLE_PRECISION_FROM
    matrices = bank.matrices(scaled, np.float32 if single else np.float64)
    return KernelData(Grams(matrices), KernelRows(bank, scaled)), choice


def _n_samples(samples: Grams | SampleRows | Table) -> int:
    if isinstance(samples, Grams):
        return samples.n_rows
    return len(samples) if isinstance(samples, SampleRows) else int(samples.shape[0])


def _project_samples(samples: Grams | SampleRows | Table, hash_: Hash, chosen: Indices) -> Floats:
    """Return f at some of the samples that the hash functions were learnt on."""
    if isinstance(samples, Grams):
        if isinstance(hash_, PrecomputedHash):
            return hash_.project(samples.kernel_rows(chosen))
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


def sample_weights(sample_weight: ArrayLike | None, n_samples: int) -> Array:
    """Return checked weights of samples, 1 each unless given."""
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
