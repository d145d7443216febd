import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from pycocotools import mask as reference
from scipy import ndimage

from segapp.imaging.boundaries import polygons

# pycocotools 2.0.11 has not followed NumPy 2 in this.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

masks = arrays.arrays(bool, st.tuples(st.integers(1, 14), st.integers(1, 14)))


def filled(polygon, shape):
    flat = [float(part) for corner in polygon for part in corner]
    return reference.decode(reference.frPyObjects([flat], *shape))[:, :, 0].astype(bool)


@settings(max_examples=200, deadline=None)
@given(masks)
def test_pycocotools_fills_the_mask_again(mask):
    """Each polygon is one 4-connected part, holes and holes in holes included."""
    parts, count = ndimage.label(mask)
    found = polygons(mask)
    assert len(found) == count
    total = np.zeros(mask.shape, int)
    for polygon in found:
        part = filled(polygon, mask.shape)
        assert np.unique(parts[part]).size == 1
        total += part
    assert (total == mask).all()


@settings(max_examples=60, deadline=None)
@given(masks)
def test_all_edges_run_along_the_pixels(mask):
    for polygon in polygons(mask):
        corners = np.array(polygon)
        steps = np.roll(corners, -1, axis=0) - corners
        assert (np.count_nonzero(steps, axis=1) == 1).all()


def test_a_ring_has_a_bridge_and_no_more_corners_than_needed():
    mask = np.zeros((9, 9), bool)
    mask[1:8, 1:8] = True
    mask[3:6, 3:6] = False
    (polygon,) = polygons(mask)
    assert len(polygon) == 4 + 4 + 3  # two rings; the bridge's ends, where no corner was, added
    assert (filled(polygon, mask.shape) == mask).all()


@pytest.mark.parametrize("shape", [(1, 1), (5, 7)])
def test_nothing_and_everything(shape):
    assert polygons(np.zeros(shape, bool)) == []
    (polygon,) = polygons(np.ones(shape, bool))
    height, width = shape
    assert set(polygon) == {(0, 0), (width, 0), (width, height), (0, height)}


@settings(max_examples=200, deadline=None)
@given(masks)
def test_joined_at_corners_each_component_has_one_polygon(mask):
    parts, count = ndimage.label(mask, structure=np.ones((3, 3)))
    found = polygons(mask, join_corners=True)
    assert len(found) == count
    total = np.zeros(mask.shape, int)
    for polygon in found:
        part = filled(polygon, mask.shape)
        assert np.unique(parts[part]).size == 1
        total += part
    assert (total == mask).all()
