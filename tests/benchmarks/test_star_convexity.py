"""The star-convex peers against the definition and against all answers there are."""

import itertools
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csgraph

pytest.importorskip("cv2", reason="pip install '.[bench]'")
pytest.importorskip("ortools", reason="pip install '.[bench]'")
sys.path.insert(0, str(Path(__file__).parent))

import star_convexity
from segmentation_peers import PEERS, boykov_jolly
from star_convexity import geodesic_parents, star_convex_cut, straight_parents

STARS = ("ESC (Gulshan et al.)", "GSC (Gulshan et al.)")


def noisy(height, width, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, (height, width, 3)).astype(np.uint8)


def marks(height, width, foreground, background):
    marked = np.full((height, width), -1, np.int16)
    for place in foreground:
        marked[place] = 0
    for place in background:
        marked[place] = 1
    return marked


def way(parents, pixel):
    """Follow the parents of a pixel, given by its number, to a centre."""
    path = [pixel]
    while parents.ravel()[path[-1]] >= 0:
        path.append(int(parents.ravel()[path[-1]]))
        assert len(path) <= parents.size, "a circle"
    return path


def parents_of(name, rgb, centres):
    return straight_parents(centres) if name.startswith("ESC") else geodesic_parents(rgb, centres)


@pytest.mark.parametrize("name", STARS)
@pytest.mark.parametrize("seed", range(5))
def test_every_foreground_pixel_has_a_stroke_in_view(name, seed):
    rgb = noisy(24, 31, seed)
    marked = marks(24, 31, [(5, 6), (5, 7), (18, 22)], [(12, 14), (0, 30), (23, 0)])
    labels = PEERS[name](rgb, marked)
    parents = parents_of(name, rgb, marked == 0)
    for pixel in np.flatnonzero(labels == 0):
        path = way(parents, pixel)
        assert (labels.ravel()[path] == 0).all()
        assert marked.ravel()[path[-1]] == 0
    assert (labels[marked >= 0] == marked[marked >= 0]).all()


@pytest.mark.parametrize("name", STARS)
@pytest.mark.parametrize("seed", range(4))
def test_no_star_convex_answer_has_a_smaller_energy(name, seed):
    """Try all answers of a picture of twelve pixels."""
    rgb = noisy(3, 4, seed)
    marked = marks(3, 4, [(0, 0)], [(2, 3)])
    rng = np.random.default_rng(seed)
    likelihoods = rng.normal(0, 4, (3, 4, 2))
    parents = parents_of(name, rgb, marked == 0)
    preference = star_convexity._preference(likelihoods).ravel()
    here, there, weight = star_convexity._bonds(rgb)
    weight = weight / 60  # of the order of the preferences, so that neither decides alone
    child = np.flatnonzero(parents.ravel() >= 0)

    def energy(inside):
        if (inside[child] & ~inside[parents.ravel()[child]]).any():
            return np.inf
        return weight[inside[here] != inside[there]].sum() - preference[inside].sum()

    free = np.flatnonzero(marked.ravel() < 0)
    best = np.inf
    for chosen in itertools.product([False, True], repeat=free.size):
        inside = marked.ravel() == 0
        inside[free] = chosen
        best = min(best, energy(inside))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(star_convexity, "_bonds", lambda _: (here, there, weight))
        found = star_convex_cut(rgb, marked, likelihoods, parents)
    assert energy(found.ravel() == 0) == pytest.approx(best, abs=1e-2)


def test_straight_ways_stay_on_the_line():
    centres = np.zeros((40, 60), bool)
    centres[12, 17] = True
    parents = straight_parents(centres)
    for pixel in range(parents.size):
        rows, columns = np.unravel_index(way(parents, pixel), centres.shape)
        along = np.array([rows[0] - 12, columns[0] - 17], float)
        length = np.hypot(*along)
        off = np.abs((rows - 12) * along[1] - (columns - 17) * along[0]) / max(length, 1)
        assert off.max() <= np.log2(1 + length)  # no tree of digital lines can do better
        assert len(rows) == np.abs(along).max() + 1


def test_geodesics_are_shortest_paths_to_the_nearest_centre():
    rgb = noisy(9, 11)
    centres = np.zeros((9, 11), bool)
    centres[1, 1] = centres[7, 9] = True
    parents = geodesic_parents(rgb, centres)
    colours = rgb.reshape(-1, 3) / 255.0
    rows, columns = np.unravel_index(np.arange(99), centres.shape)
    length = (rows[:, None] - rows) ** 2 + (columns[:, None] - columns) ** 2
    near = (length > 0) & (np.maximum(*(np.abs(k[:, None] - k) for k in (rows, columns))) == 1)
    change = ((colours[:, None] - colours) ** 2).sum(axis=2)
    scale = length[near].mean() / change[near].mean()
    cost = np.where(near, np.sqrt(0.7 * length + 0.3 * scale * change), 0)
    truth = csgraph.floyd_warshall(cost)[:, np.flatnonzero(centres)].min(axis=1)
    found = [sum(cost[a, b] for a, b in itertools.pairwise(way(parents, p))) for p in range(99)]
    np.testing.assert_allclose(found, truth)


def test_a_pixel_behind_the_background_is_background():
    """A background stroke between a pixel and the only centre hides it in any colour."""
    rgb = np.full((7, 21, 3), 90, np.uint8)
    rgb[:, 10:12] = 20
    marked = marks(7, 21, [(3, 2)], [(np.s_[:], 10)])
    likelihoods = np.zeros((7, 21, 2))
    likelihoods[..., 0] = 5  # everything looks like foreground
    labels = star_convex_cut(rgb, marked, likelihoods, straight_parents(marked == 0))
    assert (labels[:, 10:] == 1).all()
    assert (labels[:, :10] == 0).all()


def test_without_the_constraint_it_is_no_star():
    """Two discs of one colour, a stroke in one: a plain cut takes both, star cuts one."""
    y, x = np.mgrid[:40, :90]
    discs = [(x - c) ** 2 + (y - 20) ** 2 < 13**2 for c in (20, 68)]
    rgb = np.where((discs[0] | discs[1])[..., None], (200, 60, 40), (40, 90, 160))
    rgb = np.clip(rgb + np.random.default_rng(1).normal(0, 6, rgb.shape), 0, 255).astype(np.uint8)
    marked = marks(40, 90, [np.s_[18:23, 18:23]], [np.s_[0:3, :], np.s_[:, 43:46]])
    assert (boykov_jolly(rgb, marked)[discs[1]] == 0).mean() > 0.95
    for name in STARS:
        labels = PEERS[name](rgb, marked)
        assert (labels[discs[0]] == 0).mean() > 0.95
        if name.startswith("ESC"):
            assert (labels[discs[1]] == 1).all()
