"""Anchor Graph Hashing against the dense graph."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.datasets import make_blobs

from shlcore.baselines import AnchorGraphHashing


@pytest.fixture(scope="module")
def rows():
    return make_blobs(250, 5, centers=4, cluster_std=3.0, random_state=0)[0]


def dense_graph(method, rows):
    Z = method._affinities(rows)
    return Z @ np.diag(1 / Z.sum(axis=0)) @ Z.T


def test_the_graph_is_doubly_stochastic_and_of_low_rank(rows):
    method = AnchorGraphHashing(n_bits=4, n_anchors=20, n_nearest=3, random_state=0).fit(rows)
    graph = dense_graph(method, rows)
    assert ((method._affinities(rows) > 0).sum(axis=1) == 3).all()
    np.testing.assert_allclose(graph.sum(axis=1), 1)
    assert np.linalg.matrix_rank(graph) <= 20


def test_projections_are_the_dense_graphs_eigenvectors(rows):
    method = AnchorGraphHashing(n_bits=6, n_anchors=20, n_nearest=3, random_state=0).fit(rows)
    vectors, graph = method.project(rows), dense_graph(method, rows)
    np.testing.assert_allclose(graph @ vectors, vectors * method.eigenvalues_, atol=1e-9)
    largest = np.linalg.eigvalsh(graph)[::-1]
    assert largest[0] == pytest.approx(1)
    np.testing.assert_allclose(method.eigenvalues_, largest[1:7], atol=1e-9)
    np.testing.assert_allclose(vectors.T @ vectors / len(rows), np.eye(6), atol=1e-9)
    np.testing.assert_allclose(vectors.sum(axis=0), 0, atol=1e-8)


def test_a_graph_in_parts_keeps_the_constant_vector_out():
    """Far blobs share no anchor: the eigenvalue 1 is fourfold, and one bit must not be wasted."""
    rows, parts = make_blobs(200, centers=4, cluster_std=0.1, random_state=0)
    method = AnchorGraphHashing(n_bits=3, n_anchors=12, n_nearest=2, random_state=0).fit(rows)
    np.testing.assert_allclose(method.eigenvalues_, 1, atol=1e-9)
    np.testing.assert_allclose(method.project(rows).mean(axis=0), 0, atol=1e-9)
    assert all(
        len(np.unique(method.transform(rows)[parts == part], axis=0)) == 1 for part in range(4)
    )


def test_the_second_layer_cuts_least_among_balanced_thresholds(rows):
    method = AnchorGraphHashing(n_bits=8, n_layers=2, n_anchors=20, random_state=0).fit(rows)
    graph = dense_graph(method, rows)
    projected = method.project(rows)
    for vector, second, upper, lower in zip(
        projected[:, ::2].T, projected[:, 1::2].T, method.upper_, method.lower_, strict=True
    ):
        assert abs(second.sum()) < 1e-8

        def cut(total, vector=vector):
            u = np.abs(vector) - total * (vector > 0)
            return u @ (u - graph @ u)

        best = minimize(lambda t, cut=cut: cut(t[0]), [0.0]).x[0]
        assert upper + lower == pytest.approx(best, abs=1e-4)


def test_an_odd_code_of_two_layers_drops_the_last_bit(rows):
    settings = {"n_layers": 2, "n_anchors": 20, "random_state": 0}
    odd = AnchorGraphHashing(n_bits=5, **settings).fit(rows).transform(rows)
    even = AnchorGraphHashing(n_bits=6, **settings).fit(rows).transform(rows)
    np.testing.assert_array_equal(odd, even[:, :5])


def test_a_row_far_from_all_anchors_still_has_finite_projections(rows):
    method = AnchorGraphHashing(n_bits=3, n_anchors=20, random_state=0).fit(rows)
    assert np.isfinite(method.project(np.full((1, 5), 1e6))).all()
