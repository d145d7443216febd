"""Kernels of strokes in single precision against those of the learner."""

import numpy as np
import pytest

from segapp.engine.kernels import (
    gram_matrices,
    kernels_of,
    stroke_features,
    stroke_groups,
)
from segapp.engine.region_classifier import UNLABELLED, Supervision
from segapp.engine.region_graph import Edges, Geodesics
from segapp.model.settings import FeatureGroup, Settings


def features(n_classes, n=70):
    """Return stroke features of a chain of regions, the first of which are marked."""
    rng = np.random.default_rng(n_classes)
    ends = np.arange(n - 1, dtype=np.int32), np.arange(1, n, dtype=np.int32)
    probabilities = rng.dirichlet(np.ones(n_classes), n)
    geodesics = Geodesics.of(Edges(*ends, np.ones(n - 1)), np.ones(n - 1), probabilities)
    labels = np.where(np.arange(n) < n_classes, np.arange(n), UNLABELLED)
    supervision = Supervision(np.arange(n), labels, np.ones(n), np.arange(n_classes))
    return stroke_features(4 * rng.random((n, n_classes)), geodesics, supervision)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("bandwidths", [(0.35, 1.4), ()])
def test_kernels_are_those_of_all_columns(n_classes, bandwidths):
    groups = FeatureGroup.LIKELIHOOD, FeatureGroup.NEARNESS
    settings = Settings(features=groups, stroke_bandwidths=bandwidths)
    columns = features(n_classes)
    wanted = [
        kernel.of(columns[group], columns[group])
        for group in stroke_groups(settings)
        for kernel in kernels_of([group], settings)
    ]
    np.testing.assert_allclose(list(gram_matrices(None, columns, settings)), wanted, atol=1e-5)
