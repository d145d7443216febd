"""Heads, with networks whose answers can be foretold."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtr

from segapp.encoders.encoder import Head, encoder_from_plain, encoder_to_plain, identity_of
from segapp.encoders.feature_cache import FeatureExtractor
from segapp.encoders.onnx_file import EncoderError, read_network
from segapp.encoders.preprocessing import fitted
from segapp.encoders.runner import RunningNetwork
from segapp.encoders.signatures import describe_head, head_file, remove_grid_bias
from tests.segapp.encoders import networks
from tests.segapp.encoders.test_encoding import POOLED


@pytest.fixture
def paths(tmp_path):
    return networks.pooled(tmp_path / "a.onnx"), networks.like_sam_decoder(tmp_path / "b.onnx")


@pytest.fixture
def encoder(paths):
    network, head_network = (read_network(path) for path in paths)
    encoder = replace(POOLED, digest=network.digest, n_bytes=network.n_bytes)
    file = head_file(paths[1], head_network)
    with RunningNetwork("It", paths[0], network.digest, head=file) as running:
        shape = running.head_shape(encoder)
    return replace(encoder, head=describe_head(file, head_network, encoder, shape))


@pytest.fixture
def extractor(installed, kept, encoder, paths):
    installed.add(encoder, paths[0], head=paths[1])
    with FeatureExtractor(encoder, installed, kept) as extractor:
        yield extractor


@pytest.fixture
def rgb():
    return np.random.default_rng(0).integers(0, 256, (32, 24, 3), dtype=np.uint8)


def test_a_head_is_known_by_what_it_reads(encoder, paths):
    assert (encoder.head.grid, encoder.head.channels) == ((32, 32), 5)
    assert encoder.head.output == "inner"
    assert encoder.identity == identity_of(encoder.digest, encoder.head.digest)
    assert encoder.identity not in (encoder.digest, encoder.head.digest)
    assert replace(encoder, head=None).identity == encoder.digest
    plain = json.loads(json.dumps(encoder_to_plain(encoder)))
    assert encoder_from_plain(plain) == encoder
    head = plain.pop("head")  # as files were before there were heads
    assert encoder_from_plain(plain) == replace(encoder, head=None)
    with pytest.raises(ValueError, match="digest"):
        encoder_from_plain({**plain, "head": head | {"digest": "x"}})


def test_fine_cells_are_what_the_head_makes_of_the_encoder_s(extractor, rgb):
    encoded = extractor.features(rgb)
    # The picture fills 32 x 24 of 32 x 32 pixels: all rows of cells and three quarters of columns.
    assert encoded.cells.shape == (8, 6, 3)
    cells = encoded.cells.astype(np.float32)
    wide = np.einsum("rck,kfij->ricjf", cells, networks.widening()).reshape(32, 24, 5)
    wanted = wide * ndtr(wide)
    for row in range(4):
        for column in range(4):
            wanted[row::4, column::4] -= wanted[row::4, column::4].mean(axis=(0, 1))
    fine = encoded.fine
    # The network goes on from its own numbers, which are kept with half of their precision.
    np.testing.assert_allclose(fine.cells.astype(np.float32), wanted, atol=0.05 * wanted.std())
    assert fine.step == tuple(side / 4 for side in encoded.step)
    assert encoded.finest is fine
    assert {encoded.encoder, fine.encoder} == {extractor.encoder.identity}


def test_both_are_kept_and_found_again(extractor, installed, kept, rgb):
    first = extractor.features(rgb)
    found = extractor.cached(extractor.prepare(rgb))
    assert np.array_equal(found.cells, first.cells)
    assert np.array_equal(found.fine.cells, first.fine.cells)
    assert (found.step, found.fine.step) == (first.step, first.fine.step)
    path = kept.path(fitted(rgb, extractor.encoder), extractor.encoder)
    np.savez(path, cells=first.cells)  # of a program that knew no heads
    assert extractor.cached(extractor.prepare(rgb)) is None
    assert np.array_equal(extractor.features(rgb).fine.cells, first.fine.cells)


def test_a_head_that_has_changed_is_not_run(extractor, installed, rgb):
    head = installed.head_file(extractor.encoder)
    head.path.write_bytes(head.path.read_bytes() + b"\0")
    with pytest.raises(EncoderError, match="has changed since it was added"):
        extractor.features(rgb)
    head.path.unlink()
    with pytest.raises(EncoderError, match="is damaged"):
        installed.get(extractor.encoder.name)


@pytest.mark.parametrize("left_out", ["mask_input", "orig_im_size"])
def test_what_is_no_mask_decoder_is_refused(tmp_path, left_out):
    other = networks.like_sam_decoder(tmp_path / "other.onnx", without=(left_out,))
    with pytest.raises(EncoderError, match="wanted a mask decoder of the SAM family"):
        head_file(other, read_network(other))
    with pytest.raises(EncoderError, match="wanted a mask decoder"):
        head_file(other, read_network(networks.pooled(tmp_path / "pooled.onnx")))


@pytest.mark.parametrize("mask", [[1, 1, "rows", "columns"], [16, 16]])
def test_a_mask_of_any_size_is_refused(tmp_path, mask):
    other = networks.like_sam_decoder(tmp_path / "other.onnx", mask=mask)
    with pytest.raises(EncoderError, match="wanted a mask_input of 1x1xROWSxCOLUMNS"):
        head_file(other, read_network(other))


def test_a_head_of_another_encoder_is_refused(tmp_path, encoder, paths):
    other = networks.like_sam_decoder(tmp_path / "other.onnx", channels=7)
    file = head_file(other, read_network(other))
    with (
        RunningNetwork("It", paths[0], encoder.digest, head=file) as running,
        pytest.raises(EncoderError, match="It cannot be used"),
    ):
        running.head_shape(encoder)
    for shape in ((1, 5, 31, 32), (5, 32, 32), (2, 5, 32, 32)):
        with pytest.raises(EncoderError, match="--head: wanted each of 8 x 8 cells"):
            describe_head(file, read_network(other), encoder, shape)
    with pytest.raises(EncoderError, match="--head: grid: wanted at most"):
        describe_head(file, read_network(other), encoder, (1, 1 << 24, 32, 32))


def test_what_cells_have_by_their_place_alone_is_taken_off():
    rng = np.random.default_rng(0)
    object_like = np.repeat(np.repeat(rng.normal(size=(2, 3, 5)), 4, axis=1), 2, axis=2)
    even = (object_like + np.tile(rng.normal(size=(2, 4, 2)), (1, 3, 5))).astype(np.float32)
    remove_grid_bias(even, (4, 2))
    middle = object_like.mean(axis=(1, 2), keepdims=True)
    np.testing.assert_allclose(even, object_like - middle, atol=1e-5)
    few = np.ones((3, 1, 1), np.float32)  # less than one large cell
    remove_grid_bias(few, (4, 4))
    np.testing.assert_array_equal(few, 0.0)


def test_a_head_of_no_values_cannot_be_made():
    with pytest.raises(ValueError, match="grid"):
        Head("0" * 64, 1, "y", (8, 8), 0)
