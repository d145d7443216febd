"""Descriptions of networks and heads from their shapes."""

import json
from dataclasses import replace

import numpy as np
import pytest

from segapp.encoders.encoder import (
    Encoder,
    EncoderError,
    Fit,
    Head,
    Layout,
    NetworkFile,
    Port,
    encoder_from_plain,
    encoder_to_plain,
    identity_of,
)
from segapp.encoders.runner import RunningNetwork
from segapp.encoders.signatures import (
    IMAGENET_MEAN,
    NetworkOptions,
    describe_encoder,
    describe_head,
    head_file,
    probe_network,
)
from tests.segapp.encoders import networks

ALL = {"mean": (0.0, 0.0, 0.0), "std": (1.0, 1.0, 1.0), "fit": Fit.STRETCH}


def file_of(*shape, is_float=True):
    return NetworkFile((Port("x", tuple(shape), is_float),), "0" * 64, 10)


def made(network, shapes, **options):
    """Describe a network whose outputs have shapes that depend on the size."""
    return describe_encoder(
        "it",
        network,
        NetworkOptions(**options),
        lambda size: {k: f(*size) for k, f in shapes.items()},
    )


def refused(network, shapes, **options):
    with pytest.raises(EncoderError) as error:
        made(network, shapes, **options)
    assert str(error.value).endswith(".")
    return str(error.value)


def grid(channels, side):
    return lambda rows, columns: (1, channels, rows // side, columns // side)


def tokens(channels, side, extra):
    return lambda rows, columns: (1, extra + (rows // side) * (columns // side), channels)


@pytest.mark.parametrize("batch", [1, None])
def test_the_sam_family(batch):
    outputs = {"early": lambda *_: (1, 160, 64, 64), "late": grid(256, 16)}
    found = made(file_of(batch, 3, 1024, 1024), outputs)
    assert (found.output, found.layout, found.fit) == ("late", Layout.CHANNELS_FIRST, Fit.PAD)
    assert (found.size, found.grid, found.channels) == ((1024, 1024), (64, 64), 256)
    assert found.mean == IMAGENET_MEAN


@pytest.mark.parametrize(
    ("shape", "side", "extra", "size"),
    [
        ((1, 3, None, None), 14, 1, 518),
        ((1, 3, None, None), 14, 5, 518),
        ((1, 3, None, None), 16, 1, 512),
        ((1, 3, 224, 224), 14, 1, 224),
        ((None, 3, 224, 224), 16, 0, 224),
        ((1, 3, 448, 224), 14, 1, (448, 224)),
    ],
)
def test_tokens(shape, side, extra, size):
    found = made(file_of(*shape), {"y": tokens(384, side, extra)})
    rows, columns = size if isinstance(size, tuple) else (size, size)
    assert (found.size, found.skipped) == ((rows, columns), extra)
    assert found.grid == (rows // side, columns // side)
    assert (found.layout, found.fit, found.channels) == (Layout.TOKENS, Fit.STRETCH, 384)


@pytest.mark.parametrize("missing", ["mean", "std", "fit"])
def test_a_network_of_an_unknown_kind_is_asked_for(missing):
    given = {name: value for name, value in ALL.items() if name != missing}
    message = refused(file_of(1, 3, 256, 256), {"y": grid(8, 8)}, **given)
    assert message.startswith(f"--{missing}")
    assert "is missing" in message
    assert made(file_of(1, 3, 256, 256), {"y": grid(8, 8)}, **ALL).grid == (32, 32)


def test_any_size_is_asked_for():
    network, outputs = file_of(1, 3, None, None), {"y": grid(8, 8)}
    assert refused(network, outputs, **ALL).startswith("--size N is missing")
    assert made(network, outputs, size=(64, 128), **ALL).grid == (8, 16)


def test_a_size_that_it_does_not_read():
    message = refused(file_of(1, 3, 256, 256), {"y": grid(8, 8)}, size=(64, 64), **ALL)
    assert message == "--size: the network wants 256 x 256 pixels, got 64 x 64."


def test_the_output_that_is_asked_for():
    network, outputs = file_of(1, 3, 256, 256), {"a": grid(8, 8), "b": grid(4, 16)}
    assert refused(network, outputs, **ALL).startswith("--output is missing")
    assert made(network, outputs, output="b", **ALL).channels == 4
    assert "got 'c'" in refused(network, outputs, output="c", **ALL)


def test_channels_last():
    outputs = {"y": lambda *_: (1, 16, 16, 5)}
    found = made(file_of(1, 3, 64, 64), outputs, layout=Layout.CHANNELS_LAST, **ALL)
    assert (found.grid, found.channels) == ((16, 16), 5)


@pytest.mark.parametrize(
    "shape",
    [(1, 3, 64), (2, 3, 64, 64), (1, 1, 64, 64), (1, 64, 64, 3)],
)
def test_a_network_that_reads_no_picture_is_refused(shape):
    assert "wanted one picture" in refused(file_of(*shape), {"y": grid(8, 8)}, **ALL)


def test_a_network_of_other_number_types_is_refused():
    message = refused(file_of(1, 3, 64, 64, is_float=False), {"y": grid(8, 8)}, **ALL)
    assert "not of float32" in message


def test_two_inputs_are_refused():
    network = NetworkFile((Port("a", (1,), True), Port("b", (1,), True)), "0" * 64, 1)
    assert refused(network, {}).startswith("The network has not one input but 2")


@pytest.mark.parametrize("shape", [(1, 1000), (1, 3, 1, 1), (1, 1 << 20, 8, 8), (2, 3, 8, 8), ()])
def test_an_output_without_cells_is_refused(shape):
    message = refused(file_of(1, 3, 64, 64), {"y": lambda *_: shape}, **ALL)
    assert message.startswith("The network gives no grid of cells")


def test_a_picture_that_is_too_large_is_refused():
    assert "at most 4096" in refused(file_of(1, 3, 8192, 8192), {"y": grid(8, 8)}, **ALL)


def test_an_encoder_comes_back_from_json():
    found = made(file_of(1, 3, 256, 256), {"y": grid(8, 8)}, **ALL)
    plain = encoder_to_plain(found)
    plain |= {"size": [256, 256], "grid": [32, 32], "mean": [0, 0, 0], "std": [1, 1, 1]}
    plain["steps"] = [0, 0]
    assert encoder_from_plain(plain) == found


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("std", [0.0, 1.0, 1.0]),
        ("std", [1.0, 1.0]),
        ("grid", [0, 3]),
        ("grid", [1000, 1000]),
        ("size", [10**6, 10]),
        ("digest", "abc"),
        ("fit", "squeeze"),
        ("layout", 3),
        ("channels", 1 << 40),
        ("name", "../x"),
    ],
)
def test_spoilt_json_is_no_encoder(name, value):
    found = made(file_of(1, 3, 256, 256), {"y": grid(8, 8)}, **ALL)
    plain = encoder_to_plain(found)
    plain |= {"size": [256, 256], "grid": [32, 32], "mean": [0, 0, 0], "std": [1, 1, 1]}
    plain["steps"] = [0, 0]
    with pytest.raises(ValueError, match=r"."):
        encoder_from_plain(plain | {name: value})


def test_an_encoder_is_a_value():
    found = made(file_of(1, 3, 256, 256), {"y": grid(8, 8)}, **ALL)
    assert isinstance(found, Encoder)
    assert np.isfinite(found.mean).all()


# Heads --------------------------------------------------------------------------


def test_a_head_is_known_by_what_it_reads(encoder_with_head):
    encoder = encoder_with_head
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


def test_a_network_that_gives_no_numbers_is_not_added(tmp_path):
    path = networks.not_a_number(tmp_path / "a.onnx")
    with pytest.raises(EncoderError, match="values that are no numbers"):
        probe_network("a", path, None, NetworkOptions())


@pytest.mark.parametrize("left_out", ["mask_input", "orig_im_size"])
def test_a_network_that_is_no_mask_decoder_is_refused(tmp_path, left_out):
    other = networks.like_sam_decoder(tmp_path / "other.onnx", without=(left_out,))
    with pytest.raises(EncoderError, match="wanted a mask decoder of the SAM family"):
        head_file(other, networks.facts(other))
    with pytest.raises(EncoderError, match="wanted a mask decoder"):
        head_file(other, networks.facts(networks.pooled(tmp_path / "pooled.onnx")))


@pytest.mark.parametrize("mask", [[1, 1, "rows", "columns"], [16, 16]])
def test_a_mask_of_any_size_is_refused(tmp_path, mask):
    other = networks.like_sam_decoder(tmp_path / "other.onnx", mask=mask)
    with pytest.raises(EncoderError, match="wanted a mask_input of 1x1xROWSxCOLUMNS"):
        head_file(other, networks.facts(other))


def test_a_head_of_another_encoder_is_refused(tmp_path, encoder_with_head, head_paths):
    encoder = replace(encoder_with_head, head=None)
    other = networks.like_sam_decoder(tmp_path / "other.onnx", channels=7)
    file = head_file(other, networks.facts(other))
    with (
        RunningNetwork("It", head_paths[0], encoder.digest, head=file) as running,
        pytest.raises(EncoderError, match="It cannot be used"),
    ):
        running.head_shape(encoder)
    for shape in ((1, 5, 31, 32), (5, 32, 32), (2, 5, 32, 32)):
        with pytest.raises(EncoderError, match="--head: wanted each of 8 x 8 cells"):
            describe_head(file, networks.facts(other), encoder, shape)
    with pytest.raises(EncoderError, match="--head: grid: wanted at most"):
        describe_head(file, networks.facts(other), encoder, (1, 1 << 24, 32, 32))


def test_a_head_of_no_values_cannot_be_made():
    with pytest.raises(ValueError, match="grid"):
        Head("0" * 64, 1, "y", (8, 8), 0)
