"""Initial codewords, and block 3: eq. (33) and eqs. (3_4) to (3_7)."""

from __future__ import annotations

from itertools import combinations, product
from typing import TYPE_CHECKING

import numpy as np

from shlcore.hinge import hinge
from shlcore.objective import codeword_spread

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shlcore.array_types import Array, Floats, Indices

    Codewords = NDArray[np.int8]


_PROXIMAL_STEPS = 50
"""Iterations of lines 8 to 12 of Alg. 2; the paper gives no number. On 600 rows of pendigits
(S = 3, lambda2 of 2e3 to 2e5) 20 and 50 steps end at the same eq. (6); 5 end 40 % higher at 2e4,
and 200 end 5 % lower at 2e5, for twice the time."""

_MAX_STATES = 20_000
"""States up to which block 3 is solved exactly. Two codewords of 45 bits have at most 46, three of
15 bits 800, five of 5 bits 2000."""

_MAX_SIGNS = 12
"""Signs of a class (S B) up to which codewords without collisions are found by branch and bound
over all combinations."""

_MAX_VISITS = 20_000
"""Branches of that search, some 20 ms."""

_MAX_EXACT = 6
"""Codewords of a class up to which there are few patterns of signs of a bit (32 for six)."""

_RESTARTS = 10
"""Searches for spread codewords. With one, the smallest distance of 10 words of 5 bits is 1 or
2 by chance; with three, eight seeds all reach the result of thirty searches (2 of 5 bits, 8 of 15;
26 words: 2 of 8, 6 of 15). Ten cost some 25 ms."""

_COLUMN_SHARE = 1e-3
"""Weight of the distances between bits beside those between codewords, small enough to break ties
only. Up to 1e-2 it never cost any distance between codewords; at 0.1 it did."""

_MAX_BITS_AT_ONCE = 64
"""Longer words are several parts, each spread by itself, as the time of a search grows with the
third power of the bits. Ten words of 128 bits: 1 s instead of 15 s, with the same smallest
distance of 63."""

_MAX_BITS_AS_INTEGERS = 16
"""Bits up to which words are drawn as distinct integers, which is fast even if most of the words
are needed. With more bits equal words are rare, and all words are drawn again."""


def spread_codewords(
    n_classes: int, n_codewords: int, n_bits: int, rng: np.random.Generator
) -> Codewords:
    """Return distinct codewords ``(C, S, B)`` with large pairwise Hamming distances.

    Among the restarts the largest minimum distance wins, then the lowest energy. Codewords of one
    class are near each other, those of different classes far apart.
    """
    count = n_classes * n_codewords
    if n_bits < int(count - 1).bit_length():
        raise ValueError(
            f"n_bits: wanted enough bits for {count} distinct codewords "
            f"({n_classes} classes of {n_codewords}), got {n_bits} bits, which give {2**n_bits}"
        )
    if count == 2:
        word = _distinct_words(1, n_bits, rng)
        return np.stack([word, -word])
    parts = np.array_split(np.arange(n_bits), -(-n_bits // _MAX_BITS_AT_ONCE))
    words = [_spread_words(count, len(part), rng) for part in parts]
    return _group_by_class(np.concatenate(words, axis=1), n_classes, n_codewords)


def _spread_words(count: int, n_bits: int, rng: np.random.Generator) -> NDArray[np.int8]:
    """Return the most distant words of several searches, ``count x n_bits``."""
    best: tuple[float, float] | None = None
    chosen = np.empty((count, n_bits), dtype=np.int8)
    for _ in range(_RESTARTS):
        words = _minimise_energy(_distinct_words(count, n_bits, rng))
        gaps = _hamming(words)
        smallest = float(gaps[np.triu_indices(count, 1)].min()) if count > 1 else 0.0
        if smallest < 1:
            continue
        rank = (-smallest, _energy(words))
        if best is None or rank < best:
            best, chosen = rank, words
    return _distinct_words(count, n_bits, rng) if best is None else chosen


def _distinct_words(count: int, n_bits: int, rng: np.random.Generator) -> Codewords:
    """Draw distinct random words."""
    if n_bits <= _MAX_BITS_AS_INTEGERS:
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


def _row_energy(words: Array, sharpness: float) -> tuple[Array, float]:
    """Return ``sum_{i<j} exp(-sharpness d_ij)``, after its change by each flip."""
    forces = np.exp(-sharpness * 0.5 * (words.shape[1] - words @ words.T))
    np.fill_diagonal(forces, 0.0)
    nearer, farther = np.exp(sharpness) - 1.0, np.exp(-sharpness) - 1.0
    # A flip of bit b of word i moves it away from the words that agree there, towards the others.
    total = forces.sum(axis=1, keepdims=True)
    agreeing = 0.5 * (total + words * (forces @ words))
    change = farther * agreeing + nearer * (total - agreeing)
    return change, 0.5 * float(forces.sum())


def _column_energy(words: Array) -> tuple[Array, float]:
    """Do the same for the bits' columns, also against opposite and constant columns."""
    columns = np.concatenate([words, -words, np.ones((len(words), 1))], axis=1).T
    columns = np.concatenate([columns, -np.ones((1, len(words)))])
    change, _ = _row_energy(columns, 1.0)
    n_bits = words.shape[1]
    forces = np.exp(-0.5 * (len(words) - columns[:n_bits] @ columns.T))
    forces[np.arange(n_bits), np.arange(n_bits)] = 0.0
    return change[:n_bits].T, float(forces.sum())


def _energy(words: NDArray[np.int8]) -> float:
    floats = words.astype(float)
    return _row_energy(floats, 1.0)[1] + _COLUMN_SHARE * _column_energy(floats)[1]


def _minimise_energy(words: NDArray[np.int8]) -> NDArray[np.int8]:
    """Flip the best single bit until no flip lowers the energy."""
    current = words.astype(float)
    # Every flip lowers the energy, so that the search terminates. The bound on the number of flips
    # and the 1e-12 guard against rounding errors.
    for _ in range(8 * words.size):
        change = _row_energy(current, 1.0)[0] + _COLUMN_SHARE * _column_energy(current)[0]
        i, b = np.unravel_index(int(change.argmin()), change.shape)
        if change[i, b] >= -1e-12:
            break
        current[i, b] *= -1
    return current.astype(np.int8)


def _group_by_class(words: NDArray[np.int8], n_classes: int, n_codewords: int) -> Codewords:
    """Assign words to classes: one distant seed each, then the nearest free words."""
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


def substitute(sums_up: Array, sums_down: Array, codewords: Codewords) -> Codewords:
    """Solve eq. (33): the sign with the smaller hinge sum, for each codeword and bit.

    Parameters
    ----------
    sums_up, sums_down
        ``(C S, B)``, the members' weighted hinge losses if the bit were +1, if it were -1.
    codewords
        ``(C, S, B)``; a sign stays on a tie, as those of a codeword without members do.
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
    """Data term of block 3.

    ``lambda1 sum_n w_n sum_b [1 - mu_gamma(n)^b f_b(x_n)]_+``

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
        """Sum rows by their codeword; 0 for codewords without members."""
        sums = np.zeros(self._shape)
        sums[self._present] = np.add.reduceat(values, self._starts, axis=0)
        return sums

    def sign_losses(self) -> tuple[Array, Array]:
        """Return the loss ``(C S, B)`` with each bit at +1, and at -1."""
        up = self._sums(self._costs * hinge(self._f))
        down = self._sums(self._costs * hinge(-self._f))
        return up, down

    def subgradient(self, relaxed: Array) -> Array:
        """Return a subgradient at relaxed codewords ``(C S, B)``."""
        active = relaxed[self._members] * self._f < 1.0
        return self._sums(np.where(active, -self._costs * self._f, 0.0))


def move_codewords(loss: MemberLoss, codewords: Codewords, lambda2: float) -> Codewords:
    """Solve block 3: exactly by eq. (33), or for small S and B.

    Eq. (33) holds for S = 1 or lambda2 = 0. For large S and B accelerated proximal steps help,
    whose signs are candidates. Subgradient steps do not always descend, and rounding may undo
    their gain, so the best of the signs of all iterates, the solution of eq. (33) and the current
    codewords is returned: eq. (6) never rises. Classes that share a codeword would stay
    indistinguishable, hence candidates with a collision are skipped; few signs are searched for
    the best ones without.
    """
    up, down = loss.sign_losses()
    plain = substitute(up, down, codewords)
    simple = codewords.shape[1] == 1 or lambda2 == 0.0
    if simple and not has_collision(plain):
        return plain

    def value(candidate: Codewords) -> float:
        data = np.where(candidate.reshape(up.shape) > 0, up, down).sum()
        return float(data) + lambda2 * codeword_spread(candidate)

    exact = plain if simple else exact_codewords(up, down, codewords, lambda2)
    if exact is None or has_collision(exact):
        exact = _without_collisions_exactly(up, down, codewords, lambda2)
    candidates = [
        without_collisions(plain, codewords, np.abs(up - down)) if exact is None else exact
    ]
    if exact is None and not simple:
        candidates += _proximal_signs(loss, codewords, lambda2)
    best, best_value = codewords, value(codewords)
    for candidate in candidates:
        candidate_value = value(candidate)
        if candidate_value < best_value and not has_collision(candidate):
            best, best_value = candidate, candidate_value
    return best


def exact_codewords(
    up: Array, down: Array, codewords: Codewords, lambda2: float
) -> Codewords | None:
    """Minimise the data loss plus ``lambda2 sum_{i<j} ||mu_i - mu_j||`` of each class.

    The loss is a sum over the bits, and the second term depends on the pairs' Hamming distances
    alone. So dynamic programming over the bits keeps the smallest loss for each combination of
    distances that some signs of the bits so far have.

    Parameters
    ----------
    up, down
        ``(C S, B)``, the loss of each codeword with a bit at +1 and at -1.

    Returns
    -------
    the codewords, or None if there are too many combinations
    """
    words = codewords.copy()
    shape = codewords.shape
    for own, ups, downs in zip(words, up.reshape(shape), down.reshape(shape), strict=True):
        signs = _nearest_signs(ups, downs, lambda2)
        if signs is None:
            return None
        own[:] = signs
    return words


def _without_collisions_exactly(
    up: Array, down: Array, codewords: Codewords, lambda2: float
) -> Codewords | None:
    """Solve block 3 with different codewords for each class, by branch and bound.

    Each class has all its combinations of signs in ascending order of their loss; a branch ends
    where the smallest losses of the remaining classes do not help any more. None: too many.
    """
    n_classes, s, n_bits = codewords.shape
    if s * n_bits > _MAX_SIGNS:
        return None
    patterns = np.array(list(product((1, -1), repeat=s * n_bits)), dtype=np.int8)
    spreads = lambda2 * _spreads(patterns.reshape(-1, s, n_bits))
    words = (patterns.reshape(-1, s, n_bits) > 0) @ (1 << np.arange(n_bits))
    shape = n_classes, s * n_bits
    losses = np.where(patterns > 0, up.reshape(shape)[:, None], down.reshape(shape)[:, None])
    values = losses.sum(axis=2) + spreads
    orders = values.argsort(axis=1, kind="stable")
    rest = np.append(np.cumsum(values.min(axis=1)[::-1])[::-1], 0.0)
    best, chosen, visits = np.inf, [0] * n_classes, 0

    def extend(path: list[int], used: frozenset[int], total: float) -> None:
        nonlocal best, chosen, visits
        c = len(path)
        if c == n_classes:
            best, chosen = total, path
            return
        for pattern in orders[c]:
            value = total + values[c, pattern]
            visits += 1
            if value + rest[c + 1] >= best or visits > _MAX_VISITS:
                return
            own = frozenset(words[pattern].tolist())
            if not own & used:
                extend([*path, int(pattern)], used | own, value)

    extend([], frozenset(), 0.0)
    if visits > _MAX_VISITS:
        return None
    return np.asarray(patterns[chosen].reshape(codewords.shape))


def _spreads(words: Codewords) -> Array:
    """Return the sum of distances between the codewords of each class, ``(n,)``."""
    total = np.zeros(len(words))
    for i, j in combinations(range(words.shape[1]), 2):
        total += 2.0 * np.sqrt(np.count_nonzero(words[:, i] != words[:, j], axis=1))
    return total


def _nearest_signs(up: Array, down: Array, lambda2: float) -> Codewords | None:
    """Return the optimal codewords ``(S, B)`` of a class; None: too many states."""
    s, n_bits = up.shape
    if s > _MAX_EXACT or (n_bits + 1.0) ** (s * (s - 1) // 2) >= 2.0**62:
        return None
    # A pattern of signs and its opposite have the same distances; the first sign is +1.
    patterns = np.array([(1, *signs) for signs in product((1, -1), repeat=s - 1)], dtype=np.int8)
    i, j = np.triu_indices(s, 1)
    radix = (n_bits + 1) ** np.arange(len(i), dtype=np.int64)
    gaps = (patterns[:, i] != patterns[:, j]) @ radix
    as_given = np.where(patterns[:, :, None] > 0, up, down).sum(axis=1)
    opposite = np.where(patterns[:, :, None] > 0, down, up).sum(axis=1)
    losses, flips = np.minimum(as_given, opposite), np.where(opposite < as_given, -1, 1)
    keys, values = np.zeros(1, dtype=np.int64), np.zeros(1)
    steps: list[tuple[Indices, Indices]] = []
    for bit in range(n_bits):
        all_keys = (keys[:, None] + gaps).ravel()
        all_values = (values[:, None] + losses[:, bit]).ravel()
        order = np.lexsort((all_values, all_keys))
        chosen = order[np.append(True, np.diff(all_keys[order]) > 0)]
        if len(chosen) > _MAX_STATES:
            return None
        keys, values = all_keys[chosen], all_values[chosen]
        steps.append((chosen // len(patterns), chosen % len(patterns)))
    distances = keys[:, None] // radix % (n_bits + 1)
    state = int((values + lambda2 * 2.0 * np.sqrt(distances).sum(axis=1)).argmin())
    signs = np.empty((s, n_bits), dtype=np.int8)
    for bit in range(n_bits - 1, -1, -1):
        before, pattern = steps[bit]
        signs[:, bit] = patterns[pattern[state]] * flips[pattern[state], bit]
        state = before[state]
    return signs


def has_collision(codewords: Codewords) -> bool:
    """Whether two classes have a codeword in common."""
    owners: dict[bytes, int] = {}
    return any(
        owners.setdefault(word.tobytes(), c) != c
        for c, words in enumerate(codewords)
        for word in words
    )


def without_collisions(candidate: Codewords, current: Codewords, gains: Array) -> Codewords:
    """Return candidate codewords less the flips that would make two classes share one.

    Flips are applied to the current codewords by decreasing gain (``(C S, B)``).
    """
    if not has_collision(candidate):
        return candidate
    words = current.copy()
    flat, goal = words.reshape(gains.shape), candidate.reshape(gains.shape)
    rows, bits = np.nonzero(flat != goal)
    for index in np.argsort(-gains[rows, bits], kind="stable"):
        row, bit = rows[index], bits[index]
        flat[row, bit] *= -1
        if has_collision(words):
            flat[row, bit] *= -1
    return words


def count_distinct(codewords: Codewords) -> Indices:
    """Return the number of distinct codewords of each class."""
    return np.array([len(set(map(bytes, words))) for words in codewords], dtype=np.intp)


def _proximal_signs(loss: MemberLoss, codewords: Codewords, lambda2: float) -> list[Codewords]:
    """Return the signs of each iterate of lines 8 to 12 of Alg. 2."""
    shape = codewords.shape
    relaxed = codewords.astype(float).reshape(-1, shape[-1])
    largest = float(np.abs(loss.subgradient(np.zeros_like(relaxed))).max())
    first_step = 1.0 / max(largest, lambda2, np.finfo(float).tiny)
    before = relaxed
    signs: list[Codewords] = []
    # The first step moves no entry by more than 1; a subgradient method needs decreasing steps.
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
