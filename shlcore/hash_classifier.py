"""What a fitted SHL does, as scikit-learn's classifiers and transformers do it."""

from __future__ import annotations

import warnings
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from sklearn.base import (
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted

from shlcore import hamming
from shlcore.assignments import class_margins, class_scores
from shlcore.calibration import probabilities
from shlcore.checked_samples import SampleChecks
from shlcore.estimator_file import dump, restore
from shlcore.kernel_hash import RowHash, StackHash
from shlcore.kernels import Kernel
from shlcore.model_file import read_model, write_model
from shlcore.objective import regularisers

if TYPE_CHECKING:
    import os

    from numpy.typing import ArrayLike, NDArray
    from sklearn.utils import Tags

    from shlcore.array_types import Array, Floats
    from shlcore.checked_samples import Samples
    from shlcore.fitted import Fitted
    from shlcore.grams import Grams
    from shlcore.parameters import DecodingChoice


class HashClassifier(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClassifierMixin, SampleChecks
):
    """Codes, classes, confidence and the file of what was learnt; `shlcore.SHL` learns it."""

    decoding: DecodingChoice
    lambda1: float
    kernels: Any  # a name, or kernels

    def _take(self, fitted: Fitted) -> None:
        """Unpack what was learnt into the attributes that scikit-learn's users know."""
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self._fitted = fitted
        for name, value in fitted.attributes().items():
            setattr(self, name, value)

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002 (sklearn's)
        """Return the parameters; deep ones are those of given kernels, as ``kernels__0__sigma``.

        Returns
        -------
        dict
        """
        found: dict[str, Any] = super().get_params(deep=deep)
        kernels = found.get("kernels")
        if deep and isinstance(kernels, list | tuple):
            given = [kernel for kernel in kernels if isinstance(kernel, Kernel)]
            for place, kernel in enumerate(given if len(given) == len(kernels) else []):
                for field in fields(kernel):
                    found[f"kernels__{place}__{field.name}"] = getattr(kernel, field.name)
        return found

    def set_params(self, **params: object) -> Self:
        """Set parameters, those of given kernels among them: ``kernels__0__sigma=2.0``.

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
            _, place, field = name.split("__")
            kernels = list(self.kernels)
            kernels[int(place)] = replace(kernels[int(place)], **{field: value})
            self.kernels = kernels
        return self

    def project(self, X: Samples) -> Array:
        """Return f(x), ``n x B``; the sign of each column is a bit.

        With random features the numbers are of single precision.
        """
        check_is_fitted(self)
        hash_ = self._fitted.hash
        if isinstance(hash_, RowHash):
            return hash_.project(self._rows(X, reset=False))
        if isinstance(hash_, StackHash):
            return hash_.project(cast("ArrayLike | Grams", X))
        return cast("Array", hash_.project(self._table(X)))

    def transform(self, X: Samples) -> NDArray[np.uint8]:
        """Return the hash codes.

        Returns
        -------
        array of shape (n, B), 0 or 1
        """
        return (self.project(X) >= 0).astype(np.uint8)

    def hash(self, X: Samples) -> NDArray[np.uint8]:
        """Return the hash codes packed into bytes (`shlcore.hamming`).

        Returns
        -------
        array of shape (n, ceil(B / 8))
        """
        return hamming.pack(self.transform(X))

    def predict(self, X: Samples) -> NDArray[Any]:  # labels of the kind that y had
        """Return the class of the nearest codeword, by the distance that ``decoding`` names.

        By Hamming distance ties are common; they go to the smaller hinge distance.

        Returns
        -------
        array of shape (n,), values of `classes_`
        """
        best = class_scores(self.project(X), self.codewords_, self.decoding).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def decision_function(self, X: Samples) -> Array:
        """Return a score of each class that ranks them exactly as `predict` does.

        Minus the hinge distance; or, decoded by Hamming distance, minus that, minus the hinge
        distance squeezed into [0, 1). With two classes: the second's score minus the first's.

        Returns
        -------
        array of shape (n, C), or (n,) with two classes
        """
        scores = class_scores(self.project(X), self.codewords_, self.decoding)
        return scores if scores.shape[1] > 2 else np.asarray(scores[:, 1] - scores[:, 0])

    def margin(self, X: Samples) -> Array:
        """Return the confidence: second-best minus best class in hinge distance, >= 0.

        Returns
        -------
        array of shape (n,)
        """
        return class_margins(self.project(X), self.codewords_)

    def function_norms(self) -> Array:
        """Return ``sqrt(sum_m ||w_bm||^2 / theta_bm)`` of each bit: the R of Theorem 1."""
        check_is_fitted(self)
        return np.sqrt(2.0 * regularisers(self._fitted.squared_norms, self.kernel_weights_))

    def _warn_of_a_small_cost(self, projections: Floats) -> None:
        """Say what was taken instead of a lambda1 at which nothing can be learnt."""
        taken = float(self._fitted.stages.costs[-1])
        known = projections[~np.isnan(projections).any(axis=1)]
        found = np.unique(class_scores(known, self.codewords_).argmax(axis=1))
        told = []
        if taken > self.lambda1:
            told.append(
                f"{self.lambda1!r} costs so little that functions are nearly constant: "
                f"{taken:g} was taken instead (stage_costs_)"
            )
        if taken <= 1.0 and len(found) < len(self.classes_):
            missing = len(self.classes_) - len(found)
            told.append(
                f"at {taken:g} no training sample is decoded as {missing} of "
                f"{len(self.classes_)} classes. Raise lambda1"
            )
        if told:
            warnings.warn(f"lambda1: {'; '.join(told)}.", UserWarning, stacklevel=4)

    @property
    def _n_features_out(self) -> int:
        return int(self.codewords_.shape[-1])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # Codes are bytes of 0 and 1, whatever the type of X.
        tags.transformer_tags.preserves_dtype = []
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "codewords_")

    def predict_proba(self, X: Samples) -> Array:
        """Return the probability of each class; the most probable one is what `predict` says.

        The scores of `decision_function`, divided by one temperature and brought to sum 1. The
        temperature was learnt from the labelled training samples, each by the hash functions
        of the others (`shlcore.leave_one_out`).

        Parameters
        ----------
        X
            Samples as in `fit`.

        Returns
        -------
        array of shape (n, C), columns in the order of `classes_`
        """
        check_is_fitted(self)
        temperature = self._fitted.temperature
        if temperature is None:
            raise AttributeError(
                "predict_proba: wanted a model that was fitted with probability=True, got another"
            )
        scores = class_scores(self.project(X), self.codewords_, self.decoding)
        return probabilities(scores, temperature)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted estimator into one file: arrays and JSON, no pickle."""
        check_is_fitted(self)
        write_model(path, *dump(self.get_params(deep=False), self._fitted))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what `save` wrote; raises ModelFileError with one sentence otherwise."""
        known = cls().get_params(deep=False)
        parameters, fitted = restore(*read_model(path), Path(path).name, known)
        estimator = cls(**known | parameters)
        estimator._take(fitted)
        return estimator
