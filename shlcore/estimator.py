"""SHL: *Supervised Hash Learning as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    clone,
)
from sklearn.utils.validation import check_is_fitted, validate_data

from shlcore import hamming
from shlcore.assignments import hinge_distances, nearest_codewords
from shlcore.descent import begin_and_descend
from shlcore.estimator_file import dump_estimator, restore_estimator
from shlcore.fitted import filled
from shlcore.hash_functions import RowHash, StackHash
from shlcore.model_file import read_model, write_model
from shlcore.objective import regularisers
from shlcore.parameters import check_parameters
from shlcore.samples import LEFT_OUT
from shlcore.steps import Step, until_converged
from shlcore.training_data import TrainingData, gather, lazy_rows, start

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from shlcore.kernels import Kernel

    Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class FitStep:
    """Where a fit is after one block.

    Parameters
    ----------
    objective
        Eq. (6), which never rises from step to step.
    iteration
        Outer pass; 0 is the start.
    bit
        The bit that was worked on.
    block
        "start", "svm", "kernels" or "codewords".
    pass_ended
        Whether the outer pass is over.
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


class SHL(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClassifierMixin, BaseEstimator):
    """Kernel hash functions and codewords, learnt together from labelled and other samples.

    A classifier, a transformer (hash codes) and a transductive learner in one.

    Parameters
    ----------
    n_bits
        Length B of the hash codes.
    n_codewords
        Codewords S of each class to begin with; equal ones merge (`n_codewords_`).
    kernels
        ``"paper"`` (linear, polynomial and nine Gaussians), a list of kernel objects from
        `shlcore.kernels`, or ``"precomputed"``: then X is a stack of M Gram matrices,
        ``M x n x n`` in `fit` and ``M x m x n`` (rows against training samples) elsewhere.
    column_groups
        Column indices by name, for kernels that act on a named group.
    lambda1
        Cost of a margin violation.
    lambda2
        Pull between codewords of one class, on the scale of ``lambda1`` times the samples a
        codeword has.
    p
        Norm of the kernel weights, above 1; near 1 few kernels survive.
    transductive
        Whether samples without a label take part in training.
    scale
        ``"minmax"`` brings columns to [0, 1], ``"standard"`` to mean 0 and deviation 1.
    n_classes
        Number of classes when there are no labels at all (``y=None``).
    warm_start
        Start from the codewords, kernel weights and memberships of the last fit.
    max_iter, tol
        Passes at the most, and the relative decrease of eq. (6) that ends the fit when no
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

    Attributes
    ----------
    classes_ : array of shape (C,)
    codewords_ : int8 array of shape (C, S, B), -1 or +1
    n_codewords_ : array of shape (C,), distinct codewords of each class
    kernel_weights_ : array of shape (B, M)
    transduction_ : array of shape (n,), label of each training sample
    objective_ : array, eq. (6) at the start and after every block
    n_iter_ : passes made
    n_features_in_ : columns seen
    solver_ : "exact" or "random_features"

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
        n_bits: int = 5,
        n_codewords: int = 1,
        kernels: Literal["paper", "precomputed"] | Sequence[Kernel] = "paper",
        column_groups: Mapping[str, Sequence[int]] | None = None,
        lambda1: float = 1000.0,
        lambda2: float = 2000.0,
        p: float = 2.0,
        transductive: bool = True,
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
    ) -> None:
        self.n_bits = n_bits
        self.n_codewords = n_codewords
        self.kernels = kernels
        self.column_groups = column_groups
        self.lambda1 = lambda1
        self.lambda2 = lambda2
        self.p = p
        self.transductive = transductive
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

    # --- learning ------------------------------------------------------------------------

    def fit(
        self,
        X: Any,  # noqa: ANN401 - anything array-like
        y: Any = None,  # noqa: ANN401 - anything array-like
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from samples; ``y == -1`` marks those without a label.

        Parameters
        ----------
        X
            ``n x d`` samples, or M Gram matrices if ``kernels="precomputed"``. A memory map or
            a Dask array is read block by block (``solver="random_features"``).
        y
            Class labels, or None to learn without any; then ``n_classes`` must be set.
        sample_weight
            How often each sample counts; 0 leaves it out.
        """
        for _ in self.iter_fit(X, y, sample_weight):
            pass
        return self

    def iter_fit(
        self,
        X: Any,  # noqa: ANN401 - anything array-like
        y: Any = None,  # noqa: ANN401 - anything array-like
        sample_weight: ArrayLike | None = None,
    ) -> Iterator[FitStep]:
        """Learn step by step: yields after every block. Parameters as in `fit`.

        Whoever stops iterating stops the fit; the estimator is then as it was before.
        """
        learner = clone(self)
        check_parameters(learner.get_params(deep=False))
        data = gather(learner, X, y, sample_weight)
        codewords, members = start(data, self.random_state)
        kernel_weights = None
        if self.warm_start and self._continues(learner, data):
            codewords, kernel_weights = self.codewords_, self.kernel_weights_
            members = self._memberships(X, data)
        machine = data.space.machine(self.tol)
        steps = begin_and_descend(data.problem, codewords, members, machine, kernel_weights)
        return self._iterate(learner, X, data, steps)

    def _iterate(
        self,
        learner: SHL,
        X: Any,  # noqa: ANN401 - anything array-like
        data: TrainingData,
        steps: Iterator[Step[Any]],
    ) -> Iterator[FitStep]:
        path: list[float] = []
        step: Step[Any] | None = None
        for step in until_converged(steps, tol=self.tol, max_iter=self.max_iter):
            if step.block != "start" or step.sweep_ended:
                path.append(step.objective)
            fill = partial(filled, learner, X, data, step, tuple(path))
            projections: Any = step.model.projections[data.rows.row_of_sample]
            projections[data.rows.row_of_sample == LEFT_OUT] = np.nan
            yield FitStep(
                step.objective,
                step.iteration,
                step.bit,
                step.block,
                step.sweep_ended,
                projections,
                fill,
            )
        if step is not None:
            fitted = filled(learner, X, data, step, tuple(path))
            params = self.__dict__.keys() & self.get_params(deep=False).keys()
            self.__dict__.update({k: v for k, v in vars(fitted).items() if k not in params})
            if not hasattr(fitted, "feature_names_in_") and hasattr(self, "feature_names_in_"):
                del self.feature_names_in_

    def _continues(self, learner: SHL, data: TrainingData) -> bool:
        """Whether the last fit had the same classes, features, codes and kernels."""
        shape = (data.problem.n_classes, data.problem.n_codewords, data.problem.n_bits)
        return (
            hasattr(self, "codewords_")
            and self.n_features_in_ == learner.n_features_in_
            and np.array_equal(self.classes_, data.classes)
            and self.codewords_.shape == shape
            and self.kernel_weights_.shape[1] == data.space.n_kernels
        )

    def _memberships(self, X: Any, data: TrainingData) -> NDArray[np.intp]:  # noqa: ANN401
        """Return the codeword of each row by the last fit's hash functions."""
        projections = self.project(X)[data.rows.first]
        distances = hinge_distances(projections, self.codewords_)
        return nearest_codewords(distances, data.problem.labels)[0]

    # --- answers -------------------------------------------------------------------------

    def project(self, X: Any) -> Array:  # noqa: ANN401 - anything array-like
        """Return f(x), ``n x B``; the sign of each column is a bit."""
        check_is_fitted(self)
        if isinstance(self._hash, RowHash):
            rows = validate_data(self, X, dtype=np.float64, reset=False)
        else:
            rows = X if isinstance(self._hash, StackHash) else lazy_rows(self, X)
        return np.asarray(self._hash.project(rows))

    def transform(self, X: Any) -> NDArray[np.uint8]:  # noqa: ANN401 - anything array-like
        """Return the hash codes, ``n x B`` of 0 and 1."""
        return (self.project(X) >= 0).astype(np.uint8)

    def hash(self, X: Any) -> NDArray[np.uint8]:  # noqa: ANN401 - anything array-like
        """Return the hash codes packed into bytes (`shlcore.hamming`)."""
        return hamming.pack(self.transform(X))

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: ANN401 - anything array-like
        """Return the class of the nearest codeword by Hamming distance.

        Ties, common with few bits, go to the smaller hinge distance.
        """
        best = self._class_scores(self.project(X)).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def decision_function(self, X: Any) -> Array:  # noqa: ANN401 - anything array-like
        """Return a score of each class that ranks them exactly as `predict` does.

        Minus the Hamming distance, minus the hinge distance squeezed into [0, 1). With two
        classes: the second's score minus the first's.
        """
        scores = self._class_scores(self.project(X))
        return scores if scores.shape[1] > 2 else np.asarray(scores[:, 1] - scores[:, 0])

    def margin(self, X: Any) -> Array:  # noqa: ANN401 - anything array-like
        """Return the confidence: second-best minus best class in hinge distance, >= 0."""
        projections = self.project(X)
        distances = hinge_distances(projections, self.codewords_).min(axis=2)
        best = np.partition(distances, 1, axis=1)
        return np.asarray(best[:, 1] - best[:, 0])

    def function_norms(self) -> Array:
        """Return ``sqrt(sum_m ||w_bm||^2 / theta_bm)`` of each bit: the R of Theorem 1."""
        check_is_fitted(self)
        return np.sqrt(2.0 * regularisers(self._squared_norms, self.kernel_weights_))

    def _class_scores(self, projections: Array) -> Array:
        signs = np.where(projections >= 0, 1.0, -1.0)
        words = self.codewords_.reshape(-1, self.codewords_.shape[-1]).astype(float)
        apart = 0.5 * (words.shape[1] - signs @ words.T)
        hinge = hinge_distances(projections, self.codewords_).reshape(apart.shape)
        scores = -(apart + hinge / (1.0 + hinge))
        return np.asarray(scores.reshape(len(scores), *self.codewords_.shape[:2]).max(axis=2))

    @property
    def _n_features_out(self) -> int:
        return int(self.codewords_.shape[-1])

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401 - scikit-learn's Tags carry no types
        tags = super().__sklearn_tags__()
        # Codes are bytes of 0 and 1, whatever the type of X.
        tags.transformer_tags.preserves_dtype = []
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "codewords_")

    # --- files ---------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted estimator into one file: arrays and JSON, no pickle."""
        check_is_fitted(self)
        header, arrays = dump_estimator(self)
        write_model(path, header, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what `save` wrote; raises ModelFileError with one sentence otherwise."""
        header, arrays = read_model(path)
        estimator = cls()
        restore_estimator(estimator, header, arrays, Path(path).name)
        return estimator
