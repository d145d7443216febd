"""SHL: *Supervised Hash Learning as a scikit-learn estimator.

This module and that of the base class (`shlcore.hash_classifier`) are the only ones of the learner
that depend on scikit-learn's estimators: they check X, pass a frozen `Parameters` down, and get a
frozen `FitResult` back. Each pass is logged on level INFO.
"""

from __future__ import annotations

import logging
import sys
import threading
from contextlib import contextmanager, nullcontext
from copy import copy
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self, cast

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import check_random_state, column_or_1d

from shlcore.hash_classifier import HashClassifier
from shlcore.hinge import class_scores
from shlcore.parameters import Parameters
from shlcore.problem import UNLABELLED
from shlcore.samples import encode_labels
from shlcore.svm import MARGIN_SLACK
from shlcore.training_data import prepare_training_data, sample_weights

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import TextIO

    from numpy.typing import ArrayLike, NDArray

    from shlcore.array_types import AnyArray, Array
    from shlcore.fit_result import FitResult
    from shlcore.hash_classifier import Samples
    from shlcore.parameters import CodewordChoice, KernelChoice, Label, SemiSupervision
    from shlcore.training_data import FitState


LOG = logging.getLogger(__name__)


@contextmanager
def log_to(stream: TextIO) -> Iterator[None]:
    """Write the log of this thread's fits to a stream within a ``with`` block."""
    logger = logging.getLogger("shlcore")
    thread = threading.get_ident()
    handler = logging.StreamHandler(stream)
    handler.addFilter(lambda record: record.thread == thread)
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


@dataclass(frozen=True, slots=True, eq=False)
class FitStep:
    """The state of a fit after one block.

    Parameters
    ----------
    objective
        Eq. (6), which never rises from step to step of a stage.
    iteration, bit, block, pass_ended
        Outer pass (0 is the start) and whether it is over, the bit of the block, and "start",
        "svm", "kernels" or "codewords".
    projections
        ``n x B``, f at the training samples; NaN for those that were left out. In single
        precision with ``solver="random_features"``.
    snapshot
        Returns a fitted estimator with the result so far.
    """

    objective: float
    iteration: int
    bit: int
    block: str
    pass_ended: bool
    projections: Array
    snapshot: Callable[[], SHL]


class SHL(HashClassifier):
    """*Supervised Hash Learning: kernel hash functions and codewords together.

    A classifier, a transformer (hash codes) and a semi-supervised learner in one, which learns
    from samples with and without labels.

    Parameters
    ----------
    n_bits
        Length B of the hash codes; ``"auto"``: five for each doubling of the number of classes.
    n_codewords
        Initial number of codewords S of each class; equal ones merge (`n_codewords_`).
        ``"auto"``: the number with the best accuracy on held-out samples, among 1 to 8. It pays
        where functions are weak, such as linear ones, and classes have several modes.
    codewords
        ``"spread"``: far apart and fixed. ``"learnt"``: far apart at first, then learnt (block 3
        of the paper's algorithm). ``"auto"``: learnt if a class has several. An array of -1 and
        1, ``(C, B)`` or ``(C, S, B)`` in the order of `classes_`: these, fixed.
    kernels
        ``"auto"`` (polynomials, and Gaussians at the distance of neighbours: `kernels_`),
        ``"paper"`` (linear, polynomial and nine Gaussians), ``"linear"``, ``"poly"`` and
        ``"rbf"`` (those of ``"auto"``), a kernel object of `shlcore.kernels`, a function
        ``k(X, Y)``, or a list of these; or ``"precomputed"``: then X is a stack of M Gram
        matrices, ``M x n x n`` in `fit` and ``M x m x n`` (rows against training samples)
        elsewhere.
    column_groups
        Column indices by name, for kernels that act on a named group.
    lambda1
        Cost of a margin violation. ``"auto"``: the one with the smallest leave-one-out log loss on
        labelled samples (`stage_costs_`). A number so small that some class is never predicted is
        raised to 1 with a warning.
    lambda2
        Weight of the distances between codewords of a class, in units of ``lambda1`` times the
        mean number of samples of a codeword. 0: none; from about 1 on all of a class merge.
    p
        Norm of the kernel weights, above 1; near 1 the weights are sparse.
    semi_supervised
        How samples without a label take part. ``"none"``: not at all. ``"paper"``: each chooses
        the nearest codeword of all (eq. 5). ``"spreading"``: labels spread to neighbours, then as
        in the paper, with a weight that grows in three stages. ``"leave_one_out"``: labels
        spread, then each chooses its codeword by the functions of the other samples, until none
        moves. ``"auto"``: "leave_one_out", but "none" where a round of that loses against the
        functions of the labelled samples by cross-validation. Labels spread with the exact solver
        only; with the other one "auto" is "none", and the rest is "paper".
    unlabelled
        The label of samples without one; None: all have one.
    unlabelled_weight
        Weight of a sample without a label beside one with a label.
    decoding
        The distance to codewords in predictions: ``"hinge"`` or ``"hamming"``.
    class_weight
        Factors of the samples' weights by class, or ``"balanced"``.
    scale
        ``"minmax"`` brings columns to [0, 1], ``"standard"`` to mean 0 and deviation 1.
    n_classes
        Number of classes when there are no labels at all (``y=None``).
    warm_start
        Start from the codewords, kernel weights and memberships of the last fit.
    max_iter, tol
        Maximum number of passes of a stage, and the relative decrease of eq. (6) below which it
        ends when no sample changes its codeword.
    random_state
        Seed of the initial codewords, of random features and of the clustering without labels.
    solver
        ``"exact"`` works on kernel matrices. ``"random_features"`` works on explicit features
        of the kernels, block by block: on threads, or on the workers of a cluster while a
        `dask.distributed.Client` is there. ``"auto"`` chooses it if the kernel matrices would
        need more than ``memory``, or X is a Dask array (`solver_`).
    n_components
        Number of all random features. Linear kernels, and polynomials of few columns, need none,
        and a very narrow Gaussian, whose Gram matrix is the identity, gets none.
    features
        ``"landmarks"``: kernels with random training samples (Nystroem), the more accurate;
        ``"fourier"``: orthogonal random Fourier features, which are independent of the data.
    memory
        Memory for the kernel matrices or the features, such as ``"4GB"``; features beyond it are
        computed whenever needed. On a cluster, that of each worker.
    probability
        Whether a fit ends with the calibration for `predict_proba`: an eighth of its time on
        digits.
    n_jobs
        Number of threads of the exact solver, as scikit-learn counts jobs (-1: all cores). The
        result is the same for any number. The other solver uses all cores.
    verbose
        Whether `fit` writes its log on standard output: a line after each pass or ADMM sweep.

    Attributes
    ----------
    classes_ : array of shape (C,)
    codewords_ : int8 array of shape (C, S, B), -1 or +1
    n_codewords_ : array of shape (C,), distinct codewords of each class
    kernel_weights_ : array of shape (B, M)
    kernels_ : the M kernels, unless they were precomputed
    transduction_, labels_ : array of shape (n,), label of each training sample
    objective_ : array, eq. (6) at the start of each stage and after every block
    stage_starts_, stage_weights_, stage_costs_ : index in it of each stage's first step, weight of
        the unlabelled samples, and lambda1 of each stage
    n_iter_ : number of passes
    n_features_in_ : number of columns of X
    solver_ : "exact" or "random_features"
    temperature_ : divisor of the scores in the softmax of `predict_proba`

    Examples
    --------
    >>> import numpy as np
    >>> from shlcore import SHL
    >>> X = np.array([[0.0], [0.1], [0.2], [0.8], [0.9], [1.0]])
    >>> SHL(random_state=0).fit(X, [0, -1, -1, -1, -1, 1]).transduction_
    array([0, 0, 0, 1, 1, 1])
    """

    def __init__(
        self,
        *,
        n_bits: int | Literal["auto"] = "auto",
        n_codewords: int | Literal["auto"] = 1,
        codewords: CodewordChoice = "auto",
        kernels: KernelChoice = "auto",
        column_groups: Mapping[str, Sequence[int]] | None = None,
        lambda1: float | Literal["auto"] = "auto",
        lambda2: float = 0.0,
        p: float = 2.0,
        semi_supervised: SemiSupervision = "auto",
        unlabelled: Label = -1,
        unlabelled_weight: float = 1.0,
        decoding: Literal["hinge", "hamming"] = "hinge",
        class_weight: Literal["balanced"] | Mapping[object, float] | None = None,
        scale: Literal["minmax", "standard"] | None = "minmax",
        n_classes: int | None = None,
        warm_start: bool = False,
        max_iter: int = 50,
        tol: float = 1e-2,
        random_state: int | np.random.RandomState | None = None,
        solver: Literal["auto", "exact", "random_features"] = "auto",
        n_components: int = 4000,
        features: Literal["landmarks", "fourier"] = "landmarks",
        memory: str | float = "4GB",
        probability: bool = True,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_bits = n_bits
        self.n_codewords = n_codewords
        self.codewords = codewords
        self.kernels = kernels
        self.column_groups = column_groups
        self.lambda1 = lambda1
        self.lambda2 = lambda2
        self.p = p
        self.semi_supervised = semi_supervised
        self.unlabelled = unlabelled
        self.unlabelled_weight = unlabelled_weight
        self.decoding = decoding
        self.class_weight = class_weight
        self.scale = scale
        self.n_classes = n_classes
        self.warm_start = warm_start
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.solver = solver
        self.n_components = n_components
        self.features = features
        self.memory = memory
        self.probability = probability
        self.n_jobs = n_jobs
        self.verbose = verbose

    @classmethod
    def paper(cls, **changes: object) -> Self:
        """Return an estimator with the paper's settings, apart from the given changes.

        One codeword a class, as the paper tells no other number; then lambda2 has no effect. With
        more, `lambda2` is in units of lambda1 and of the mean number of samples of a codeword, as
        everywhere here: the paper's 2000 is 2 C S / n in eq. (6), which merges nothing, and
        2000 C S / n in eq. (3_4), which is printed without lambda1 and merges all.
        """
        settings: dict[str, object] = {"n_bits": 5, "kernels": "paper", "codewords": "learnt"}
        settings |= {"decoding": "hamming", "lambda1": 1000.0, "semi_supervised": "paper"}
        return cls(**cast("dict[str, Any]", settings | changes))

    def fit(
        self, X: Samples, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from samples, of which some may have no label (``y == unlabelled``).

        Parameters
        ----------
        X
            ``n x d`` samples, or M Gram matrices if ``kernels="precomputed"``. A memory map or
            a Dask array is read block by block (``solver="random_features"``).
        y
            Class labels, or None to learn without any; then ``n_classes`` must be set. NaN, None
            and pandas' NA mean "no label", as ``unlabelled`` does.
        sample_weight
            Weight of each sample; 0 leaves it out.

        Returns
        -------
        self
        """
        with log_to(sys.stdout) if self.verbose else nullcontext():
            for _ in self.iter_fit(X, y, sample_weight):
                pass
        return self

    def fit_predict(
        self, X: Samples, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> NDArray[Any]:  # labels of the type of y
        """Fit, and return the label of each sample (`transduction_`).

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.

        Returns
        -------
        array of shape (n,)
        """
        return np.asarray(self.fit(X, y, sample_weight).transduction_)

    def partial_fit(
        self,
        X: Samples,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn further samples beside those of earlier calls that support the functions.

        Samples of earlier calls beyond the margin in all bits are forgotten, as an SVM without
        them is the same. Codewords stay. A model of `fit` or `load` keeps no samples: it begins
        anew.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`; in the first call with samples of every class.
        classes
            All classes, which the first call checks.

        Returns
        -------
        self

        Examples
        --------
        >>> from shlcore import SHL
        >>> model = SHL(random_state=0).partial_fit([[0.0], [0.4], [1.0]], [0, 0, 1])
        >>> model.partial_fit([[0.7]], [0]).predict([[0.65], [0.95]])
        array([0, 1])
        """
        if isinstance(self.kernels, str) and self.kernels == "precomputed":
            raise ValueError("kernels: wanted kernels of X for partial_fit, got 'precomputed'")
        kept = getattr(self, "_kept", None)
        rows = cast("AnyArray", self._rows(X, reset=kept is None).X)
        columns, learner = self._columns(), clone(self)
        labels = np.array(column_or_1d(y), dtype=object)
        labels[np.ma.getmaskarray(cast("Any", y))] = None
        weights = sample_weights(sample_weight, rows.shape[0])
        if kept is not None:
            rows = (
                sparse.vstack([kept[0], rows], "csr")
                if sparse.issparse(rows)
                else np.concatenate([kept[0], rows])
            )
            labels, weights = np.append(kept[1], labels), np.append(kept[2], weights)
            classes = self.classes_
            learner.set_params(codewords=self.codewords_)
        found, indices = encode_labels(labels, rows.shape[0], self.unlabelled)
        if classes is not None and not np.array_equal(found, np.unique(classes)):
            raise ValueError(f"y: wanted samples of the classes {classes}, got {found}")
        learner.fit(rows, labels, weights)
        self._set_attributes(replace(learner._result, columns=columns))
        projections = learner.project(rows)
        nearest = class_scores(projections, self.codewords_).argmax(axis=1)
        words = self.codewords_[np.where(indices == UNLABELLED, nearest, indices)]
        margins = (projections[:, None] * words).min(axis=2).max(axis=1)
        near = np.flatnonzero(margins <= 1.0 + MARGIN_SLACK)
        self._kept: tuple[AnyArray, AnyArray, Array] | None = (
            rows[near],
            labels[near],
            weights[near],
        )
        return self

    def iter_fit(
        self, X: Samples, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Iterator[FitStep]:
        """Learn step by step. Parameters as in `fit`.

        If the caller stops iterating, the fit ends and the estimator remains unchanged.

        Yields
        ------
        FitStep after every block
        """
        learner = clone(self)
        names = (field.name for field in fields(Parameters))
        parameters = Parameters(**{name: getattr(learner, name) for name in names})
        samples, solver = learner._check_samples(X, parameters)
        # Both generators have one seed, so that the codewords do not depend on the features.
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        data = prepare_training_data(
            samples,
            learner._columns(),
            (y, sample_weight),
            parameters,
            solver,
            np.random.default_rng(seed),
        )
        if self.warm_start and hasattr(self, "_result") and data.is_compatible(self._result):
            start = data.warm_start(self._result, self.project(X))
        else:
            start = data.cold_start(np.random.default_rng(seed), parameters.given_codewords)
        return self._iterate(learner, data.fit_states(start, parameters))

    def _iterate(self, learner: SHL, states: Iterator[FitState]) -> Iterator[FitStep]:
        state: FitState | None = None
        for state in states:
            if state.pass_ended:
                LOG.info("SHL: pass %d, eq. (6) %.6g", state.iteration, state.objective)
            yield FitStep(
                state.objective,
                state.iteration,
                state.bit,
                state.block,
                state.pass_ended,
                cast("Array", state.projections),
                partial(_with_result, learner, state.result),
            )
        if state is not None:
            self._set_attributes(state.result())
            self._kept = None
            self._warn_of_lost_classes(state.projections)


def _with_result(learner: SHL, result: Callable[[], FitResult]) -> SHL:
    """Return a new estimator with a learner's parameters and a result."""
    estimator = copy(learner)  # a shallow copy will do, as the learner is a clone already
    estimator._set_attributes(result())
    return estimator
