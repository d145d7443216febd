"""Where codewords begin: distinct, and as far apart as a search can put them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shlcore.array_types import Array

    Codewords = NDArray[np.int8]

_RESTARTS = 10
"""Searches for spread codewords. With one, the smallest distance of 10 words of 5 bits is 1 or
2 by luck; with three, eight seeds all reach what thirty searches reach (2 of 5 bits, 8 of 15;
26 words: 2 of 8, 6 of 15). Ten cost some 25 ms."""

_COLUMN_SHARE = 1e-3
"""How much the spread of bits counts beside that of codewords: it decides between equals. Up
to 1e-2 it never cost any distance between codewords; at 0.1 it did."""

_DRAWN_AS_NUMBERS = 16
"""Bits up to which words are drawn as different numbers, which ends soon even if most of the words
are wanted. With more bits equal words are rare, and all are drawn again."""


def spread_codewords(
    n_classes: int, n_codewords: int, n_bits: int, rng: np.random.Generator
) -> Codewords:
    """Return distinct codewords ``(C, S, B)``, as far apart as a search can put them.

    The smallest pairwise Hamming distance decides between restarts, then the energy. The
    codewords of one class are near each other, those of different classes far apart.
    """
    count = n_classes * n_codewords
    if count > 2.0**n_bits:
        raise ValueError(
            f"n_bits: wanted enough bits for {count} distinct codewords "
            f"({n_classes} classes of {n_codewords}), got {n_bits} bits, which give {2**n_bits}"
        )
    if count == 2:
        word = _distinct_words(1, n_bits, rng)
        return np.stack([word, -word])
    best: tuple[float, float] | None = None
    chosen = np.empty((count, n_bits), dtype=np.int8)
    for _ in range(_RESTARTS):
        words = _descend_energy(_distinct_words(count, n_bits, rng))
        gaps = _hamming(words)
        smallest = float(gaps[np.triu_indices(count, 1)].min()) if count > 1 else 0.0
        if smallest < 1:
            continue
        rank = (-smallest, _energy(words))
        if best is None or rank < best:
            best, chosen = rank, words
    if best is None:
        chosen = _distinct_words(count, n_bits, rng)
    return _grouped(chosen, n_classes, n_codewords)


def _distinct_words(count: int, n_bits: int, rng: np.random.Generator) -> Codewords:
    """Draw different words at random."""
    if n_bits <= _DRAWN_AS_NUMBERS:
        numbers = rng.choice(2**n_bits, size=count, replace=False)
        bits = (numbers[:, None] >> np.arange(n_bits)) & 1
        return (2 * bits - 1).astype(np.int8)
    words = rng.choice(np.array([-1, 1], dtype=np.int8), size=(count, n_bits))
    while len(np.unique(words, axis=0)) < count:
        words = rng.choice(np.array([-1, 1], dtype=np.int8), size=(count, n_bits))
    return words


def _hamming(words: NDArray[np.int8]) -> Array:
    floats = words.astype(float)
    return np.asarray(0.5 * (words.shape[1] - floats @ floats.T))


def _row_forces(words: Array, sharpness: float) -> tuple[Array, float]:
    """Energy ``sum_{i<j} exp(-sharpness d_ij)``, and its change for each single flip."""
    forces = np.exp(-sharpness * 0.5 * (words.shape[1] - words @ words.T))
    np.fill_diagonal(forces, 0.0)
    nearer, farther = np.exp(sharpness) - 1.0, np.exp(-sharpness) - 1.0
    # Flipping bit b of word i moves it away from those that agree there, towards the others.
    total = forces.sum(axis=1, keepdims=True)
    agreeing = 0.5 * (total + words * (forces @ words))
    change = farther * agreeing + nearer * (total - agreeing)
    return change, 0.5 * float(forces.sum())


def _column_changes(words: Array) -> tuple[Array, float]:
    """Do the same for the bits' columns: equal, opposite or constant ones teach nothing new."""
    columns = np.concatenate([words, -words, np.ones((len(words), 1))], axis=1).T
    columns = np.concatenate([columns, -np.ones((1, len(words)))])
    change, _ = _row_forces(columns, 1.0)
    n_bits = words.shape[1]
    forces = np.exp(-0.5 * (len(words) - columns[:n_bits] @ columns.T))
    forces[np.arange(n_bits), np.arange(n_bits)] = 0.0
    return change[:n_bits].T, float(forces.sum())


def _energy(words: NDArray[np.int8]) -> float:
    floats = words.astype(float)
    return _row_forces(floats, 1.0)[1] + _COLUMN_SHARE * _column_changes(floats)[1]


def _descend_energy(words: NDArray[np.int8]) -> NDArray[np.int8]:
    """Flip the best single bit until no flip lowers the energy."""
    current = words.astype(float)
    # Every flip lowers the energy, so that the search ends by itself; this is for rounding errors,
    # and so is the 1e-12 below.
    for _ in range(8 * words.size):
        change = _row_forces(current, 1.0)[0] + _COLUMN_SHARE * _column_changes(current)[0]
        i, b = np.unravel_index(int(change.argmin()), change.shape)
        if change[i, b] >= -1e-12:
            break
        current[i, b] *= -1
    return current.astype(np.int8)


def _grouped(words: NDArray[np.int8], n_classes: int, n_codewords: int) -> Codewords:
    """Hand the words to the classes: seeds far apart, then each class takes near ones."""
    if n_codewords == 1:
        return words[:, None, :]
    gaps = _hamming(words)
    seeds = [0]
    while len(seeds) < n_classes:
        seeds.append(int(gaps[seeds].min(axis=0).argmax()))
    groups = [[seed] for seed in seeds]
    free = [word for word in range(len(words)) if word not in seeds]
    while free:
        open_groups = [c for c in range(n_classes) if len(groups[c]) < n_codewords]
        _, c, word = min((gaps[seeds[c], word], c, word) for c in open_groups for word in free)
        groups[c].append(word)
        free.remove(word)
    return np.asarray(words[np.array(groups)])
