"""Star-convex cuts ESC and GSC of Gulshan et al., by their publication.

V. Gulshan, C. Rother, A. Criminisi, A. Blake, A. Zisserman: Geodesic star convexity for
interactive image segmentation, CVPR 2010. All pixels of the foreground's strokes are star
centres. Each other pixel has a path to its nearest centre, straight (ESC) or geodesic (GSC), and
if it is foreground, so is the whole path: along it, an edge of infinite capacity leads from each
pixel to the next. The energy under that constraint has one exact cut. The parameters are those
of the authors' software, as far as they are public: five Gaussians and a little of a uniform
density for the colours of a class, four neighbours with a weight of 150, a share of 0.3 for the
colour in a geodesic step.
"""

import numpy as np
from exact_cut import exact_cut
from scipy import ndimage
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra

from segapp.engine.region_graph import ACROSS, DOWN, PAIRS

_CONTRAST_WEIGHT = 150.0
_GEODESIC_SHARE = 0.3  # gamma_g: 0 is the length in pixels alone, 1 the change of colour alone
_UNIFORM_SHARE = 0.05  # of a uniform density, in each colour model


def star_convex_cut(rgb, marked, log_likelihoods, parents):
    """Return the labels with the smallest energy among the star-convex ones.

    ``parents`` has for each pixel the number of the next one on its way to a centre, -1 at
    the centres themselves.
    """
    preference = _preference(log_likelihoods)
    free = (marked < 0) & ~_below(parents, marked == 1)
    return np.where(_cut(preference, free, marked == 0, _bonds(rgb), parents), 0, 1)


def straight_parents(centres):
    """Return the next pixel on the straight line to the nearest centre."""
    nearest = ndimage.distance_transform_edt(~centres, return_distances=False, return_indices=True)
    own = np.indices(centres.shape)
    way = nearest - own
    steps = np.abs(way).max(axis=0)
    # One step of the digital line; where both are as near, the same way on either side.
    step = np.sign(way) * ((2 * np.abs(way) + steps) // np.maximum(2 * steps, 1))
    parents = np.ravel_multi_index(tuple(own + step), centres.shape)
    parents[centres] = -1
    return parents


def geodesic_parents(rgb, centres):
    """Return the next pixel on the shortest path to a centre: a geodesic forest.

    A step costs ``sqrt((1 - g) d^2 + g s^2)`` with its length d in pixels and the change of
    colour s, which is scaled to have the same mean square.
    """
    number = np.arange(centres.size).reshape(centres.shape)
    squares = [_squared_differences(rgb, pair) for pair in PAIRS]
    lengths = np.concatenate(
        [np.full(s.size, d) for s, d in zip(squares, (1, 1, 2, 2), strict=True)]
    )
    changes = np.concatenate([s.ravel() for s in squares])
    scale = lengths.mean() / max(changes.mean(), 1e-12)
    steps = np.sqrt((1 - _GEODESIC_SHARE) * lengths + _GEODESIC_SHARE * scale * changes)
    ends = tuple(np.concatenate([number[pair[k]].ravel() for pair in PAIRS]) for k in (0, 1))
    graph = coo_array((steps, ends), shape=(centres.size, centres.size)).tocsr()
    _, parents, _ = dijkstra(
        graph,
        directed=False,
        indices=np.flatnonzero(centres),
        return_predecessors=True,
        min_only=True,
    )
    return np.where(parents < 0, -1, parents).reshape(centres.shape)


def _preference(log_likelihoods):
    """Log ratio of the posteriors of foreground, with uniform densities mixed in."""
    densities = np.exp(np.clip(log_likelihoods, -50, 50))
    mixed = _UNIFORM_SHARE + (1 - _UNIFORM_SHARE) * densities
    return np.log(mixed[..., 0] / mixed[..., 1])


def _squared_differences(rgb, pair):
    colours = rgb / 255.0
    return ((colours[pair[0]] - colours[pair[1]]) ** 2).sum(axis=-1)


def _bonds(rgb):
    """Return both ends and the weight of each pair in a row or column."""
    number = np.arange(rgb[..., 0].size).reshape(rgb.shape[:2])
    squares = [_squared_differences(rgb, pair).ravel() for pair in (ACROSS, DOWN)]
    changes = np.concatenate(squares)
    sharpness = 2.0 / max(changes.mean(), 1e-12)
    here, there = (
        np.concatenate([number[pair[k]].ravel() for pair in (ACROSS, DOWN)]) for k in (0, 1)
    )
    return here, there, _CONTRAST_WEIGHT * np.exp(-sharpness * changes)


def _below(parents, fixed):
    """Mark pixels with a fixed one on their path, through which all foreground passes."""
    flat, found = parents.ravel(), fixed.ravel().copy()
    next_one = np.where(flat < 0, np.arange(flat.size), flat)
    # Pointer jumping: each round looks twice as far.
    for _ in range(max(int(flat.size).bit_length(), 1)):
        found |= found[next_one]
        next_one = next_one[next_one]
    return found.reshape(fixed.shape)


def _cut(preference, free, foreground, bonds, parents):
    """Return the foreground among free pixels; fixed ones count as costs."""
    number = np.full(free.size, -1)
    number[free.ravel()] = np.arange(np.count_nonzero(free))
    gain = preference.ravel()[free.ravel()].copy()
    here, there, weight = bonds
    inside = foreground.ravel()
    for a, b in ((here, there), (there, here)):
        # A fixed neighbour makes its own class better by the bond.
        touching = (number[a] >= 0) & (number[b] < 0)
        signed = np.where(inside[b[touching]], weight[touching], -weight[touching])
        gain += np.bincount(number[a[touching]], signed, minlength=gain.size)
    both = (number[here] >= 0) & (number[there] >= 0)
    u, v, weight = number[here[both]], number[there[both]], weight[both]
    flat = parents.ravel()
    child = np.flatnonzero(free.ravel() & (flat >= 0))
    child = child[number[flat[child]] >= 0]
    chosen = exact_cut(gain, (u, v, weight), (number[child], number[flat[child]]))
    answer = inside.copy()
    answer[free.ravel()] = chosen
    return answer.reshape(free.shape)
