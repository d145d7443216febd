"""Block 3 against brute force, and the search of initial codewords."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from shlcore import SHL
from shlcore.codewords import (
    MemberLoss,
    count_distinct,
    exact_codewords,
    has_collision,
    move_codewords,
    prox_pair,
    proximal_average,
    spread_codewords,
    substitute,
)
from shlcore.objective import codeword_spread


def numerical_prox(v, threshold):
    """Minimise threshold * sum of pair distances + 1/2 |x - v|^2 with a smoothed norm."""
    pairs = list(itertools.combinations(range(len(v)), 2))

    def value(flat, smooth):
        x = flat.reshape(v.shape)
        gaps = sum(np.sqrt(((x[i] - x[j]) ** 2).sum() + smooth**2) for i, j in pairs)
        return threshold * gaps + 0.5 * ((x - v) ** 2).sum()

    x = v.ravel().copy()
    for smooth in (1e-1, 1e-3, 1e-5, 1e-7):
        x = minimize(value, x, args=(smooth,), method="BFGS", options={"gtol": 1e-10}).x
    return x.reshape(v.shape)


vectors = st.integers(0, 1000).map(lambda seed: np.random.default_rng(seed).normal(size=(2, 4)))


@settings(max_examples=25, deadline=None)
@given(vectors, st.sampled_from([0.1, 0.4, 0.5, 0.6, 3.0]))
def test_pair_prox_is_the_minimiser(v, share):
    # A share of the gap below 1/2 pulls, 1/2 is the boundary, above it both meet.
    threshold = share * np.linalg.norm(v[0] - v[1])
    moved = np.stack(prox_pair(v[0], v[1], threshold))
    numerical = numerical_prox(v, threshold)
    np.testing.assert_allclose(moved, numerical, atol=5e-3)

    def value(x):
        return threshold * np.linalg.norm(x[0] - x[1]) + 0.5 * ((x - v) ** 2).sum()

    assert value(moved) <= value(numerical) + 1e-12


def test_pair_prox_merges_from_the_boundary_on():
    v = np.array([[1.0, 1.0], [-1.0, 1.0]])
    for threshold in (1.0, 1.5):
        first, second = prox_pair(v[0], v[1], threshold)
        np.testing.assert_allclose(first, second)
    first, second = prox_pair(v[0], v[1], 0.999)
    assert first[0] > second[0]
    np.testing.assert_array_equal(prox_pair(v[0], v[0], 1.0)[0], v[0])


def test_proximal_average_of_one_pair_is_the_prox():
    v = np.random.default_rng(0).normal(size=(2, 5))
    np.testing.assert_allclose(proximal_average(v, 0.3), np.stack(prox_pair(v[0], v[1], 0.3)))


@pytest.mark.parametrize("count", [3, 4])
def test_proximal_average_is_the_mean_of_single_pair_operators(count):
    v = np.random.default_rng(count).normal(size=(count, 5))
    pairs = list(itertools.combinations(range(count), 2))
    expected = np.zeros_like(v)
    for i, j in pairs:
        one = v.copy()
        one[[i, j]] = numerical_prox(v[[i, j]], 0.05 * len(pairs))
        expected += one / len(pairs)
    np.testing.assert_allclose(proximal_average(v, 0.05), expected, atol=2e-3)


def test_proximal_average_approaches_the_true_prox_with_small_steps():
    v = np.random.default_rng(5).normal(size=(3, 4))
    errors = [np.abs(proximal_average(v, t) - numerical_prox(v, t)).max() / t for t in (0.2, 0.02)]
    assert errors[1] < 0.3 * errors[0]


def test_proximal_average_moves_codewords_together():
    v = np.random.default_rng(6).choice([-1.0, 1.0], size=(3, 6))
    pulled = v
    for _ in range(60):
        pulled = proximal_average(pulled, 100.0)
    np.testing.assert_allclose(pulled, np.tile(v.mean(axis=0), (3, 1)), atol=1e-6)


@given(st.integers(0, 1000))
def test_substitution_equals_brute_force_over_all_codewords(seed):
    rng = np.random.default_rng(seed)
    n_bits, n_classes = 3, 2
    f = rng.normal(size=(12, n_bits))
    members = rng.integers(0, n_classes, 12)
    costs = rng.uniform(0.1, 2, 12)
    old = rng.choice(np.array([-1, 1], dtype=np.int8), size=(n_classes, 1, n_bits))
    loss = MemberLoss(f, members, costs, n_classes)
    found = substitute(*loss.sign_losses(), old)
    for c in range(n_classes):
        own = members == c

        def total(word, own=own):
            return (costs[own, None] * np.maximum(1 - np.array(word) * f[own], 0)).sum()

        best = min(total(word) for word in itertools.product([-1, 1], repeat=n_bits))
        assert total(found[c, 0]) == pytest.approx(best)
        if not own.any():
            np.testing.assert_array_equal(found[c], old[c])


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000), st.sampled_from([0.0, 0.5, 5.0, 1e6]))
def test_proximal_steps_never_raise_the_objective(seed, lambda2):
    rng = np.random.default_rng(seed)
    n_classes, s, n_bits = 2, 3, 4
    f = rng.normal(size=(30, n_bits))
    members = rng.integers(0, n_classes * s, 30)
    costs = np.ones(30)
    words = spread_codewords(n_classes, s, n_bits, rng)

    def value(codewords):
        flat = codewords.reshape(-1, n_bits)
        data = np.maximum(1 - flat[members] * f, 0).sum()
        pairs = itertools.combinations(range(s), 2)
        return data + lambda2 * sum(
            np.linalg.norm(codewords[c, i].astype(float) - codewords[c, j])
            for i, j in pairs
            for c in range(n_classes)
        )

    moved = move_codewords(MemberLoss(f, members, costs, n_classes * s), words, lambda2)
    assert value(moved) <= value(words)
    if lambda2 == 1e6:
        np.testing.assert_array_equal(count_distinct(moved), [1, 1])


@given(st.integers(0, 200), st.integers(2, 8), st.integers(1, 3), st.integers(5, 40))
@settings(max_examples=25, deadline=None)
def test_codewords_are_distinct_and_spread(seed, n_classes, s, n_bits):
    words = spread_codewords(n_classes, s, n_bits, np.random.default_rng(seed))
    assert words.shape == (n_classes, s, n_bits)
    assert set(np.unique(words)) <= {-1, 1}
    flat = words.reshape(-1, n_bits).astype(int)
    gaps = (n_bits - flat @ flat.T)[np.triu_indices(len(flat), 1)] // 2
    assert gaps.min() >= 1
    if len(flat) == 2:
        assert gaps.min() == n_bits
    if len(flat) <= 10 and n_bits >= 15:
        # A random draw has about 0.2 B here; the best possible is near 0.55 B.
        assert gaps.min() >= 0.4 * n_bits


def test_too_few_bits_for_the_codewords_are_refused():
    with pytest.raises(ValueError, match="n_bits: wanted enough bits for 10 distinct codewords"):
        spread_codewords(5, 2, 3, np.random.default_rng(0))


def test_long_codewords_are_spread_in_parts():
    words = spread_codewords(10, 1, 1000, np.random.default_rng(0))[:, 0].astype(int)
    gaps = 0.5 * (1000 - words @ words.T)[np.triu_indices(10, 1)]
    assert gaps.min() >= 490
    with pytest.raises(ValueError, match="n_bits: wanted enough bits for 9 distinct codewords"):
        spread_codewords(9, 1, 3, np.random.default_rng(0))


@pytest.mark.parametrize(("s", "n_bits"), [(2, 3), (3, 4), (2, 6), (4, 3)])
@pytest.mark.parametrize("lambda2", [0.0, 0.2, 1.0, 5.0])
def test_block_3_is_exact_for_few_signs(s, n_bits, lambda2):
    rng = np.random.default_rng(s + n_bits)
    signs = np.array(list(itertools.product([1, -1], repeat=s * n_bits)), dtype=np.int8)
    every = signs.reshape(-1, s, n_bits)
    for _ in range(10):
        up, down = 5 * rng.random((2, s, n_bits))
        data = np.where(every > 0, up, down).sum(axis=(1, 2))
        gaps = [
            np.linalg.norm(every[:, i].astype(float) - every[:, j], axis=1)
            for i, j in itertools.combinations(range(s), 2)
        ]
        found = exact_codewords(up, down, every[:1], lambda2)
        value = np.where(found[0] > 0, up, down).sum() + lambda2 * codeword_spread(found)
        assert value == pytest.approx((data + lambda2 * np.sum(gaps, axis=0)).min())


@pytest.mark.parametrize("shape", [(2, 2, 2), (2, 2, 3), (2, 1, 2), (3, 1, 3), (4, 1, 2)])
@pytest.mark.parametrize("lambda2", [0.0, 1.0, 10.0])
def test_block_3_is_exact_where_classes_would_share_a_codeword(shape, lambda2):
    rng = np.random.default_rng(sum(shape))
    n_classes, s, n_bits = shape
    words = np.array(list(itertools.product([1, -1], repeat=s * n_bits)), dtype=np.int8)
    words = words.reshape(-1, s, n_bits)
    for _ in range(3):
        members = rng.integers(0, n_classes * s, 30)
        loss = MemberLoss(rng.normal(size=(30, n_bits)), members, rng.random(30), n_classes * s)
        up, down = loss.sign_losses()
        of_class = up.reshape(shape), down.reshape(shape)
        values = [
            [
                np.where(word > 0, a, b).sum() + lambda2 * codeword_spread(word[None])
                for word in words
            ]
            for a, b in zip(*of_class, strict=True)
        ]
        keys = [set(map(bytes, word)) for word in words]
        best = np.inf
        for path in itertools.product(range(len(words)), repeat=n_classes):
            total = sum(values[c][k] for c, k in enumerate(path))
            if total < best and not any(
                keys[i] & keys[j] for i, j in itertools.combinations(path, 2)
            ):
                best = total
        start = spread_codewords(*shape, rng)
        found = move_codewords(loss, start, lambda2)
        data = np.where(found.reshape(up.shape) > 0, up, down).sum()
        assert not has_collision(found)
        assert data + lambda2 * codeword_spread(found) == pytest.approx(best)


def test_long_words_of_two_are_exact_and_many_long_ones_are_refused():
    up, down = np.random.default_rng(0).random((2, 2, 200))
    words = np.ones((1, 2, 200), dtype=np.int8)
    apart, together = (exact_codewords(up, down, words, pull) for pull in (0.0, 1e3))
    np.testing.assert_array_equal(apart[0], np.where(up < down, 1, -1))
    np.testing.assert_array_equal(together[0, 0], together[0, 1])
    up, down = np.random.default_rng(0).random((2, 5, 30))
    assert exact_codewords(up, down, np.ones((1, 5, 30), dtype=np.int8), 1.0) is None


def test_the_remaining_codewords_are_the_modes_of_a_class():
    # Two columns, linear functions: class 0 is one cluster, class 1 two, class 2 three.
    angles = 2 * np.pi * np.array([0, 1, 3, 2, 4, 5]) / 6
    classes = np.array([0, 1, 1, 2, 2, 2])
    rng = np.random.default_rng(0)
    centres = np.column_stack([np.cos(angles), np.sin(angles)])
    parts = [centre + 0.05 * rng.normal(size=(40, 2)) for centre in centres]
    X, y = np.concatenate(parts), np.repeat(classes, 40)
    model = SHL(
        n_bits=12,
        n_codewords=3,
        kernels="linear",
        scale=None,
        lambda1=1.0,
        lambda2=0.05,
        random_state=0,
    ).fit(X, y)
    assert list(model.n_codewords_) == [1, 2, 3]
    assert model.score(X, y) > 0.99
