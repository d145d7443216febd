import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from segapp.imaging.overlay import scale_bar, with_scale_bar
from segapp.model.picture import Scale


@given(st.floats(1e-6, 1e6), st.integers(10, 100_000))
def test_a_bar_is_round_and_between_a_twelfth_and_a_fifth_of_the_width(pixel, width):
    bar = scale_bar(Scale(pixel, "µm"), width)
    assert width / 12.6 <= bar.pixels <= width / 5 * (1 + 1e-6)
    length = float(bar.text.removesuffix(" µm"))
    assert length == pytest.approx(bar.pixels * pixel)
    assert f"{length:.0e}"[0] in "125"


def test_the_drawn_bar_has_its_length():
    drawn = with_scale_bar(np.zeros((300, 400, 3), np.uint8), Scale(0.5, "mm"))
    white = (drawn == 255).all(axis=2)
    runs = [np.diff(np.flatnonzero(np.diff(np.r_[0, row.astype(int), 0])))[::2] for row in white]
    longest = max(int(run.max(initial=0)) for run in runs)
    assert longest == scale_bar(Scale(0.5, "mm"), 400).pixels == 40
    assert not white[:200].any()
