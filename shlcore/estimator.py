"""SHL: *Supervised Hash Learning as a scikit-learn estimator.

With its base class (`shlcore.hash_classifier`) the only module of the learner that knows
scikit-learn's estimators: it checks X as they do, hands a frozen `Parameters` down, and gets
a frozen `Fitted` record back.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self, cast

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from shlcore.hash_classifier import HashClassifier
from shlcore.parameters import Parameters
from shlcore.training_data import gather

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike

    from shlcore.array_types import Array
    from shlcore.fit_result import Fitted
    from shlcore.hash_classifier import Samples
    from shlcore.kernels import Kernel
    from shlcore.parameters import Label
    from shlcore.training_data import Moment


@dataclass(frozen=True, slots=True, eq=False)
class FitStep:
    """Where a fit is after one block.

    Parameters
    ----------
    objective
        Eq. (6), which never rises from step to step of a stage.
    iteration, bit, block, pass_ended
        Outer pass (0 is the start) and whether it is over, the bit that was worked on, and
        "start", "svm", "kernels" or "codewords".
    projections
        ``n x B``, f at the training samples; NaN for those that were left out. In single
        precision with ``solver="random_features"``.
    snapshot
        Call it for a fitted estimator that holds the answer so far.
    """

    objective: float
    iteration: int
    bit: int
    block: str
    pass_ended: bool
    projections: Array
    snapshot: Callable[[], SHL]


class SHL(HashClassifier):
    """Kernel hash functions and codewords, learnt together from labelled and other samples.

    A classifier, a transformer (hash codes) and a transductive learner in one.

    Parameters
    ----------
    n_bits
        Length B of the hash codes; ``"auto"``: five for each doubling of the number of classes.
    n_codewords
        Codewords S of each class to begin with; equal ones merge (`n_codewords_`).
    kernels
        ``"auto"`` (polynomials, and Gaussians as wide as neighbours are apart: `kernels_`),
        ``"paper"`` (linear, polynomial and nine Gaussians), a list of kernel objects from
        `shlcore.kernels`, or ``"precomputed"``: then X is a stack of M Gram matrices,
        ``M x n x n`` in `fit` and ``M x m x n`` (rows against training samples) elsewhere.
    column_groups
        Column indices by name, for kernels that act on a named group.
    lambda1
        Cost of a margin violation. One so small that some class is never found gives way to 1,
        with a warning.
    lambda2
        Pull between codewords of one class, on the scale of ``lambda1`` times the samples a
        codeword has.
    p
        Norm of the kernel weights, above 1; near 1 few kernels survive.
    transductive
        Whether samples without a label take part in training.
    unlabelled
        The label of samples without one; None: all have one.
    unlabelled_weight
        How much a sample without a label counts beside one with a label. ``"annealed"``: little
        at first, then more, once few labels have spread to neighbours (exact solver).
    decoding
        Which codeword is nearest: by ``"hinge"`` or by ``"hamming"`` distance.
    class_weight
        Factors of the samples' weights by class, or ``"balanced"``.
    scale
        ``"minmax"`` brings columns to [0, 1], ``"standard"`` to mean 0 and deviation 1.
    n_classes
        Number of classes when there are no labels at all (``y=None``).
    warm_start
        Start from the codewords, kernel weights and memberships of the last fit.
    max_iter, tol
        Passes of a stage at the most, and the relative decrease of eq. (6) that ends it when no
        sample changes its codeword any more.
    random_state
        Seeds the codewords' search, random features and, where labels say too little, the
        clustering.
    solver
        ``"exact"`` works on kernel matrices. ``"random_features"`` works on explicit features
        of the kernels, block by block: on threads, or on the workers of a cluster while a
        `dask.distributed.Client` is there. ``"auto"`` takes it if the kernel matrices would
        need more than ``memory``, or X is a Dask array; `solver_` says which it was.
    n_components
        Random features in all. Linear kernels, and polynomials of few columns, need none, and
        a Gaussian too narrow for them acts on the training samples alone, as in truth.
    features
        ``"landmarks"`` compares with random training samples (Nystroem), the more accurate;
        ``"fourier"`` draws orthogonal random Fourier features, which know nothing of the data.
    memory
        What the kernel matrices or the features kept may take, such as ``"4GB"``; features
        beyond it are made whenever needed. On a cluster, that of each worker.
    probability
        Whether a fit ends with what `predict_proba` needs: an eighth of its time on digits.
    n_jobs
        Threads on which the exact solver works at several bits, as scikit-learn counts jobs
        (-1: all cores). The result is the same for any number. The other solver uses all cores.
    verbose
        Whether each pass is reported on standard output.

    Attributes
    ----------
    classes_ : array of shape (C,)
    codewords_ : int8 array of shape (C, S, B), -1 or +1
    n_codewords_ : array of shape (C,), distinct codewords of each class
    kernel_weights_ : array of shape (B, M)
    kernels_ : the M kernels, unless they were precomputed
    transduction_ : array of shape (n,), label of each training sample
    objective_ : array, eq. (6) at the start of each stage and after every block
    stage_starts_, stage_weights_, stage_costs_ : where in it each stage begins, its unlabelled
        weight, and its lambda1
    n_iter_ : passes made
    n_features_in_ : columns seen
    solver_ : "exact" or "random_features"
    temperature_ : what scores are divided by before they become probabilities

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
        n_codewords: int = 1,
        kernels: Literal["auto", "paper", "precomputed"] | Sequence[Kernel] = "auto",
        column_groups: Mapping[str, Sequence[int]] | None = None,
        lambda1: float = 1000.0,
        lambda2: float = 2000.0,
        p: float = 2.0,
        transductive: bool = True,
        unlabelled: Label = -1,
        unlabelled_weight: Literal["annealed"] | float = "annealed",
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
        self.kernels = kernels
        self.column_groups = column_groups
        self.lambda1 = lambda1
        self.lambda2 = lambda2
        self.p = p
        self.transductive = transductive
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
        """Return an estimator with the paper's settings to the letter, but for some changes."""
        settings: dict[str, object] = {"n_bits": 5, "kernels": "paper"}
        settings |= {"decoding": "hamming", "unlabelled_weight": 1.0}
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
            Class labels, or None to learn without any; then ``n_classes`` must be set.
        sample_weight
            How often each sample counts; 0 leaves it out.

        Returns
        -------
        self
        """
        for _ in self.iter_fit(X, y, sample_weight):
            pass
        return self

    def iter_fit(
        self, X: Samples, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Iterator[FitStep]:
        """Learn step by step. Parameters as in `fit`.

        Whoever stops iterating stops the fit; the estimator is then as it was before.

        Yields
        ------
        FitStep after every block
        """
        learner = clone(self)
        names = (field.name for field in fields(Parameters))
        parameters = Parameters(**{name: getattr(learner, name) for name in names})
        samples, solver = learner._checked(X, parameters)
        # Both generators begin alike: neither what features were drawn nor whether any were
        # changes the codewords.
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        data = gather(
            samples,
            learner._columns(),
            (y, sample_weight),
            parameters,
            solver,
            np.random.default_rng(seed),
        )
        if self.warm_start and hasattr(self, "_fitted") and data.continues(self._fitted):
            start = data.warm_start(self._fitted, self.project(X))
        else:
            start = data.cold_start(np.random.default_rng(seed))
        return self._iterate(learner, data.moments(start, parameters))

    def _iterate(self, learner: SHL, moments: Iterator[Moment]) -> Iterator[FitStep]:
        moment: Moment | None = None
        for moment in moments:
            if self.verbose and moment.pass_ended:
                print(f"SHL: pass {moment.iteration}, eq. (6) {moment.objective:.6g}")  # noqa: T201
            yield FitStep(
                moment.objective,
                moment.iteration,
                moment.bit,
                moment.block,
                moment.pass_ended,
                cast("Array", moment.projections),
                partial(_holding, learner, moment.fitted),
            )
        if moment is not None:
            self._take(moment.fitted())
            self._warn_of_a_small_cost(moment.projections)


def _holding(learner: SHL, fitted: Callable[[], Fitted]) -> SHL:
    """Return a new estimator with a learner's parameters and what has been learnt."""
    estimator = copy(learner)  # a clone already, which nobody else has
    estimator._take(fitted())
    return estimator
