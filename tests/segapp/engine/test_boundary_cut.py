"""Cuts of a narrow band of pixels, piece by piece."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import ndimage

from segapp.engine import boundary_cut
from segapp.engine.boundary_cut import PixelProblem, cut_band, cut_regions
from segapp.engine.features import ColourImage
from segapp.engine.region_graph import LENGTHS, PAIRS, Edges, pairwise_weights, weights_by_pixel


def problem_of(marks, costs, rgb, smoothness):
    """Return the cut problem of an image, and flows to start cold."""
    weights = weights_by_pixel(pairwise_weights(ColourImage(rgb).lab))
    by_pixel = costs.reshape(-1, costs.shape[-1])
    problem = PixelProblem(marks, lambda pixels: by_pixel[pixels], weights, smoothness)
    return problem, np.zeros_like(weights)


def potts_energy(labels, costs, rgb, smoothness):
    """Compute the energy of a whole pixel grid independently."""
    total = np.take_along_axis(costs, labels[..., None].astype(int), axis=2).sum()
    for (a, b), bond in zip(PAIRS, pairwise_weights(ColourImage(rgb).lab), strict=True):
        total += smoothness * bond[labels[a] != labels[b]].sum()
    return float(total)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_band_never_raises_the_energy_and_spares_marks(n_classes):
    rng = np.random.default_rng(n_classes)
    shape = (230, 210)  # more than one tile
    rgb = rng.integers(0, 256, (*shape, 3)).astype(np.uint8)
    costs = rng.random((*shape, n_classes)).astype(np.float32)
    labels = (np.indices(shape).sum(axis=0) // 60 % n_classes).astype(np.uint8)
    marks = np.where(rng.random(shape) < 0.02, labels.astype(np.int16), np.int16(-1))
    problem, flows = problem_of(marks, costs, rgb, 0.7)
    before = potts_energy(labels, costs, rgb, 0.7)
    found = labels.copy()
    for _ in cut_band(problem, found, flows, 3, again=2):
        after = potts_energy(found, costs, rgb, 0.7)
        assert after <= before + 0.05
        before = after
    assert (found != labels).any()
    np.testing.assert_array_equal(found[marks >= 0], labels[marks >= 0])


def test_a_band_finds_the_edge_that_regions_missed():
    rgb = np.full((40, 40, 3), 30, np.uint8)
    rgb[:, 20:] = 220
    marks = np.full((40, 40), -1, np.int16)
    problem, flows = problem_of(marks, np.zeros((40, 40, 2)), rgb, 1.0)
    labels = np.zeros((40, 40), np.uint8)
    labels[:, 17:] = 1
    for _ in cut_band(problem, labels, flows, 5):
        pass
    np.testing.assert_array_equal(labels, np.broadcast_to(np.arange(40) >= 20, (40, 40)))


def test_seeded_regions_keep_their_class():
    edges = Edges(np.array([0, 1], np.int32), np.array([1, 2], np.int32), np.array([5.0, 1.0]))
    costs = np.array([[9.0, 0.0], [0.5, 0.0], [0.0, 3.0]])
    labels = cut_regions(costs, edges, 1.0, np.array([0, -1, -1]))
    np.testing.assert_array_equal(labels, [0, 0, 0])


def cut_an_hourglass(degrees, start):
    """Cut an even bright hourglass in two, starting ``start`` pixels beside its waist of 40.

    Returns length and mean place of the cut; 0 is the waist, and 20 + 0.4 |place| half of the
    width anywhere else.
    """
    y, x = np.indices((480, 480)) - 239.5
    turn = np.radians(degrees)
    along, across = x * np.cos(turn) + y * np.sin(turn), y * np.cos(turn) - x * np.sin(turn)
    glass = np.abs(across) <= 20 + 0.4 * np.abs(along)
    rgb = np.repeat(np.where(glass, 220, 30).astype(np.uint8)[..., None], 3, axis=2)
    marks = np.full(glass.shape, -1, np.int16)
    marks[glass & (along < -60)] = 0
    marks[glass & (along > 60)] = 1
    costs = np.zeros((*glass.shape, 2), np.float32)
    costs[~glass, 0] = 5.0
    problem, flows = problem_of(marks, costs, rgb, 30.0)
    labels = np.where(glass & (along < start), 0, 1).astype(np.uint8)
    for _ in cut_band(problem, labels, flows, 7, again=6):
        pass
    length, places = 0.0, []
    for (a, b), one in zip(PAIRS, LENGTHS, strict=True):
        cut = (labels[a] != labels[b]) & glass[a] & glass[b]
        length += one * np.count_nonzero(cut)
        places.append(((along[a] + along[b]) / 2)[cut])
    return length, np.concatenate(places).mean()


@pytest.mark.parametrize("degrees", [0, 10, 22.5, 30, 45, 60, 75, 90])
def test_a_cut_through_an_even_area_is_invariant_to_rotation(degrees):
    """Eight neighbours count at most 8 % too much, and a kinked cut is 4 pixels deep here."""
    found = [cut_an_hourglass(degrees, start) for start in (16, -23)]
    upright, _ = cut_an_hourglass(0, 0)
    for length, place in found:
        assert upright - 1 <= length <= 1.085 * upright
        assert abs(place) < 4
    np.testing.assert_allclose(*found, atol=1e-6)


def test_neither_seams_nor_the_band_show_in_the_cut():
    """A slanted edge across several pieces, up to 30 pixels from the start, is found exactly."""
    y, x = np.indices((500, 500))
    right = 3 * x > y + 520
    rgb = np.repeat(np.where(right, 200, 60).astype(np.uint8)[..., None], 3, axis=2)
    costs = np.stack((0.2 * right, 0.2 * ~right), axis=2).astype(np.float32)
    problem, flows = problem_of(np.full(right.shape, -1, np.int16), costs, rgb, 1.0)
    labels = (3 * x > y + 440 + 170 * (y > 250)).astype(np.uint8)
    for _ in cut_band(problem, labels, flows, 7, again=6):
        pass
    np.testing.assert_array_equal(labels, right)


def test_a_warm_start_does_not_change_the_cut():
    rng = np.random.default_rng(7)
    shape = (230, 210)
    rgb = rng.integers(0, 256, (*shape, 3)).astype(np.uint8)
    start = (np.indices(shape).sum(axis=0) // 60 % 2).astype(np.uint8)
    marks = np.full(shape, -1, np.int16)
    problem, used = problem_of(marks, rng.random((*shape, 2)), rgb, 0.7)
    for _ in range(3):
        costs = rng.random((*shape, 2))
        changed = replace(problem, costs_of=lambda p, costs=costs: costs.reshape(-1, 2)[p])
        found = []
        for flows in (used, np.zeros_like(used)):
            found.append(start.copy())
            for _ in cut_band(changed, found[-1], flows, 5, again=4):
                pass
        np.testing.assert_array_equal(*found)
    assert used.any()


def test_pieces_hold_every_pixel_once_and_none_is_too_large(monkeypatch):
    monkeypatch.setattr(boundary_cut, "_LARGEST_PIECE", 50)
    rng = np.random.default_rng(3)
    mask = rng.random((60, 90)) < 0.3
    seams = []
    pieces = list(boundary_cut.split_pieces(boundary_cut._pixels(mask), 1 / 3, seams))
    found = np.zeros(mask.shape, int)
    for rows, columns in pieces:
        assert len(rows) <= 50
        numbers = rows * 90 + columns
        assert (np.diff(numbers) > 0).all()
        found[rows, columns] += 1
    np.testing.assert_array_equal(found, mask)
    assert len(seams) == len(pieces) - 1


def test_only_seams_are_at_a_seam():
    rows, columns = (each.ravel() for each in np.indices((8, 10)))
    at = boundary_cut.at_seam([boundary_cut.Seam(0, 3, 2, 5)], (rows, columns)).reshape(8, 10)
    expected = np.zeros((8, 10), bool)
    expected[2:4, 1:7] = True
    np.testing.assert_array_equal(at, expected)


def test_many_seams_do_not_show_in_the_cut(monkeypatch):
    monkeypatch.setattr(boundary_cut, "_LARGEST_PIECE", 700)
    test_neither_seams_nor_the_band_show_in_the_cut()


@pytest.mark.parametrize("again", [0, 6])
def test_the_boundary_is_cut_again_where_it_may_have_to_move(again):
    """It missed an edge by three pixels everywhere, and the mask has the upper 30 of 80 rows.

    At the last of them it has moved, so that it is cut again there, if that is allowed.
    """
    _, x = np.indices((80, 80))
    right = x >= 40
    rgb = np.repeat(np.where(right, 200, 60).astype(np.uint8)[..., None], 3, axis=2)
    costs = np.stack((0.2 * right, 0.2 * ~right), axis=2).astype(np.float32)
    problem, flows = problem_of(np.full((80, 80), -1, np.int16), costs, rgb, 1.0)
    labels = (x >= 37).astype(np.uint8)
    where = np.zeros((80, 80), bool)
    where[:30] = True
    for _ in cut_band(problem, labels, flows, 7, again, where):
        pass
    np.testing.assert_array_equal(labels[:29], right[:29])
    np.testing.assert_array_equal(labels[30:], (right if again else x >= 37)[30:])


@pytest.mark.parametrize("seed", range(6))
def test_a_box_around_the_mask_gives_the_same_cut(monkeypatch, seed):
    """Two boundaries in noise, far apart: one is cut again, the other stays."""
    rng = np.random.default_rng(seed)
    y, x = np.indices((90, 120))
    start = ((x // 20 + y // 20) % 2).astype(np.uint8)
    rgb = rng.integers(0, 256, (90, 120, 3), dtype=np.uint8)
    costs = ndimage.gaussian_filter(rng.normal(0, 30, (90, 120, 2)), (3, 3, 0))
    marks = np.where(rng.random((90, 120)) < 0.01, start.astype(np.int16), np.int16(-1))
    where = (abs(x - 20 * (1 + seed % 5)) < 9) & (abs(y - 40) < 15)
    found = []
    for whole in (False, True):
        if whole:
            everywhere = slice(0, 90), slice(0, 120)
            monkeypatch.setattr(boundary_cut, "_box", lambda *_, everywhere=everywhere: everywhere)
        labels = start.copy()
        problem, flows = problem_of(marks, costs.astype(np.float32), rgb, 0.5)
        for _ in cut_band(problem, labels, flows, 3, 6, where):
            pass
        found.append(labels)
    np.testing.assert_array_equal(*found)
    assert (found[0] != start).any()


def test_an_empty_mask_moves_nothing():
    start = np.indices((9, 9))[0].astype(np.uint8) // 5
    costs, rgb = np.ones((9, 9, 2), np.float32), np.zeros((9, 9, 3), np.uint8)
    problem, flows = problem_of(np.full((9, 9), -1, np.int16), costs, rgb, 1.0)
    labels = start.copy()
    assert not list(cut_band(problem, labels, flows, 3, 6, np.zeros((9, 9), dtype=bool)))
    np.testing.assert_array_equal(labels, start)


def test_components_may_be_cut_alone_or_together(monkeypatch):
    rng = np.random.default_rng(3)
    shape = (120, 150)
    rgb = rng.integers(0, 256, (*shape, 3)).astype(np.uint8)
    y, x = np.indices(shape)
    start = ((np.hypot(y % 60 - 30, x % 50 - 25) < 12) & (y + x > 50)).astype(np.uint8)
    costs = rng.random((*shape, 2))
    found = []
    for alone in (1, 200, 10**6):
        monkeypatch.setattr(boundary_cut, "_SEPARATE", alone)
        problem, flows = problem_of(np.full(shape, -1, np.int16), costs, rgb, 0.7)
        found.append(start.copy())
        for _ in cut_band(problem, found[-1], flows, 5, again=2):
            pass
    assert (found[0] != start).any()
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


@pytest.mark.parametrize("seed", range(6))
def test_a_cut_that_starts_from_its_halves_is_the_same(monkeypatch, seed):
    rng = np.random.default_rng(seed)
    shape = (90, 120)
    rgb = rng.integers(0, 256, (*shape, 3)).astype(np.uint8)
    y, x = np.indices(shape)
    start = (np.hypot(y - 45, x - 60) < 30).astype(np.uint8)
    costs = rng.random((*shape, 2)) + np.stack((x / 400, y / 300), axis=2)
    found, calls = [], []
    cut_pixels = boundary_cut._cut_pixels
    monkeypatch.setattr(boundary_cut, "_cut_pixels", lambda *a: (calls.append(1), cut_pixels(*a)))
    for most in (10**6, 300):
        monkeypatch.setattr(boundary_cut, "_LARGEST_COLD_PIECE", most)
        problem, flows = problem_of(np.full(shape, -1, np.int16), costs, rgb, 0.7)
        found.append(start.copy())
        calls.append(0)
        for _ in cut_band(problem, found[-1], flows, 6, again=2):
            pass
    assert (found[0] != start).any()
    np.testing.assert_array_equal(*found)
    second = calls.index(0, 1)
    assert len(calls) - second >= second + 2  # at least once it started from two halves


def test_components_hold_every_pixel_once_and_do_not_touch(monkeypatch):
    monkeypatch.setattr(boundary_cut, "_SEPARATE", 12)
    mask = np.random.default_rng(5).random((40, 50)) < 0.25
    places = boundary_cut._pixels(mask)
    parts = list(boundary_cut.split_components(places))
    found = np.concatenate([rows * 50 + columns for rows, columns in parts])
    np.testing.assert_array_equal(np.sort(found), np.flatnonzero(mask))
    assert len(parts) > 2
    for rows, columns in parts:
        own = np.zeros(mask.shape, dtype=bool)
        own[rows, columns] = True
        around = ndimage.binary_dilation(own, np.ones((3, 3)))
        assert not (around & mask & ~own).any()
        assert (np.diff(rows * 50 + columns) > 0).all()
