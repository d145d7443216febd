"""Codewords: block 3 (eq. 33 and eqs. 3_4 to 3_7)."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from shlcore.hinge import hinge
from shlcore.objective import spread_within_classes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shlcore.array_types import Array, Floats, Indices

    Codewords = NDArray[np.int8]

_PROXIMAL_STEPS = 50
"""Lines 8 to 12 of Alg. 2, which says no number. On 600 rows of pendigits (S = 3, lambda2 of
2e3 to 2e5) 20 and 50 steps end at the same eq. (6); 5 end 40 % higher at 2e4, and 200 end 5 %
lower at 2e5, for twice the time."""


def substitute(sums_up: Array, sums_down: Array, codewords: Codewords) -> Codewords:
    """Solve eq. (33): for each codeword and bit the sign with the smaller hinge sum.

    Parameters
    ----------
    sums_up, sums_down
        ``(C S, B)``, the members' weighted hinge losses if the bit were +1, if it were -1.
    codewords
        ``(C, S, B)``; keeps its sign on a tie (a codeword without members has nothing but
        ties).
    """
    flat = codewords.reshape(sums_up.shape)
    better = np.where(sums_up < sums_down, 1, np.where(sums_down < sums_up, -1, flat))
    return better.astype(np.int8).reshape(codewords.shape)


def prox_pair(v_i: Array, v_j: Array, threshold: float) -> tuple[Array, Array]:
    """Return the proximal operator of ``threshold * ||mu_i - mu_j||`` (Prop. 3.5)."""
    gap = float(np.linalg.norm(v_i - v_j))
    if gap == 0.0:
        return v_i, v_j
    pull = min(threshold / gap, 0.5)
    return (1 - pull) * v_i + pull * v_j, pull * v_i + (1 - pull) * v_j


def proximal_average(v: Array, threshold: float) -> Array:
    """Approximate the prox of ``threshold * sum_{i<j} ||mu_i - mu_j||`` of one class.

    Yu's proximal average of P pairs: the mean of the P single-pair operators, each with P
    times the threshold. Exact for one pair. ``v`` is ``(S, B)``.
    """
    pairs = list(combinations(range(len(v)), 2))
    total = np.zeros_like(v)
    for i, j in pairs:
        moved = v.copy()
        moved[i], moved[j] = prox_pair(v[i], v[j], threshold * len(pairs))
        total += moved
    return total / len(pairs)


class MemberLoss:
    """The data term of block 3, ``lambda1 sum_n w_n sum_b [1 - mu_gamma(n)^b f_b(x_n)]_+``.

    Parameters
    ----------
    projections
        ``(n, B)``.
    members
        ``(n,)``, gamma as a flat codeword index.
    costs
        ``(n,)``, ``lambda1 w_n``.
    """

    def __init__(
        self,
        projections: Floats,
        members: Indices,
        costs: Array,
        n_codewords: int,
    ) -> None:
        order = np.argsort(members, kind="stable")
        self._f = projections[order]
        self._costs = costs[order, None]
        self._members = members[order]
        self._present = np.unique(members)
        self._starts = np.searchsorted(self._members, self._present)
        self._shape = (n_codewords, projections.shape[1])

    def _sums(self, values: Array) -> Array:
        """Add up rows by the codeword they belong to; 0 for codewords without members."""
        sums = np.zeros(self._shape)
        sums[self._present] = np.add.reduceat(values, self._starts, axis=0)
        return sums

    def of_signs(self) -> tuple[Array, Array]:
        """Return the loss ``(C S, B)`` if each bit were +1, and if it were -1."""
        up = self._sums(self._costs * hinge(self._f))
        down = self._sums(self._costs * hinge(-self._f))
        return up, down

    def subgradient(self, relaxed: Array) -> Array:
        """Return a subgradient at relaxed codewords ``(C S, B)``."""
        active = relaxed[self._members] * self._f < 1.0
        return self._sums(np.where(active, -self._costs * self._f, 0.0))


def move_codewords(loss: MemberLoss, codewords: Codewords, lambda2: float) -> Codewords:
    """Solve block 3: by substitution when S = 1, by accelerated proximal steps otherwise.

    Subgradient steps do not descend every time, and rounding may spoil what they gained: of
    all iterates' signs, the substitution's answer and the present codewords, the one with the
    smallest data loss plus codeword term wins, so that eq. (6) never rises. Classes that share a
    codeword can never be told apart again, so none may come to that.
    """
    up, down = loss.of_signs()
    substituted = apart(substitute(up, down, codewords), codewords, np.abs(up - down))
    if codewords.shape[1] == 1:
        return substituted

    def value(candidate: Codewords) -> float:
        data = np.where(candidate.reshape(up.shape) > 0, up, down).sum()
        return float(data) + lambda2 * spread_within_classes(candidate)

    best, best_value = codewords, value(codewords)
    for candidate in (substituted, *_proximal_signs(loss, codewords, lambda2)):
        candidate_value = value(candidate)
        if candidate_value < best_value and not classes_share(candidate):
            best, best_value = candidate, candidate_value
    return best


def classes_share(codewords: Codewords) -> bool:
    """Whether two classes have a codeword in common."""
    owners: dict[bytes, int] = {}
    return any(
        owners.setdefault(word.tobytes(), c) != c
        for c, words in enumerate(codewords)
        for word in words
    )


def apart(wanted: Codewords, present: Codewords, gains: Array) -> Codewords:
    """Return the wanted codewords, less the flips that would make two classes share one.

    Flips are taken from the present codewords on, those that gain most (``(C S, B)``) first.
    """
    if not classes_share(wanted):
        return wanted
    words = present.copy()
    flat, goal = words.reshape(gains.shape), wanted.reshape(gains.shape)
    rows, bits = np.nonzero(flat != goal)
    for place in np.argsort(-gains[rows, bits], kind="stable"):
        row, bit = rows[place], bits[place]
        flat[row, bit] *= -1
        if classes_share(words):
            flat[row, bit] *= -1
    return words


def count_distinct(codewords: Codewords) -> Indices:
    """How many different codewords each class has left."""
    return np.array([len(set(map(bytes, words))) for words in codewords], dtype=np.intp)


def _proximal_signs(loss: MemberLoss, codewords: Codewords, lambda2: float) -> list[Codewords]:
    """Run lines 8 to 12 of Alg. 2 from the present codewords; the signs of each iterate."""
    shape = codewords.shape
    relaxed = codewords.astype(float).reshape(-1, shape[-1])
    largest = float(np.abs(loss.subgradient(np.zeros_like(relaxed))).max())
    first_step = 1.0 / max(largest, lambda2, np.finfo(float).tiny)
    before = relaxed
    signs: list[Codewords] = []
    # No single step may jump farther than from -1 to +1, and the steps of a subgradient method
    # have to shrink.
    for k in range(1, _PROXIMAL_STEPS + 1):
        eta = first_step / np.sqrt(k)
        z = (relaxed - eta * loss.subgradient(relaxed)).reshape(shape)
        y = np.stack([proximal_average(words, eta * lambda2) for words in z])
        y = np.clip(y, -1.0, 1.0).reshape(before.shape)
        relaxed = y + (k - 1) / (k + 2) * (y - before)
        before = y
        rounded = np.where(y >= 0, 1, -1).astype(np.int8).reshape(shape)
        if not signs or not np.array_equal(rounded, signs[-1]):
            signs.append(rounded)
    return signs
