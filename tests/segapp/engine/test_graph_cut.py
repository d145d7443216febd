"""Minimum cuts against brute force and independent solvers."""

import itertools

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segapp.engine import graph_cut
from segapp.engine.graph_cut import Links, PixelGraph, energy, min_cut, minimise_energy
from segapp.engine.region_graph import STEPS, Edges, weights_by_pixel


@st.composite
def graphs(draw, n_classes):
    n = draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    u, v = np.nonzero(np.triu(rng.random((n, n)) < 0.6, k=1))
    costs = rng.integers(0, 9, (n, n_classes)).astype(float)
    weight = rng.integers(0, 6, u.size).astype(float)
    return costs, Edges(u.astype(np.int32), v.astype(np.int32), weight)


def best_by_brute_force(costs, edges):
    n, n_classes = costs.shape
    return min(
        energy(costs, edges, np.array(labels))
        for labels in itertools.product(range(n_classes), repeat=n)
    )


@given(graphs(2))
@settings(max_examples=150, deadline=None)
def test_two_classes_reach_the_smallest_energy(graph):
    costs, edges = graph
    found = energy(costs, edges, minimise_energy(costs, edges))
    assert found == pytest.approx(best_by_brute_force(costs, edges))


@given(graphs(3))
@settings(max_examples=80, deadline=None)
def test_expansion_stays_within_its_bound(graph):
    """Alpha-expansion on a Potts model is within a factor of two of the optimum."""
    costs, edges = graph
    found = energy(costs, edges, minimise_energy(costs, edges))
    best = best_by_brute_force(costs, edges)
    start = energy(costs, edges, costs.argmin(axis=1))
    assert best - 1e-9 <= found <= min(2 * best, start) + 1e-9


@given(graphs(3), st.integers(0, 2), st.integers(0, 2**32 - 1))
@settings(max_examples=80, deadline=None)
def test_an_expansion_is_the_best_of_all_and_never_raises_the_energy(graph, label, seed):
    costs, edges = graph
    start = np.random.default_rng(seed).integers(0, 3, len(costs))
    found = energy(costs, edges, graph_cut._expand(costs, edges, start, label))
    best = min(
        energy(costs, edges, np.where(np.array(moved), label, start))
        for moved in itertools.product([False, True], repeat=len(costs))
    )
    assert found == pytest.approx(best)
    assert found <= energy(costs, edges, start)


@given(st.integers(3, 5).flatmap(graphs))
@settings(max_examples=150, deadline=None)
def test_many_classes_are_never_worse_than_two_of_them(graph):
    """Nor than one class everywhere, nor than the cheapest class of each node."""
    costs, edges = graph
    classes = range(costs.shape[1])
    found = energy(costs, edges, minimise_energy(costs, edges))
    for pair in itertools.combinations(classes, 2):
        assert found <= best_by_brute_force(costs[:, pair], edges) + 1e-9
    for label in classes:
        assert found <= energy(costs, edges, np.full(len(costs), label)) + 1e-9
    assert found <= energy(costs, edges, costs.argmin(axis=1)) + 1e-9


def test_cuts_between_two_classes_leave_a_local_minimum_of_expansion():
    """Moves of one class at a time end in a local minimum here, a cut of two classes does not."""
    costs = np.array([[0, 4, 1], [7, 5, 1], [8, 5, 0], [0, 0, 0], [2, 1, 8], [1, 0, 3.0]])
    ends = np.array([[0, 2, 2, 2, 3], [4, 3, 4, 5, 5]], np.int32)
    edges = Edges(ends[0], ends[1], np.array([5, 3, 4, 4, 4.0]))
    caught = graph_cut._alpha_expansion(costs, edges, costs.argmin(axis=1))
    found = energy(costs, edges, minimise_energy(costs, edges))
    assert found == best_by_brute_force(costs, edges) < energy(costs, edges, caught)


@given(graphs(4))
@settings(max_examples=80, deadline=None)
def test_no_expansion_improves_the_answer(graph):
    costs, edges = graph
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(graph_cut, "_EXPANSION_ROUNDS", 100)
        labels = minimise_energy(costs, edges)
    for label in range(4):
        moved = graph_cut._expand(costs, edges, labels, label)
        assert energy(costs, edges, moved) >= energy(costs, edges, labels) - 1e-9


@st.composite
def networks(draw):
    """Preferences of nodes, and links between some of them with two capacities each."""
    n = draw(st.integers(2, 60))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    tails, heads = np.nonzero(np.triu(rng.random((n, n)) < min(1.0, 5 / n), k=1))
    turned = rng.random(tails.size) < 0.5
    tails, heads = np.where(turned, heads, tails), np.where(turned, tails, heads)
    capacities = rng.integers(0, 20, (2, tails.size)) / 8
    preference = rng.integers(-20, 21, n) / 8
    return preference, Links(tails.astype(np.int32), heads.astype(np.int32), *capacities)


def cost(preference, links, inside):
    cut = preference[(preference > 0) & ~inside].sum()
    cut -= preference[(preference < 0) & inside].sum()
    cut += links.there[inside[links.tails] & ~inside[links.heads]].sum()
    return cut + links.back[inside[links.heads] & ~inside[links.tails]].sum()


@given(networks())
@settings(max_examples=60, deadline=None)
def test_the_cut_agrees_with_an_independent_solver(network):
    preference, links = network
    graph = networkx.DiGraph()
    graph.add_nodes_from("st")
    for node, value in enumerate(preference):
        graph.add_edge(*(("s", node) if value > 0 else (node, "t")), capacity=abs(value))
    for tail, head, there, back in zip(
        links.tails.tolist(), links.heads.tolist(), links.there, links.back, strict=True
    ):
        graph.add_edge(tail, head, capacity=there)
        graph.add_edge(head, tail, capacity=back)
    found = cost(preference, links, min_cut(preference, links))
    assert found == pytest.approx(networkx.minimum_cut_value(graph, "s", "t"), abs=1e-6)


@given(networks(), st.integers(0, 2**32 - 1))
@settings(max_examples=150, deadline=None)
def test_no_warm_start_changes_the_cut(network, seed):
    """Neither random flows, nor those of another problem, nor those of the same cut."""
    preference, links = network
    cold = min_cut(preference, links)
    rng = np.random.default_rng(seed)
    flow = rng.normal(scale=2, size=links.tails.size).astype(np.float32)
    for other in (preference, preference + rng.normal(size=preference.size), preference):
        inside = min_cut(other, links, flow)
        if other is preference:
            np.testing.assert_array_equal(inside, cold)


@given(networks())
@settings(max_examples=60, deadline=None)
def test_the_final_flow_saturates_the_cut(network):
    """Along each link it keeps within the capacities, and cut links are full."""
    preference, links = network
    flow = np.zeros(links.tails.size, dtype=np.float32)
    inside = min_cut(preference, links, flow)
    if not (preference > 0).any() or not (preference < 0).any():
        return
    assert (flow <= links.there + 1e-6).all()
    assert (-flow <= links.back + 1e-6).all()
    out, into = (
        inside[links.tails] & ~inside[links.heads],
        inside[links.heads] & ~inside[links.tails],
    )
    np.testing.assert_allclose(flow[out], links.there[out], atol=1e-6)
    np.testing.assert_allclose(-flow[into], links.back[into], atol=1e-6)


def test_preferences_of_one_sign_need_no_cut():
    none = np.zeros(0, dtype=np.int32)
    links = Links(none, none, np.zeros(0), np.zeros(0))
    assert min_cut(np.array([1.0, 2.0]), links).all()
    assert not min_cut(np.array([-1.0, 0.0]), links).any()


def test_huge_costs_do_not_overflow():
    costs = np.array([[0.0, 1e12], [1e12, 0.0], [0.0, 0.0]])
    edges = Edges(np.array([0, 1], np.int32), np.array([2, 2], np.int32), np.array([1e11, 9e11]))
    np.testing.assert_array_equal(minimise_energy(costs, edges), [0, 1, 1])


SHAPE = 9, 11


def graph_of(mask, weights, smoothness):
    rows, columns = np.divmod(np.flatnonzero(mask), mask.shape[1])
    return PixelGraph.of(rows, columns, mask.shape, weights, smoothness)


def pair_weights(seed, shape=SHAPE):
    rng = np.random.default_rng(seed)
    height, width = shape
    return tuple(
        rng.integers(1, 9, (height - down, width - abs(right))).astype(np.float32)
        for down, right in STEPS
    )


def weight_between(weights, one, other):
    """Return the weight of two pixels, or 0 if they do not touch."""
    (row, column), (below, beside) = sorted((one, other))
    step = below - row, beside - column
    if step not in STEPS:
        return 0.0
    return float(weights[STEPS.index(step)][row, min(column, beside)])


@pytest.mark.parametrize(
    ("shape", "rim"), [(SHAPE, 0), (SHAPE, 1), ((1, 7), 0), ((7, 1), 0), ((7, 2), 0)]
)
@pytest.mark.parametrize("seed", range(4))
def test_the_graph_of_pixels_has_the_weight_of_every_pair_in_both_directions(shape, rim, seed):
    mask = np.zeros(shape, dtype=bool)
    inner = mask[rim : shape[0] - rim, rim : shape[1] - rim]
    inner[:] = np.random.default_rng(seed).random(inner.shape) < 0.6
    chosen, strengths = np.argwhere(mask), pair_weights(seed, shape)
    graph = graph_of(mask, weights_by_pixel(strengths), 2.0)
    arcs, weights = graph.arcs(), graph.weights.take(graph.order)
    table = np.zeros((len(chosen),) * 2)
    for node, (start, end) in enumerate(zip(arcs.starts, arcs.starts[1:], strict=False)):
        heads = arcs.heads[start + 1 : end]
        assert (np.diff(heads) > 0).all()
        table[node, heads] = weights[start + 1 : end]
    wanted = [[2 * weight_between(strengths, tuple(a), tuple(b)) for b in chosen] for a in chosen]
    np.testing.assert_array_equal(table, wanted)
    edges = graph.edges()
    np.testing.assert_array_equal(table[edges.u, edges.v], edges.weight)
    assert 2 * len(edges.u) == np.count_nonzero(table)
    others = np.argwhere(~mask)
    around = [weight_between(strengths, tuple(a), tuple(b)) for a in chosen for b in others]
    assert graph.fixed[2].sum() == pytest.approx(2 * sum(around))


@pytest.mark.parametrize("seed", range(6))
def test_a_cut_of_pixels_is_that_of_their_edges_and_starts_from_its_own_flow(seed):
    rng = np.random.default_rng(seed)
    mask = rng.random(SHAPE) < 0.8
    strengths = weights_by_pixel(pair_weights(seed))
    graph = graph_of(mask, strengths, 0.25)
    costs = rng.normal(0, 3, (int(mask.sum()), 2))
    wanted = minimise_energy(costs, graph.edges()).astype(bool)
    flows = np.zeros_like(strengths)
    cold = None
    for _ in range(2):
        np.testing.assert_array_equal(graph.cut(costs[:, 0] - costs[:, 1], flows), wanted)
        if cold is None:
            cold = flows.copy()
    np.testing.assert_array_equal(flows, cold)  # the first flow was the largest


def test_flows_of_other_pixels_stay():
    rng = np.random.default_rng(1)
    mask = rng.random(SHAPE) < 0.5
    strengths = weights_by_pixel(pair_weights(1))
    flows = np.full(strengths.shape, 9, dtype=np.float32)
    graph = graph_of(mask, strengths, 1.0)
    graph.cut(rng.normal(0, 3, int(mask.sum())), flows)
    changed = flows != 9
    assert changed.any()
    assert not changed[~mask.ravel()].any()
    assert not changed.reshape(-1, 9)[mask.ravel()][graph.around < 0].any()
