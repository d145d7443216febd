import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from pycocotools import mask as reference
from scipy import ndimage

from segapp.imaging.boundaries import (
    LINE,
    NOTHING,
    RIM,
    border_lines,
    edge_pyramid,
    line_owners,
    polygons,
    update_edge_pyramid,
)
from segapp.imaging.tiles import TILE, boundary_tiles, changed_tiles
from segapp.model.classes import ClassInfo

CLASSES = (
    ClassInfo("a", (250, 100, 0)),
    ClassInfo("Background", (9, 9, 9)),
    ClassInfo("b", (0, 90, 200)),
)


@pytest.fixture
def labels():
    labels = np.ones((40, 60), np.uint8)
    labels[10:30, 10:30] = 0
    labels[5:15, 40:55] = 2
    return labels


def test_a_line_belongs_to_the_object_and_never_to_the_background():
    table = line_owners(CLASSES)
    assert table[0, 1] == table[1, 0] == 0
    assert table[2, 1] == table[1, 2] == 2
    assert table[0, 2] == table[2, 0] == 0


def test_border_lines_go_around_each_object_once(labels):
    lines, whose = border_lines(labels, line_owners(CLASSES))
    around = {tuple(line) for line in lines[whose == 0].tolist()}
    assert around == {(10, 10, 30, 10), (10, 30, 30, 30), (10, 10, 10, 30), (30, 10, 30, 30)}
    assert (whose == 2).sum() == 4


def test_border_lines_of_noise_have_the_length_of_all_borders():
    labels = np.random.default_rng(1).integers(0, 3, (30, 41)).astype(np.uint8)
    lines, whose = border_lines(labels, line_owners(CLASSES))
    length = np.abs(lines[:, 2:] - lines[:, :2]).sum()
    assert length == (labels[1:] != labels[:-1]).sum() + (labels[:, 1:] != labels[:, :-1]).sum()
    assert len(whose) == len(lines)
    assert border_lines(np.zeros((4, 4), np.uint8), line_owners(CLASSES))[0].shape == (0, 4)


def test_every_copy_has_a_line_of_one_pixel_with_a_rim(labels):
    pictures = edge_pyramid(labels, line_owners(CLASSES), 16)
    assert [picture.shape for picture in pictures] == [(40, 60), (20, 30), (10, 15)]
    full = pictures[0]
    inner = (labels == 0) & ~ndimage.binary_erosion(labels == 0, np.ones((3, 3)))
    corners = ndimage.binary_erosion(labels == 0)  # a corner's pixel may stay off the line
    assert ((full == LINE) <= inner).all()
    assert (full == LINE)[10, 10:30].all()
    assert (full[corners] != LINE + 2).all()
    for picture in pictures:
        drawn = picture >= LINE
        assert (ndimage.binary_dilation(drawn, np.ones((3, 3))) == (picture != NOTHING)).all()
        assert (picture[~drawn] <= RIM).all()


def test_no_object_is_lost_however_small_the_copy():
    labels = np.ones((1024, 1024), np.uint8)
    labels[500, 700] = 0
    for picture in edge_pyramid(labels, line_owners(CLASSES), 64):
        assert (picture == LINE).any()


@given(st.integers(0, 2**31))
@settings(max_examples=40, deadline=None)
def test_edges_redrawn_in_a_box_are_those_drawn_anew(seed):
    rng = np.random.default_rng(seed)
    height, width = rng.integers(5, 600), rng.integers(5, 90)
    labels = ndimage.zoom(rng.integers(0, 3, (9, 9)), (height / 9, width / 9), order=0)
    labels = labels.astype(np.uint8)
    owner = line_owners(CLASSES)
    pictures = edge_pyramid(labels, owner, 16)
    left, right = np.sort(rng.choice(width + 1, 2, replace=False)).tolist()
    top, bottom = np.sort(rng.choice(height + 1, 2, replace=False)).tolist()
    shape = (bottom - top, right - left)
    labels[top:bottom, left:right] = rng.integers(0, 3, shape, dtype=np.uint8)
    update_edge_pyramid(pictures, labels, owner, (left, top, right, bottom))
    for redrawn, anew in zip(pictures, edge_pyramid(labels, owner, 16), strict=True):
        np.testing.assert_array_equal(redrawn, anew)


SIZE = (1100, 1300)


def test_tiles_that_differ_are_joined_along_a_row_and_no_others_come():
    before = np.zeros(SIZE, np.uint8)
    after = before.copy()
    assert list(changed_tiles(before, after)) == []
    after[3, 255], after[4, 256], after[1099, 1299] = 1, 1, 1
    assert list(changed_tiles(before, after)) == [(0, 0, 512, 256), (1280, 1024, 1300, 1100)]


@given(
    st.tuples(st.integers(1, 600), st.integers(1, 600)),
    st.lists(st.tuples(st.integers(0, 599), st.integers(0, 599), st.integers(0, 300))),
)
@settings(max_examples=60, deadline=None)
def test_mixed_tiles_are_those_with_a_border_within_or_at_a_side(size, squares):
    labels = np.zeros(size, np.uint8)
    for top, left, side in squares:
        labels[top : top + side, left : left + side] ^= 1
    covered = np.zeros(size, bool)
    for left, top, right, bottom in boundary_tiles(labels):
        covered[top:bottom, left:right] = True
    for top in range(0, size[0], TILE):
        for left in range(0, size[1], TILE):
            # With the pixels beside its four sides: corners touch nothing.
            tall = labels[max(top - 1, 0) : top + TILE + 1, left : left + TILE]
            wide = labels[top : top + TILE, max(left - 1, 0) : left + TILE + 1]
            is_mixed = len(np.unique(tall)) > 1 or len(np.unique(wide)) > 1
            tile = covered[top : top + TILE, left : left + TILE]
            assert tile.all() if is_mixed else not tile.any()


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
