"""Closed forms over ties against brute force over orders of the rows."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

from shlcore import hamming, retrieval


@st.composite
def searches(draw, max_rows=7):
    n_bits, rows, queries = draw(st.integers(1, 70)), draw(st.integers(1, max_rows)), 3
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    # Few distinct codes, so that distances tie.
    pool = rng.integers(0, 2, (3, n_bits))
    codes = pool[rng.integers(0, 3, rows + queries)]
    labels = rng.choice(np.array(["ant", "bee"]), rows + queries)
    return codes[:queries], labels[:queries], codes[queries:], labels[queries:]


def ranking(search):
    queries, wanted, database, given_labels = search
    return retrieval.rank(
        hamming.pack(queries),
        wanted,
        hamming.pack(database),
        given_labels,
        n_bits=queries.shape[1],
    )


def over_all_orders(search, value):
    """Mean of value(relevance in ranked order) over queries and orders of the rows."""
    queries, wanted, database, labels = search
    values = []
    for query, label in zip(queries, wanted, strict=True):
        distance = (database != query).sum(axis=1)
        for order in itertools.permutations(range(len(database))):
            shuffled = np.array(order)
            ranked = shuffled[np.argsort(distance[shuffled], kind="stable")]
            values.append(value(labels[ranked] == label))
    return np.mean(values)


def average_precision(hits):
    return (hits * hits.cumsum() / np.arange(1, len(hits) + 1)).sum() / max(hits.sum(), 1)


@settings(deadline=None)
@given(searches(max_rows=5))
def test_precision_at_k_is_the_mean_over_all_orders(search):
    ks = range(1, len(search[2]) + 1)
    expected = [over_all_orders(search, lambda hits, k=k: hits[:k].mean()) for k in ks]
    np.testing.assert_allclose(ranking(search).precision_at(ks), expected, atol=1e-12)


@settings(deadline=None)
@given(searches(max_rows=5))
def test_average_precision_is_the_mean_over_all_orders(search):
    expected = over_all_orders(search, average_precision)
    np.testing.assert_allclose(ranking(search).mean_average_precision(), expected, atol=1e-12)


def test_average_precision_without_ties_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    database = np.tril(np.ones((40, 40), dtype=int))  # distance to the zero code: 1..40
    labels = rng.integers(0, 2, 40)
    result = retrieval.rank(
        hamming.pack(np.zeros((1, 40), dtype=int)), [1], hamming.pack(database), labels, n_bits=40
    )
    expected = average_precision_score(labels, -database.sum(axis=1))
    np.testing.assert_allclose(result.mean_average_precision(), expected)


@settings(deadline=None)
@given(searches(max_rows=30), st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_count(search, random):
    queries, wanted, database, labels = search
    order = list(range(len(database)))
    random.shuffle(order)
    before, after = ranking(search), ranking((queries, wanted, database[order], labels[order]))
    np.testing.assert_array_equal(before.retrieved, after.retrieved)
    np.testing.assert_array_equal(before.relevant, after.relevant)


@settings(deadline=None)
@given(searches(max_rows=30))
def test_precision_recall_counts_rows_within_each_radius(search):
    queries, wanted, database, labels = search
    distance = (queries[:, None] != database[None]).sum(axis=2)
    relevant = wanted[:, None] == labels[None]
    found = ranking(search)
    precision, recall = found.precision_recall()
    for radius in range(queries.shape[1] + 1):
        near = distance <= radius
        hits = (near & relevant).sum()
        assert recall[radius] == pytest.approx(hits / max(relevant.sum(), 1))
        assert precision[radius] == pytest.approx(hits / near.sum() if near.any() else 1)
        alone = [(r & n).sum() / max(n.sum(), 1) for n, r in zip(near, relevant, strict=True)]
        assert found.lookup_precision(radius) == pytest.approx(np.mean(alone))


def test_blocks_do_not_change_the_result(monkeypatch):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (90, 9))
    labels = rng.integers(0, 3, 90)
    search = codes[:40], labels[:40], codes[40:], labels[40:]
    whole = ranking(search)
    monkeypatch.setattr(retrieval, "BLOCK", 7)
    np.testing.assert_array_equal(ranking(search).relevant, whole.relevant)


CODE = np.zeros((1, 1), dtype=np.uint8)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: retrieval.rank(CODE, [0], CODE, [0], n_bits=9), "queries: wanted .* 2 bytes"),
        (lambda: retrieval.rank(CODE, [0], CODE[:0], [], n_bits=5), "database: wanted at least"),
        (lambda: retrieval.rank(CODE, [0], CODE, [0, 1], n_bits=5), "labels: wanted one for each"),
        (lambda: retrieval.rank(CODE, [0], CODE, [0], n_bits=5).precision_at([2]), "from 1 to 1"),
        (lambda: retrieval.rank(CODE, [0], CODE, [0], n_bits=5).precision_at([]), "ks: wanted"),
        (lambda: retrieval.rank(CODE, [0], CODE, [0], n_bits=5).lookup_precision(-1), "radius"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
