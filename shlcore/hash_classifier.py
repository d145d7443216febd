"""The fitted estimator as a scikit-learn classifier and transformer."""

from __future__ import annotations

import numbers
import warnings
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, cast

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from shlcore import hamming
from shlcore.calibration import codeword_distances, is_at_bound, log_probabilities
from shlcore.fit_result import dump, restore
from shlcore.gram_matrices import Grams
from shlcore.hinge import class_margins, class_scores
from shlcore.kernel_data import PrecomputedHash, RowHash
from shlcore.kernels import Kernel
from shlcore.mkl import regularisers
from shlcore.model_file import read_model, write_model
from shlcore.samples import ColumnInfo, SampleRows
from shlcore.training_data import choose_solver

if TYPE_CHECKING:
    import os

    from numpy.typing import ArrayLike, NDArray
    from sklearn.utils import Tags

    from shlcore.array_types import Array, DaskArray, Floats, Indices, Table
    from shlcore.fit_result import FitResult
    from shlcore.parameters import DecodingChoice, Parameters
    from shlcore.training_data import Solver

    Samples = ArrayLike | DaskArray | Grams


class KernelParameters(BaseEstimator):
    """Base with parameters for the fields of kernels, such as ``kernels__0__sigma``."""

    kernels: Any  # a name, or kernels

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002 (sklearn's)
        """Return the parameters; deep ones include ``kernels__0__sigma`` of a kernel.

        Returns
        -------
        dict
        """
        parameters: dict[str, Any] = super().get_params(deep=deep)
        kernels = parameters.get("kernels")
        if deep and isinstance(kernels, list | tuple):
            given = [kernel for kernel in kernels if isinstance(kernel, Kernel)]
            for index, kernel in enumerate(given if len(given) == len(kernels) else []):
                for field in fields(kernel):
                    parameters[f"kernels__{index}__{field.name}"] = getattr(kernel, field.name)
        return parameters

    def set_params(self, **params: object) -> Self:
        """Set parameters, also those of given kernels: ``kernels__0__sigma=2.0``.

        Returns
        -------
        self
        """
        inner = {name: params.pop(name) for name in [*params] if name.startswith("kernels__")}
        super().set_params(**params)
        known = self.get_params()
        for name, value in inner.items():
            if name not in known:
                raise ValueError(f"{name}: wanted a field of a given kernel, got another name")
            _, index, field = name.split("__")
            kernels = list(self.kernels)
            kernels[int(index)] = replace(kernels[int(index)], **{field: value})
            self.kernels = kernels
        return self


class SampleChecks(KernelParameters):
    """Base that checks X as scikit-learn does, without enlarging it."""

    def _check_samples(
        self, X: Samples, parameters: Parameters
    ) -> tuple[Grams | SampleRows | Table, Solver]:
        """Check X, store its number of columns and their names, and choose the solver."""
        if parameters.precomputed:
            if parameters.solver == "random_features":
                raise ValueError(
                    "solver: wanted 'exact' or 'auto' with precomputed kernels, "
                    "got 'random_features'"
                )
            given = X if isinstance(X, Grams) else Grams(cast("ArrayLike", X))
            self.n_features_in_ = given.n_rows
            return given, "exact"
        shape: tuple[int, ...] = getattr(X, "shape", ())
        dask = hasattr(X, "dask")
        if parameters.solver != "exact" and len(shape) == 2 and 0 not in shape:
            validate_data(self, X, skip_check_array=True)
            solver = choose_solver(parameters, self._columns(), shape[0], dask=dask)
            if solver == "random_features":
                return self._table(X), solver
        samples = self._rows(X, reset=True)
        solver = choose_solver(parameters, self._columns(), len(samples), dask=False)
        return (samples if solver == "exact" else cast("Table", samples.X)), solver

    def _table(self, X: Samples) -> Table:
        """Check the columns of X without reading an array, memory map or Dask array."""
        if isinstance(X, np.ndarray) or hasattr(X, "dask"):
            validate_data(self, X, skip_check_array=True, reset=False)
            return cast("Table", X)
        return cast("Table", self._rows(X, reset=False).X)

    def _rows(self, X: Samples, *, reset: bool) -> SampleRows:
        """Check X as scikit-learn does; single precision and sparse rows are kept."""
        return SampleRows(
            validate_data(
                self, X, dtype=[np.float64, np.float32], accept_sparse="csr", reset=reset
            )
        )

    def _columns(self) -> ColumnInfo:
        names = getattr(self, "feature_names_in_", None)
        return ColumnInfo(self.n_features_in_, None if names is None else tuple(names))


def _with_probabilities(model: HashClassifier) -> bool:
    """Whether the model has, or will have, a temperature for `predict_proba`."""
    if not model.probability:
        raise AttributeError(
            "predict_proba: wanted a model with probability=True, got probability=False"
        )
    return True


def _temperature(result: FitResult) -> float:
    """Return the temperature; warn if the training samples did not determine it."""
    if result.temperature is None:
        raise NotFittedError("predict_proba: wanted a fit with probability=True, got another")
    if is_at_bound(result.temperature):
        kind = "equal for all classes" if result.temperature > 1 else "0 or 1"
        warnings.warn(
            f"predict_proba: probabilities are {kind}, because the temperature "
            f"{result.temperature:.1e} is at a bound of its range: the training samples, each "
            f"judged by the functions of the others, do not determine it.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return result.temperature


class HashClassifier(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClassifierMixin, SampleChecks
):
    """Base of `shlcore.SHL`: codes, classes, confidence and file of a fitted model."""

    _doc_link_module = "shlcore"
    _doc_link_template = "https://arxiv.org/abs/1902.08639"  # the paper

    decoding: DecodingChoice
    probability: bool
    lambda1: float | Literal["auto"]

    def _set_attributes(self, result: FitResult) -> None:
        """Set the fitted attributes (``codewords_`` and others) from a result."""
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self._result = result
        for name, value in result.attributes().items():
            setattr(self, name, value)

    def project(self, X: Samples) -> Array:
        """Return f(x); the sign of each column is a bit.

        Parameters
        ----------
        X
            Samples as in `fit`.

        Returns
        -------
        array of shape (n, B), of single precision with random features
        """
        check_is_fitted(self)
        hash_ = self._result.hash
        if isinstance(hash_, RowHash):
            return hash_.project(self._rows(X, reset=False))
        if isinstance(hash_, PrecomputedHash):
            return hash_.project(cast("ArrayLike | Grams", X))
        return cast("Array", hash_.project(self._table(X)))

    def terms(self, X: ArrayLike | Grams) -> tuple[Indices, Array, Array]:
        """Return the summands of f(x), with precomputed kernels.

        Parameters
        ----------
        X
            Kernel matrices of few samples: there is a number for each bit, kernel and support
            sample.

        Returns
        -------
        support : array of shape (k,)
            The training samples with a dual coefficient.
        terms : array of shape (n, B, M, k)
            Dual coefficients times kernels and the scales of these.
        intercepts : array of shape (B,)
            With the sum of the terms, they are f(x).
        """
        check_is_fitted(self)
        hash_ = self._result.hash
        if not isinstance(hash_, PrecomputedHash):
            raise ValueError("kernels: wanted 'precomputed', got kernels on columns")  # noqa: TRY004
        return hash_.functions.support, hash_.terms(X), hash_.intercepts

    def transform(self, X: Samples) -> NDArray[np.uint8]:
        """Return the hash codes.

        Parameters
        ----------
        X
            Samples as in `fit`.

        Returns
        -------
        array of shape (n, B), 0 or 1
        """
        return (self.project(X) >= 0).astype(np.uint8)

    def hash(self, X: Samples) -> NDArray[np.uint8]:
        """Return the hash codes packed into bytes, for `shlcore.index.HammingIndex`.

        Parameters
        ----------
        X
            Samples as in `fit`.

        Returns
        -------
        array of shape (n, ceil(B / 8)), the last bits of which are 0

        Examples
        --------
        >>> from shlcore import SHL
        >>> SHL(n_bits=10, random_state=0).fit([[0.0], [1.0]], [0, 1]).hash([[0.1]]).shape
        (1, 2)
        """
        return hamming.pack(self.transform(X))

    def predict(
        self, X: Samples, *, reject: float = 0.0
    ) -> NDArray[Any]:  # labels of the type of y
        """Return the class of the nearest codeword, by the distance of ``decoding``.

        Ties of the Hamming distance, which are common, go to the smaller hinge distance.

        Parameters
        ----------
        X
            Samples as in `fit`.
        reject
            Share of samples of known classes to give up in order to find those of unknown ones.
            Samples farther from all codewords (`codeword_distance`) than all but this share of
            the training samples, each judged by the functions of the others, are masked.

        Returns
        -------
        array of shape (n,), values of `classes_`; a masked array with ``reject``

        Examples
        --------
        >>> from shlcore import SHL
        >>> SHL(random_state=0).fit([[0.0], [1.0]], ["no", "yes"]).predict([[0.2]])
        array(['no'], dtype='<U3')
        """
        check_is_fitted(self)
        if not isinstance(reject, numbers.Real) or not 0.0 <= reject < 1.0:
            raise ValueError(f"reject: wanted a share from 0 to below 1, got {reject!r}")
        quantiles = self._result.distance_quantiles
        if reject and quantiles is None:
            raise NotFittedError("reject: wanted a fit with probability=True, got another")
        best = class_scores(self.project(X), self.codewords_, self.decoding).argmax(axis=1)
        classes = np.asarray(self.classes_[best])
        if not reject or quantiles is None:
            return classes
        farthest = np.interp(1.0 - reject, np.linspace(0.0, 1.0, len(quantiles)), quantiles)
        masked: NDArray[Any] = np.ma.MaskedArray(classes, self.codeword_distance(X) > farthest)
        return masked

    def codeword_distance(self, X: Samples) -> Array:
        """Return the expected distance to the nearest codeword, large for unknown classes.

        The hinge distance, where f is uncertain as far as kernels with the training samples do not
        explain the sample: far from them all, any f is possible. With precomputed kernels the
        hinge distance itself.

        Parameters
        ----------
        X
            Samples as in `fit`.

        Returns
        -------
        array of shape (n,)

        Examples
        --------
        >>> from shlcore import SHL
        >>> model = SHL(random_state=0).fit([[0.0], [0.1], [0.9], [1.0]], [0, 0, 1, 1])
        >>> near, far = model.codeword_distance([[0.05], [9.0]])
        >>> bool(near < far)
        True
        """
        projections = self.project(X)
        hash_ = self._result.hash
        if isinstance(hash_, RowHash):
            left = hash_.residuals(self._rows(X, reset=False))
        else:
            left = None if isinstance(hash_, PrecomputedHash) else hash_.residuals(self._table(X))
        return codeword_distances(projections, left, self.codewords_)

    def decision_function(self, X: Samples) -> Array:
        """Return a score of each class, the largest for the class of `predict`.

        The score is minus the hinge distance; or, decoded by Hamming distance, minus that, minus
        the hinge distance mapped into [0, 1). With two classes: the second's minus the first's.

        Parameters
        ----------
        X
            Samples as in `fit`.

        Returns
        -------
        array of shape (n, C), or (n,) with two classes
        """
        scores = class_scores(self.project(X), self.codewords_, self.decoding)
        return scores if scores.shape[1] > 2 else np.asarray(scores[:, 1] - scores[:, 0])

    def margin(self, X: Samples) -> Array:
        """Return the confidence: second smallest minus smallest class distance (hinge).

        Parameters
        ----------
        X
            Samples as in `fit`.

        Returns
        -------
        array of shape (n,)
        """
        return class_margins(self.project(X), self.codewords_)

    def function_norms(self) -> Array:
        """Return ``sqrt(sum_m ||w_bm||^2 / theta_bm)`` of each bit: the R of Theorem 1.

        Returns
        -------
        array of shape (B,)
        """
        check_is_fitted(self)
        return np.sqrt(2.0 * regularisers(self._result.squared_norms, self.kernel_weights_))

    def _warn_of_lost_classes(self, projections: Floats) -> None:
        """Warn if a given lambda1 was raised, or some class is still never predicted."""
        if self.lambda1 == "auto":
            return
        cost = float(self._result.stages.costs[-1])
        known = projections[~np.isnan(projections).any(axis=1)]
        predicted = np.unique(class_scores(known, self.codewords_).argmax(axis=1))
        reasons = []
        if cost > self.lambda1:
            reasons.append(
                f"{self.lambda1!r} is so small that functions are nearly constant: "
                f"{cost:g} was used instead (stage_costs_)"
            )
        missing = len(self.classes_) - len(predicted)
        if missing and cost <= 1.0:
            reasons.append(
                f"at {cost:g} no training sample is decoded as {missing} of "
                f"{len(self.classes_)} classes. Raise lambda1"
            )
        if reasons:
            warnings.warn(f"lambda1: {'; '.join(reasons)}.", UserWarning, stacklevel=4)

    @property
    def _n_features_out(self) -> int:
        return int(self.codewords_.shape[-1])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # Codes are bytes of 0 and 1 for any type of X.
        tags.transformer_tags.preserves_dtype = []
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "codewords_")

    @available_if(_with_probabilities)  # type: ignore[untyped-decorator] # sklearn has no types
    def predict_proba(self, X: Samples) -> Array:
        """Return the probability of each class, the largest for the class of `predict`.

        The softmax of the scores of `decision_function`, divided by a temperature that was learnt
        from leave-one-out scores of the labelled training samples (`shlcore.calibration`).

        Parameters
        ----------
        X
            Samples as in `fit`.

        Returns
        -------
        array of shape (n, C), columns in the order of `classes_`

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from shlcore import SHL
        >>> X, y = load_iris(return_X_y=True)
        >>> SHL(random_state=0).fit(X, y).predict_proba(X[:2]).round(1)
        array([[1., 0., 0.],
               [1., 0., 0.]])
        """
        return np.asarray(np.exp(self.predict_log_proba(X)))

    @available_if(_with_probabilities)  # type: ignore[untyped-decorator] # sklearn has no types
    def predict_log_proba(self, X: Samples) -> Array:
        """Return the logarithm of the probability of each class.

        Parameters
        ----------
        X
            Samples as in `fit`.

        Returns
        -------
        array of shape (n, C), columns in the order of `classes_`
        """
        check_is_fitted(self)
        scores = class_scores(self.project(X), self.codewords_, self.decoding)
        return log_probabilities(scores, _temperature(self._result))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted estimator into one file: arrays and JSON, no pickle.

        Parameters
        ----------
        path
            The file, by custom ``.shl``. An existing one is replaced by a complete file only.
        """
        check_is_fitted(self)
        write_model(path, *dump(self.get_params(deep=False), self._result))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load a fitted estimator from a file of `save`.

        Parameters
        ----------
        path
            The file.

        Returns
        -------
        a fitted estimator

        Raises
        ------
        ModelFileError
            If the file is of another kind, damaged, or of a newer version.
        """
        known = cls().get_params(deep=False)
        parameters, result = restore(*read_model(path), Path(path).name, known)
        estimator = cls(**known | parameters)
        estimator._set_attributes(result)
        return estimator
