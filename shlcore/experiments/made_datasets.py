"""Datasets that need no file: scikit-learn's digits, and classes made of several clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.datasets import load_digits

from shlcore.experiments.datasets import Dataset

if TYPE_CHECKING:
    from collections.abc import Callable

CLASSES, MODES, COLUMNS, ROWS = 4, 3, 5, 4000
SPREAD = 0.45  # of a cluster, where centres have a spread of 1


def digits() -> Dataset:
    """Return scikit-learn's 1797 digits of 8 x 8 pixels."""
    X, y = load_digits(return_X_y=True)
    return Dataset("digits", X, y)


def modes() -> Dataset:
    """Return four classes of three clusters each, whose centres are drawn without order.

    In five columns no plane has a class on one side and all others on the other: codes of one
    codeword a class are beyond linear functions.
    """
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((CLASSES * MODES, COLUMNS))
    drawn = rng.integers(CLASSES * MODES, size=ROWS)
    X = centres[drawn] + SPREAD * rng.standard_normal((ROWS, COLUMNS))
    return Dataset("modes", X, drawn % CLASSES)


MADE: dict[str, Callable[[], Dataset]] = {"digits": digits, "modes": modes}
