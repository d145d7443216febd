import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from segapp.imaging.rasterise import rasterize
from segapp.imaging.seeds import SeedMap
from segapp.model.document import Document, Patch, Stroke

SIZE = (300, 530)  # more than one tile, and parts of tiles
TIMES = 4

places = st.tuples(st.floats(-40, 560), st.floats(-40, 340))
labels = st.one_of(st.none(), st.integers(0, 2))
strokes = st.builds(
    Stroke, st.lists(places, min_size=1, max_size=3).map(tuple), st.floats(0.3, 40), labels
)
patches = st.builds(
    lambda mask, left, top, label: Patch(
        left, top, mask.shape[1], mask.shape[0], np.packbits(mask).tobytes(), label
    ),
    hnp.arrays(bool, st.tuples(st.integers(1, 30), st.integers(1, 30))),
    st.integers(-20, 540),
    st.integers(-20, 310),
    labels,
)
marks = st.lists(st.one_of(strokes, patches), max_size=5)


def brute_force(array, times):
    """Take the highest mark of each block."""
    height, width = array.shape
    whole = np.pad(array, ((0, -height % times), (0, -width % times)), constant_values=-1)
    return whole.reshape(len(whole) // times, times, -1, times).max(axis=(1, 3))


def painted(strokes):
    return rasterize(Document(tuple(THREE), tuple(strokes)), SIZE)


THREE = [*Document().classes, *Document().classes[:1]]


@given(marks, marks)
@settings(max_examples=60, deadline=None)
def test_tiles_hold_what_painting_the_whole_picture_gives(first, then):
    before = SeedMap.empty(SIZE, TIMES).with_marks(first)
    after = before.with_marks(then)
    for marked, dense in ((before, painted(first)), (after, painted(first + then))):
        np.testing.assert_array_equal(marked.dense(), dense)
        np.testing.assert_array_equal(marked.highest, brute_force(dense, TIMES))
        assert marked.classes() == sorted(set(np.unique(dense).tolist()) - {-1})
        for box in (
            (slice(40, 290), slice(200, 517)),
            (slice(3, None, 7), slice(255, 258)),
            (slice(None, None, 300), slice(None, None, 13)),
            (slice(0, 0), slice(None)),
        ):
            np.testing.assert_array_equal(marked[box], dense[box])
    differs = (before.dense() != after.dense()).astype(np.int16)
    np.testing.assert_array_equal(after.differs_from(before), brute_force(differs, TIMES) > 0)
    np.testing.assert_array_equal(before.differs_from(after), after.differs_from(before))


@given(marks)
@settings(max_examples=30, deadline=None)
def test_arrays_and_strokes_mean_the_same(strokes):
    dense = painted(strokes)
    marked = SeedMap.from_array(dense)
    np.testing.assert_array_equal(marked.dense(), dense)
    pinned = np.full(SIZE, 7, np.uint8)
    marked.pin(pinned)
    np.testing.assert_array_equal(pinned, np.where(dense >= 0, dense, 7))
    # Each row of equal marks has a place of its own, and so each marked pixel is reached.
    places = np.zeros(SIZE, bool)
    places.flat[marked.run_starts()] = True
    begins = dense >= 0
    begins[:, 1:] &= dense[:, 1:] != dense[:, :-1]
    assert (places | ~begins).all()
    assert (dense[places] >= 0).all()


def test_tiles_that_no_stroke_touches_are_shared():
    before = SeedMap.empty(SIZE).with_marks([Stroke(((10.0, 10.0),), 3, 0)])
    after = before.with_marks([Stroke(((400.0, 280.0),), 3, 1)])
    assert after.tiles[0, 0] is before.tiles[0, 0]
    assert len(after.tiles) == 2
    assert before.with_marks([Stroke(((-50.0, -50.0),), 3, 1)]) is before
