"""Training rows of regions, and the weight of unmarked pixels."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra import numpy as hnp
from scipy import ndimage

from segapp.engine.region_classifier import Supervision
from segapp.engine.superpixels import Prototypes
from segapp.model.settings import PRESETS


@given(
    hnp.arrays(
        np.int16,
        hnp.array_shapes(min_dims=2, max_dims=2, max_side=12),
        elements={
            "min_value": -1,
            "max_value": 1,
        },
    )
)
def test_unmarked_pixels_fade_with_the_number_of_strokes(marked):
    marked[0, 0] = 0
    prototypes = Prototypes.of_map(np.arange(marked.size).reshape(marked.shape))
    settings = replace(PRESETS["best"], few_strokes=2, unlabelled_weight=0.5)
    found = Supervision.of(prototypes, marked, settings)
    parts = sum(ndimage.label(marked == label)[1] for label in (0, 1))
    assert found.strokes == parts / len(found.classes)
    few = 2 * len(found.classes) / 2
    wanted = max(0.5 * min(1.0, few / parts) ** 10, 1e-9)
    assert found.weights[: marked.size][marked.ravel() < 0] == pytest.approx(wanted)
