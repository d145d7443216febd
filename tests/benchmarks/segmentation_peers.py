"""Classical interactive segmentation, for comparison: strokes in, two classes out.

Each takes the picture and the marked pixels (0 foreground, 1 background, -1 unmarked) and
returns the class of each pixel.
"""

import cv2
import numpy as np
from exact_cut import exact_cut
from skimage.graph import MCP_Geometric
from skimage.segmentation import random_walker
from sklearn.mixture import GaussianMixture
from star_convexity import geodesic_parents, star_convex_cut, straight_parents

from segapp.engine.features import ColourImage
from segapp.engine.region_graph import PAIRS, pairwise_weights

_COMPONENTS = 5
_SMOOTHNESS = 50.0  # the weight that GrabCut uses


def grabcut(rgb, marked):
    """OpenCV's GrabCut, five iterations; what is unmarked is probably background."""
    cv2.setRNGSeed(0)
    mask = np.full(marked.shape, cv2.GC_PR_BGD, np.uint8)
    mask[marked == 0], mask[marked == 1] = cv2.GC_FGD, cv2.GC_BGD
    models = np.zeros((1, 65)), np.zeros((1, 65))
    bgr = np.ascontiguousarray(rgb[..., ::-1])
    cv2.grabCut(bgr, mask, None, *models, 5, cv2.GC_INIT_WITH_MASK)
    return np.where((mask == cv2.GC_FGD) | (mask == cv2.GC_PR_FGD), 0, 1)


def _log_likelihoods(rgb, marked):
    """Log density of each pixel's colour under a mixture for each class."""
    colours = rgb.reshape(-1, 3) / 255.0
    densities = []
    for label in (0, 1):
        own = colours[(marked == label).ravel()]
        mixture = GaussianMixture(
            min(_COMPONENTS, len(np.unique(own, axis=0))),
            reg_covar=1e-3,
            max_iter=20,
            tol=1e-2,
            init_params="k-means++",
            random_state=0,
        )
        densities.append(mixture.fit(own).score_samples(colours).reshape(marked.shape))
    return np.stack(densities, axis=-1)


def boykov_jolly(rgb, marked):
    """One graph cut on mixtures of the strokes' colours and contrast-sensitive bonds."""
    likelihoods = _log_likelihoods(rgb, marked)
    gain = likelihoods[..., 0] - likelihoods[..., 1]
    prohibitive = 1e5
    gain[marked == 0], gain[marked == 1] = prohibitive, -prohibitive
    number = np.arange(marked.size).reshape(marked.shape)
    bonds = pairwise_weights(ColourImage(rgb).lab)
    pairs = (
        np.concatenate([number[pair[0]].ravel() for pair in PAIRS]),
        np.concatenate([number[pair[1]].ravel() for pair in PAIRS]),
        _SMOOTHNESS * np.concatenate([bond.ravel() for bond in bonds]).astype(float),
    )
    return np.where(exact_cut(gain.ravel(), pairs).reshape(marked.shape), 0, 1)


def euclidean_stars(rgb, marked):
    """ESC: a foreground pixel's straight line to its nearest stroke is foreground."""
    return star_convex_cut(
        rgb, marked, _log_likelihoods(rgb, marked), straight_parents(marked == 0)
    )


def geodesic_stars(rgb, marked):
    """GSC: a foreground pixel's geodesic to its nearest stroke is foreground."""
    return star_convex_cut(
        rgb, marked, _log_likelihoods(rgb, marked), geodesic_parents(rgb, marked == 0)
    )


def walker(rgb, marked):
    """scikit-image's random walker with its own defaults."""
    return random_walker(rgb, marked.astype(int) + 1, mode="cg_j", channel_axis=-1) - 1


def geodesic(rgb, marked):
    """Geodesic distance to the strokes over changes of likelihood (Bai and Sapiro)."""
    likelihoods = _log_likelihoods(rgb, marked)
    ratio = np.clip(likelihoods[..., 0] - likelihoods[..., 1], -50, 50)
    probability = 1.0 / (1.0 + np.exp(-ratio))
    steepness = np.hypot(*np.gradient(probability)) + 1e-3
    distances = [
        MCP_Geometric(steepness).find_costs(np.argwhere(marked == label))[0] for label in (0, 1)
    ]
    return np.where(distances[0] < distances[1], 0, 1)


PEERS = {
    "GrabCut (OpenCV, 5 iterations)": grabcut,
    "Boykov-Jolly graph cut": boykov_jolly,
    "random walker (scikit-image)": walker,
    "geodesic distance": geodesic,
    "ESC (Gulshan et al.)": euclidean_stars,
    "GSC (Gulshan et al.)": geodesic_stars,
}
