"""Networks for less than a square, against the closed form and the whole ones."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper

from segapp.encoders.encoder import Fit, Layout
from segapp.encoders.onnx_file import EncoderError
from segapp.encoders.onnx_surgery import min_step_in_cells, resize_network
from segapp.encoders.preprocessing import filled, fitted, parts, read_size
from segapp.encoders.runner import RunningNetwork
from segapp.encoders.signatures import HeadFile, NetworkOptions, probe_network
from tests.segapp.encoders import networks
from tests.segapp.encoders.test_encoding import POOLED

OPTIONS = NetworkOptions(mean=(100.0, 100.0, 100.0), std=(50.0, 50.0, 50.0), fit=Fit.PAD)
SIDE = 44  # 11 cells, padded to 12: 4 windows


def added(path, options=OPTIONS):
    return probe_network("it", path, None, options)


def encoded(path, encoder, rgb):
    with RunningNetwork("It", path, encoder.digest) as running:
        return running.encode(encoder, fitted(rgb, encoder))


def less_the_window_s_mean(cells):
    """The closed form of `networks.windowed`: rows x columns x channels."""
    rows, columns, channels = cells.shape
    padded = np.pad(cells, ((0, 1), (0, 1), (0, 0)))
    windows = padded.reshape((rows + 1) // 3, 3, (columns + 1) // 3, 3, channels)
    less = windows - windows.mean(axis=(1, 3), keepdims=True)
    return less.reshape(padded.shape)[:rows, :columns]


@pytest.mark.parametrize("size", [(32, 44), (20, 44), (44, 32), (44, 8)])
def test_a_narrower_network_gives_what_the_same_one_for_that_size_would(tmp_path, size):
    model = networks.windowed(tmp_path / "a.onnx", SIDE).read_bytes()
    assert min_step_in_cells(model) == 3
    picture = np.random.default_rng(1).normal(size=(1, 3, *size)).astype(np.float32)
    cells = picture.reshape(3, size[0] // 4, 4, size[1] // 4, 4).mean(axis=(2, 4))
    wanted = less_the_window_s_mean(cells.transpose(1, 2, 0))
    (found,) = networks.run(resize_network(model, SIDE, size), picture)
    np.testing.assert_allclose(found[0].transpose(1, 2, 0), wanted, atol=1e-5)


def test_windows_that_cannot_be_whole_are_not_run(tmp_path):
    model = networks.windowed(tmp_path / "a.onnx", SIDE).read_bytes()
    with pytest.raises(Exception, match="Reshape"):
        networks.run(resize_network(model, SIDE, (40, 44)), np.zeros((1, 3, 40, 44), np.float32))


def test_numbers_out_of_proportion_and_two_narrow_sides_are_refused(tmp_path):
    model = networks.windowed(tmp_path / "a.onnx", SIDE).read_bytes()
    with pytest.raises(ValueError, match="whole number"):
        resize_network(model, SIDE, (33, 44))
    with pytest.raises(ValueError, match="a side of 44"):
        resize_network(model, SIDE, (32, 32))


@pytest.mark.parametrize("shape", [(30, 44), (33, 44), (44, 20), (88, 10), (44, 44)])
def test_a_picture_is_read_as_far_as_it_goes(tmp_path, shape):
    path = networks.windowed(tmp_path / "a.onnx", SIDE)
    encoder = added(path)
    assert encoder.steps == (12, 12)
    rgb = np.random.default_rng(2).integers(0, 256, (*shape, 3), dtype=np.uint8)
    found = encoded(path, encoder, rgb)
    ready = np.zeros((*read_size(shape, encoder), 3))
    pixels = fitted(rgb, encoder).pixels
    ready[: pixels.shape[0], : pixels.shape[1]] = (pixels - 100.0) / 50
    rows, columns = ready.shape[0] // 4, ready.shape[1] // 4
    cells = less_the_window_s_mean(ready.reshape(rows, 4, columns, 4, 3).mean(axis=(1, 3)))
    (part,) = parts(shape, encoder)
    assert found.cells.shape == part.shape
    np.testing.assert_allclose(found.cells, cells[: part.shape[0], : part.shape[1]], atol=5e-3)


def positioned(path):
    """Adds to each cell what belongs to its place."""
    nodes = [
        helper.make_node("AveragePool", ["x"], ["p"], kernel_shape=[4, 4], strides=[4, 4]),
        helper.make_node("Add", ["p", "places"], ["y"]),
    ]
    places = np.random.default_rng(3).normal(size=(1, 3, 8, 8)).astype(np.float32)
    ports = [("x", [1, 3, 32, 32])], [("y", [1, 3, 8, 8])]
    return networks.save(path, nodes, *ports, [("places", places)])


def scrambled(path):
    """Takes all channels of all cells in a row for channels of one: runs at any size."""
    nodes = [
        helper.make_node("AveragePool", ["x"], ["p"], kernel_shape=[4, 4], strides=[4, 4]),
        helper.make_node("Reshape", ["p", "shape"], ["r"]),
        helper.make_node("Transpose", ["r"], ["y"], perm=[0, 3, 1, 2]),
    ]
    ports = [("x", [1, 3, 32, 32])], [("y", [1, 3, 8, 8])]
    return networks.save(path, nodes, *ports, [("shape", np.array([1, 8, 8, -1], np.int64))])


@pytest.mark.parametrize("network", [positioned, scrambled])
def test_a_network_that_sees_something_else_then_reads_squares(tmp_path, network):
    path = network(tmp_path / "a.onnx")
    encoder = added(path)
    assert encoder.steps == (0, 0)
    assert encoded(path, encoder, np.zeros((16, 32, 3), np.uint8)).cells.shape == (4, 8, 3)


def test_what_takes_too_long_to_be_tried_reads_squares(tmp_path, monkeypatch):
    def too_long(*_):
        raise EncoderError("It was stopped: it took longer than 120 s.")

    monkeypatch.setattr(RunningNetwork, "steps", too_long)
    assert added(networks.pooled(tmp_path / "a.onnx")).steps == (0, 0)


def test_pictures_of_many_shapes_are_read_one_after_the_other(tmp_path):
    path = networks.windowed(tmp_path / "a.onnx", SIDE)
    encoder = added(path)
    rng = np.random.default_rng(7)
    pictures = [
        fitted(rng.integers(0, 256, (*shape, 3), dtype=np.uint8), encoder)
        for shape in ((8, 44), (44, 8), (20, 44), (44, 20), (30, 44), (44, 30), (8, 44))
    ]
    with RunningNetwork("It", path, encoder.digest) as running:
        together = [running.encode(encoder, picture).cells for picture in pictures]
    for picture, cells in zip(pictures, together, strict=True):
        with RunningNetwork("It", path, encoder.digest) as running:
            assert np.array_equal(running.encode(encoder, picture).cells, cells)


def test_without_windows_a_cell_is_a_step(tmp_path):
    encoder = added(networks.pooled(tmp_path / "a.onnx"))
    assert encoder.steps == (4, 4)
    assert read_size((17, 32), encoder) == (20, 32)


def test_what_is_stretched_is_never_narrow(tmp_path):
    path = networks.pooled(tmp_path / "a.onnx")
    assert added(path, replace(OPTIONS, fit=Fit.STRETCH)).steps == (0, 0)


def test_tokens_are_read_as_far_as_the_picture_goes(tmp_path):
    path = networks.like_dino(tmp_path / "a.onnx", size=32, patch=8, extra=1)
    encoder = added(path, replace(OPTIONS, layout=Layout.TOKENS))
    assert encoder.steps == (8, 8)
    rgb = np.random.default_rng(5).integers(0, 256, (16, 32, 3), dtype=np.uint8)
    narrow = encoded(path, encoder, rgb)
    whole = encoded(path, replace(encoder, steps=(0, 0)), rgb)
    assert narrow.cells.shape == (2, 4, 5)
    np.testing.assert_allclose(narrow.cells, whole.cells, rtol=1e-2)


def test_a_head_goes_on_from_a_square(tmp_path):
    path = networks.pooled(tmp_path / "a.onnx")
    head = networks.like_sam_decoder(tmp_path / "b.onnx")
    encoder = probe_network("it", path, head, OPTIONS)
    assert encoder.steps == (4, 4)
    rgb = np.random.default_rng(6).integers(0, 256, (20, 32, 3), dtype=np.uint8)
    found = []
    for each in (encoder, replace(encoder, steps=(0, 0))):
        with RunningNetwork(
            "It", path, each.digest, head=HeadFile(head, each.head.digest, each.head.output)
        ) as running:
            found.append(running.encode(each, fitted(rgb, each)))
    narrow, whole = found
    assert np.array_equal(narrow.cells, whole.cells)
    assert np.array_equal(narrow.fine.cells, whole.fine.cells)  # here a cell knows no other


def test_a_square_is_read_a_little_smaller_where_that_saves_a_fifth():
    wide = replace(POOLED, size=(1024, 1024), grid=(64, 64), steps=(224, 224))
    assert filled((1000, 1000), wide) == (800, 800)
    assert read_size((1000, 1000), wide) == (800, 1024)
    assert filled((1000, 900), wide) == (889, 800)
    assert read_size((1000, 900), wide) == (1024, 800)
    assert filled((1000, 700), wide) == (1024, 717)  # as large as can be
    for steps in ((0, 0), (512, 512)):  # it cannot, or would see half
        square = replace(wide, steps=steps)
        assert filled((1000, 1000), square) == read_size((1000, 1000), square) == (1024, 1024)


@given(
    st.tuples(st.integers(1, 500), st.integers(1, 500)),
    st.sampled_from([0, 4, 8, 12, 28]),
    st.sampled_from([0, 4, 20]),
)
def test_all_of_a_picture_is_read_and_less_than_a_step_too_much(shape, rows, columns):
    encoder = replace(POOLED, steps=(rows, columns))
    for reads, fills, size, step in zip(
        read_size(shape, encoder), filled(shape, encoder), encoder.size, encoder.steps, strict=True
    ):
        assert fills <= reads <= size
        assert (size - reads) % (step or size) == 0
        assert reads - fills < step or reads == size or not step


@pytest.mark.parametrize("steps", [(3, 0), (0, 32), (4, 5)])
def test_steps_are_whole_cells_and_not_all(steps):
    with pytest.raises(ValueError, match="steps"):
        replace(POOLED, steps=steps)
