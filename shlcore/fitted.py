"""A fitted estimator from a step of the descent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from shlcore.codewords import count_distinct
from shlcore.hash_functions import Hash, StackHash
from shlcore.samples import LEFT_OUT
from shlcore.svm import Grams

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shlcore.steps import Step
    from shlcore.training_data import TrainingData


def filled(
    learner: Any,  # noqa: ANN401 - SHL, which imports this module
    X: Any,  # noqa: ANN401 - anything array-like
    data: TrainingData,
    step: Step[Any],
    path: tuple[float, ...],
) -> Any:  # noqa: ANN401 - SHL again
    """Return a fitted estimator that holds a step's model."""
    fitted = clone(learner)
    fitted.n_features_in_ = learner.n_features_in_
    if hasattr(learner, "feature_names_in_"):
        fitted.feature_names_in_ = learner.feature_names_in_
    model = step.model
    fitted.classes_ = data.classes
    fitted.codewords_ = model.codewords.copy()
    fitted.n_codewords_ = count_distinct(model.codewords)
    fitted.kernel_weights_ = model.kernel_weights
    fitted._squared_norms = model.squared_norms
    fitted.objective_ = np.array(path)
    fitted.n_iter_ = step.iteration
    fitted.solver_ = learner.solver_
    fitted._hash = data.space.hash_of(model.functions)
    row_classes = step.members // data.problem.n_codewords
    indices = np.where(
        data.rows.row_of_sample == LEFT_OUT, 0, row_classes[data.rows.row_of_sample]
    )
    fitted.transduction_ = data.classes[indices]
    left_out = np.flatnonzero(data.rows.row_of_sample == LEFT_OUT)
    if left_out.size:
        fitted.transduction_[left_out] = fitted.predict(_samples_of(X, left_out, fitted._hash))
    return fitted


def _samples_of(X: Any, samples: NDArray[np.intp], hash_: Hash) -> Any:  # noqa: ANN401
    """Pick samples; a frame stays a frame, so that its column names stay."""
    if isinstance(X, Grams):
        return X.matrices_of(samples)
    if hasattr(X, "iloc"):
        return X.iloc[samples]
    if isinstance(hash_, StackHash):
        return np.asarray(X)[:, samples]
    return X[samples] if hasattr(X, "dask") else np.asarray(X)[samples]
