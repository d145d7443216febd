"""From scores to probabilities: one temperature, learnt from rows that were left out.

One number for all classes keeps the order of the scores, so the most probable class is the one
that `predict` names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

if TYPE_CHECKING:
    from shlcore.array_types import Array, Indices

_COLDEST, _HOTTEST = 1e-3, 1e6
"""Scores are counted in bits. Beyond these, probabilities are 0 and 1, or all equal."""


def learn_temperature(scores: Array, labels: Indices, weights: Array) -> float:
    """Return the temperature at which the labels of rows are most likely.

    As Platt does, each label is believed a little less than wholly (by one row in n + 2), so that
    scores without a single error still get a temperature above 0.

    Parameters
    ----------
    scores
        ``n x C``, of rows by functions that these rows did not teach.
    labels
        ``(n,)``, class indices.
    weights
        ``(n,)``, how often each row counts.
    """
    n_classes = scores.shape[1]
    total = float(weights.sum())
    doubt = 1.0 / (total + 2.0)
    wanted = np.full(scores.shape, doubt / (n_classes - 1))
    wanted[np.arange(len(labels)), labels] = 1.0 - doubt

    def loss(log_temperature: float) -> float:
        logs = log_softmax(scores / np.exp(log_temperature), axis=1)
        return float(-(weights @ (wanted * logs).sum(axis=1)) / total)

    bounds = np.log(_COLDEST), np.log(_HOTTEST)
    return float(np.exp(minimize_scalar(loss, bounds=bounds, method="bounded").x))


def probabilities(scores: Array, temperature: float) -> Array:
    """Return the probability of each class, ``n x C``."""
    return np.asarray(softmax(np.asarray(scores, dtype=np.float64) / temperature, axis=1))
