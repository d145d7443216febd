"""Guided upsampling, from scratch and continued."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from segapp.engine.clean_up import clean_up, clean_up_patch
from segapp.engine.upsampling import UpsampledLabels, guided_upsample
from segapp.imaging.pyramid import downsample, upsample
from segapp.imaging.seeds import SeedMap
from segapp.model.document import Stroke
from segapp.model.settings import CleanUp


def upsampled(sizes, small, marked, n_classes, before=None):
    work = guided_upsample(sizes, small, marked, n_classes, before)
    while True:
        try:
            next(work)
        except StopIteration as end:
            return end.value


def fur(times, shape=(480, 640), hair=6.0, seed=0):
    """Return an image with hairs finer than the working resolution, and its truth."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[: shape[0], : shape[1]]
    angle = np.arctan2(y - shape[0] / 2, x - shape[1] / 2)
    waves = ndimage.gaussian_filter1d(rng.normal(size=3000), 4, mode="wrap")
    waves *= hair / waves.std()
    place = ((angle + np.pi) / (2 * np.pi) * 3000).astype(int) % 3000
    truth = np.hypot(y - shape[0] / 2, x - shape[1] / 2) < 0.3 * shape[0] + waves[place]
    rgb = np.where(truth[..., None], (150, 100, 70), (90, 120, 80)) + rng.normal(0, 6, (*shape, 3))
    rgb = np.clip(rgb, 0, 255).astype(np.uint8)
    coarse = downsample(rgb, times.bit_length() - 1)
    shares = truth.reshape(shape[0] // times, times, -1, times).mean(axis=(1, 3))
    small = np.where(ndimage.gaussian_filter(shares, 1.5) > 0.5, 0, 1).astype(np.uint8)
    return (rgb, coarse), small, truth


def overlap(one, other):
    return np.count_nonzero(one & other) / np.count_nonzero(one | other)


@pytest.mark.parametrize("times", [2, 4, 8])
def test_upsampling_follows_edges_below_the_working_resolution(times):
    sizes, small, truth = fur(times)
    marked = SeedMap.empty(truth.shape, times)
    labels = upsampled(sizes, small, marked, 2)
    before = overlap(upsample(small, truth.shape, times) == 0, truth)
    assert overlap(labels == 0, truth) > before + 0.25 * (1 - before)


def test_without_an_edge_the_boundary_is_smooth():
    """A half-plane on a flat image: no step of the working resolution is left, at any slope."""
    coarse = np.full((80, 80, 3), 120, np.uint8)
    rgb = np.full((640, 640, 3), 120, np.uint8)
    y, x = np.mgrid[:80, :80]
    small = (y > 0.4 * x + 20).astype(np.uint8)
    labels = upsampled((rgb, coarse), small, SeedMap.empty((640, 640), 8), 2)
    border = labels.argmax(axis=0)[64:-64]
    straight = np.polyval(np.polyfit(np.arange(len(border)), border, 1), np.arange(len(border)))
    assert np.abs(border - straight).max() < 3  # the coarse steps have eight pixels


@pytest.mark.parametrize("n_classes", [2, 3])
@given(st.integers(0, 2**31), st.sampled_from([2, 4]))
@settings(max_examples=15, deadline=None)
def test_continued_upsampling_equals_upsampling_from_scratch(n_classes, seed, times):
    """From any earlier answer, after strokes, erasing and undoing, cleaned up or not."""
    rng = np.random.default_rng(seed)
    shape = (int(rng.integers(260, 330)), int(rng.integers(260, 330)))
    rgb = rng.integers(0, 256, (*shape, 3)).astype(np.uint8)
    rgb = ndimage.uniform_filter(rgb, (5, 5, 1))
    sizes = (rgb, downsample(rgb, times.bit_length() - 1))
    small_shape = sizes[1].shape[:2]
    small = (
        ndimage.gaussian_filter(rng.normal(size=(n_classes, *small_shape)), (0, 9, 9))
        .argmax(axis=0)
        .astype(np.uint8)
    )
    marked, before = SeedMap.empty(shape, times), None
    states = [marked]
    for _ in range(4):
        match rng.integers(4):
            case 0 if len(states) > 1:  # undo
                marked = states.pop()
            case 1:  # erase
                marked = marked.with_marks([_anywhere(rng, shape, None)])
            case _:
                marked = marked.with_marks([_anywhere(rng, shape, int(rng.integers(n_classes)))])
        states.append(marked)
        small = small.copy()
        top, left = (int(rng.integers(size - 5)) for size in small_shape)
        small[top : top + 5, left : left + 5] = rng.integers(n_classes)
        labels = upsampled(sizes, small, marked, n_classes, before)
        again = upsampled(sizes, small, marked, n_classes)
        np.testing.assert_array_equal(labels, again)
        marks = marked.dense()
        np.testing.assert_array_equal(labels[marks >= 0], marks[marks >= 0])
        wish = CleanUp(smallest_area=int(rng.integers(2, 2000)))
        patch = clean_up_patch(labels, marked, wish, 0)
        if patch is not None:
            patch.apply(labels)
        before = UpsampledLabels(small, marked, labels, patch)
        np.testing.assert_array_equal(before.labels, clean_up(again, marked, wish, 0))
        np.testing.assert_array_equal(before.before_clean_up(), again)
        assert not before.labels.flags.writeable


def _anywhere(rng, shape, label):
    return Stroke(((rng.uniform(0, shape[1]), rng.uniform(0, shape[0])),), 9.0, label)


def test_far_from_a_boundary_labels_are_repeated():
    rng = np.random.default_rng(0)
    rgb = rng.integers(0, 256, (256, 256, 3)).astype(np.uint8)
    small = np.zeros((64, 64), np.uint8)
    small[:, 32:] = 2
    labels = upsampled((rgb, downsample(rgb, 2)), small, SeedMap.empty((256, 256), 4), 4)
    assert (labels[:, :80] == 0).all()
    assert (labels[:, 176:] == 2).all()
    assert set(np.unique(labels)) == {0, 2}
