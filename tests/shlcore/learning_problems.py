"""Random learning problems, small enough for brute force."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st


@dataclass(frozen=True)
class Samples:
    X: np.ndarray
    y: np.ndarray | None
    n_classes: int
    n_codewords: int
    n_bits: int
    seed: int


@st.composite
def samples(draw, modes=("supervised", "semi-supervised", "unsupervised")):
    """Noisy blobs with some, all or no labels."""
    seed = draw(st.integers(0, 10_000))
    mode = draw(st.sampled_from(modes))
    n_classes = draw(st.integers(2, 4))
    n_codewords = draw(st.sampled_from([1, 3]))
    n_bits = draw(st.integers(4, 6))
    spread = draw(st.sampled_from([0.05, 0.3, 1.0]))
    rng = np.random.default_rng(seed)
    per_class = draw(st.integers(4, 9))
    centres = rng.random((n_classes, 2))
    y = np.repeat(np.arange(n_classes), per_class)
    X = centres[y] + spread * rng.standard_normal((len(y), 2))
    if mode == "unsupervised":
        labels = None
    else:
        labels = y.copy()
        if mode == "semi-supervised":
            hidden = rng.random(len(y)) < 0.6
            hidden[np.arange(n_classes) * per_class] = False
            labels[hidden] = -1
    return Samples(X, labels, n_classes, n_codewords, n_bits, seed)
