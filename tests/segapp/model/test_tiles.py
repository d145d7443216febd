import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from segapp.imaging.tiles import TILE, boundary_tiles, changed_tiles

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
