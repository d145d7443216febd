"""Ties between some pixels are the bonds between neighbours, however they are told."""

import numpy as np
import pytest

from segapp.engine.graph_cut import Pixels, Ties, cut_arcs, smallest_energy
from segapp.engine.region_graph import STEPS, pixel_by_pixel

SHAPE = 9, 11


def some(mask):
    return Pixels(*np.divmod(np.flatnonzero(mask), mask.shape[1]), mask.shape)


def bonds(seed, shape=SHAPE):
    rng = np.random.default_rng(seed)
    height, width = shape
    return tuple(
        rng.integers(1, 9, (height - down, width - abs(right))).astype(np.float32)
        for down, right in STEPS
    )


def bond_between(bonds, one, other):
    """Return the bond of two pixels, or 0 if they do not touch."""
    (row, column), (below, beside) = sorted((one, other))
    step = below - row, beside - column
    if step not in STEPS:
        return 0.0
    return float(bonds[STEPS.index(step)][row, min(column, beside)])


@pytest.mark.parametrize(
    ("shape", "rim"), [(SHAPE, 0), (SHAPE, 1), ((1, 7), 0), ((7, 1), 0), ((7, 2), 0)]
)
@pytest.mark.parametrize("seed", range(4))
def test_every_pair_is_tied_by_its_bond_from_both_sides(shape, rim, seed):
    mask = np.zeros(shape, dtype=bool)
    inner = mask[rim : shape[0] - rim, rim : shape[1] - rim]
    inner[:] = np.random.default_rng(seed).random(inner.shape) < 0.6
    chosen, strengths = np.argwhere(mask), bonds(seed, shape)
    ties = Ties.of(some(mask), pixel_by_pixel(strengths), 2.0)
    arcs, weights = ties.arcs(), ties.costs()
    table = np.zeros((len(chosen),) * 2)
    for node, (start, end) in enumerate(zip(arcs.starts, arcs.starts[1:], strict=False)):
        heads = arcs.heads[start + 1 : end]
        assert (np.diff(heads) > 0).all()
        table[node, heads] = weights[start + 1 : end]
    wanted = [[2 * bond_between(strengths, tuple(a), tuple(b)) for b in chosen] for a in chosen]
    np.testing.assert_array_equal(table, wanted)
    edges = ties.edges()
    np.testing.assert_array_equal(table[edges.u, edges.v], edges.weight)
    assert 2 * len(edges.u) == np.count_nonzero(table)
    held = ties.held[2].sum()
    others = np.argwhere(~mask)
    around = [bond_between(strengths, tuple(a), tuple(b)) for a in chosen for b in others]
    assert held == pytest.approx(2 * sum(around))


@pytest.mark.parametrize("seed", range(6))
def test_a_cut_along_arcs_is_that_along_edges_and_begins_with_its_own_flow(seed):
    rng = np.random.default_rng(seed)
    mask = rng.random(SHAPE) < 0.8
    strengths = pixel_by_pixel(bonds(seed))
    ties = Ties.of(some(mask), strengths, 0.25)
    costs = rng.normal(0, 3, (int(mask.sum()), 2))
    wanted = smallest_energy(costs, ties.edges()).astype(bool)
    flows = np.zeros_like(strengths)
    for _ in range(2):
        flow = ties.flow(flows)
        found = cut_arcs(costs[:, 0] - costs[:, 1], ties.arcs(), ties.costs(), flow)
        np.testing.assert_array_equal(found, wanted)
        ties.keep(flow, flows)
        np.testing.assert_array_equal(ties.flow(flows), flow)


def test_flows_of_other_pixels_stay():
    mask = np.random.default_rng(1).random(SHAPE) < 0.5
    strengths = pixel_by_pixel(bonds(1))
    flows = np.arange(strengths.size, dtype=np.float32).reshape(strengths.shape)
    ties, before = Ties.of(some(mask), strengths, 1.0), flows.copy()
    ties.keep(np.full(len(ties.order), -1, np.float32), flows)
    changed = flows != before
    assert not changed[~mask.ravel()].any()
    assert np.count_nonzero(changed) == len(ties.order)
