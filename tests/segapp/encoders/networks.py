"""Small networks with known outputs."""

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from segapp.encoders.encoder import Encoder, Fit, Layout
from segapp.encoders.onnx_graph import read_network

_OPSET = [helper.make_opsetid("", 17)]


POOLED = Encoder(
    name="pooled",
    digest="0" * 64,
    n_bytes=1,
    input="x",
    output="y",
    size=(32, 32),
    mean=(10.0, 20.0, 30.0),
    std=(2.0, 4.0, 5.0),
    fit=Fit.PAD,
    layout=Layout.CHANNELS_FIRST,
    skipped=0,
    grid=(8, 8),
    channels=3,
)
"""Describes `pooled`, but for its digest."""


def facts(path):
    """Return the facts of a file, read in this process."""
    return read_network(path.read_bytes())


def save(path, nodes, inputs, outputs, weights=(), opset=_OPSET, functions=()):
    """Write a network of float32; shapes may hold names for what is open."""
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs],
        [numpy_helper.from_array(values, name) for name, values in weights],
    )
    model = helper.make_model(graph, opset_imports=list(opset), functions=list(functions))
    model.ir_version = 9
    onnx.save(model, path)
    return path


def run(model, picture, outputs=None):
    """Return what a network gives, straight from the runtime."""
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    return session.run(outputs, {"x": picture})


def pooled(path, size=32, side=4, batch=1):
    """Each cell is the mean colour of its pixels: 3 channels."""
    node = helper.make_node(
        "AveragePool", ["x"], ["y"], kernel_shape=[side, side], strides=[side, side]
    )
    cells = size // side if isinstance(size, int) else "cells"
    return save(path, [node], [("x", [batch, 3, size, size])], [("y", [batch, 3, cells, cells])])


def like_sam(path):
    """1024 x 1024 pixels become 256 channels of 64 x 64 cells."""
    rng = np.random.default_rng(0)
    nodes = [
        helper.make_node("AveragePool", ["x"], ["p"], kernel_shape=[16, 16], strides=[16, 16]),
        helper.make_node("Conv", ["p", "w"], ["y"]),
    ]
    weights = [("w", rng.standard_normal((256, 3, 1, 1)).astype(np.float32))]
    return save(path, nodes, [("x", ["n", 3, 1024, 1024])], [("y", [1, 256, 64, 64])], weights)


def like_sam_2(path):
    """Like a SAM network, with 32 channels of 256 x 256 cells beside them."""
    rng = np.random.default_rng(2)
    pooled = {
        name: helper.make_node("AveragePool", ["x"], [name], kernel_shape=[n, n], strides=[n, n])
        for name, n in (("p", 16), ("q", 4))
    }
    convolved = [
        helper.make_node("Conv", ["q", "v"], ["fine"]),
        helper.make_node("Conv", ["p", "w"], ["y"]),
    ]
    weights = [
        (name, rng.standard_normal((channels, 3, 1, 1)).astype(np.float32))
        for name, channels in (("v", 32), ("w", 256))
    ]
    outputs = [("fine", [1, 32, 256, 256]), ("y", [1, 256, 64, 64])]
    return save(
        path, [*pooled.values(), *convolved], [("x", [1, 3, 1024, 1024])], outputs, weights
    )


def like_dino(path, size="side", patch=14, extra=1, channels=5):
    """A token for each patch, after some that are none."""
    rng = np.random.default_rng(1)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], strides=[patch, patch]),
        helper.make_node("Reshape", ["c", "shape"], ["r"]),
        helper.make_node("Transpose", ["r"], ["t"], perm=[0, 2, 1]),
        helper.make_node("Concat", ["first", "t"], ["y"], axis=1),
    ]
    weights = [
        ("w", rng.standard_normal((channels, 3, patch, patch)).astype(np.float32)),
        ("shape", np.array([1, channels, -1], np.int64)),
        ("first", np.full((1, extra, channels), 9, np.float32)),
    ]
    if not extra:
        nodes[-2] = helper.make_node("Transpose", ["r"], ["y"], perm=[0, 2, 1])
        nodes.pop()
    return save(path, nodes, [("x", [1, 3, size, size])], [("y", [1, "n", channels])], weights)


SIDE = 44
"""Of the input of `windowed`: 11 cells, padded to 12, in 4 windows."""


def windowed(path, side=SIDE, channels=3):
    """Each cell less the mean of its window, as exporters write it for one size of pictures.

    Cells of 4 pixels, in windows of 3, padded by one cell with zeros.
    """
    count = side // 4
    windows = (count + 1) // 3
    nodes = [
        helper.make_node("AveragePool", ["x"], ["p"], kernel_shape=[4, 4], strides=[4, 4]),
        helper.make_node("Transpose", ["p"], ["t"], perm=[0, 2, 3, 1]),
        helper.make_node("Shape", ["t"], ["lengths"]),
        helper.make_node("Gather", ["lengths", "first"], ["n"]),
        helper.make_node("Unsqueeze", ["n", "axis"], ["n1"]),
        helper.make_node("Pad", ["t", "pads"], ["padded"]),
        helper.make_node(
            "Concat", ["n1", "windows", "three", "windows", "three", "c"], ["s"], axis=0
        ),
        helper.make_node("Reshape", ["padded", "s"], ["w"]),
        helper.make_node("Transpose", ["w"], ["wt"], perm=[0, 1, 3, 2, 4, 5]),
        helper.make_node("Mul", ["n", "all"], ["many"]),
        helper.make_node("Unsqueeze", ["many", "axis"], ["many1"]),
        helper.make_node("Concat", ["many1", "nine", "c"], ["s2"], axis=0),
        helper.make_node("Reshape", ["wt", "s2"], ["flat"]),
        helper.make_node("ReduceMean", ["flat"], ["mean"], axes=[1], keepdims=1),
        helper.make_node("Sub", ["flat", "mean"], ["less"]),
        helper.make_node("Reshape", ["less", "s3"], ["lw"]),
        helper.make_node("Transpose", ["lw"], ["lt"], perm=[0, 1, 3, 2, 4, 5]),
        helper.make_node("Concat", ["n1", "padded_count", "padded_count", "c"], ["s4"], axis=0),
        helper.make_node("Reshape", ["lt", "s4"], ["back"]),
        helper.make_node("Slice", ["back", "zero", "count", "one"], ["rows"]),
        helper.make_node("Slice", ["rows", "zero", "count", "two"], ["cut"]),
        helper.make_node("Slice", ["cut", "zero", "end", "one"], ["same_rows"]),
        helper.make_node("Slice", ["same_rows", "zero", "end", "two"], ["same"]),
        helper.make_node("Reshape", ["same", "s5"], ["again"]),
        helper.make_node("Transpose", ["again"], ["y"], perm=[0, 3, 1, 2]),
    ]
    numbers = {
        "first": 0,
        "axis": [0],
        "pads": [0, 0, 0, 0, 0, 1, 1, 0],
        "windows": [windows],
        "three": [3],
        "c": [channels],
        "all": windows**2,
        "nine": [9],
        "s3": [1, windows, windows, 3, 3, channels],
        "padded_count": [count + 1],
        "zero": [0],
        "count": [count],
        "one": [1],
        "two": [2],
        "end": [2**63 - 1],
        "s5": [1, count, count, -1],
    }
    return save(
        path,
        nodes,
        [("x", [1, channels, side, side])],
        [("y", [1, channels, count, count])],
        [(name, np.array(values, np.int64)) for name, values in numbers.items()],
    )


def minus_window_mean(cells):
    """Return the closed form of `windowed`: rows x columns x channels."""
    rows, columns, channels = cells.shape
    padded = np.pad(cells, ((0, 1), (0, 1), (0, 0)))
    windows = padded.reshape((rows + 1) // 3, 3, (columns + 1) // 3, 3, channels)
    less = windows - windows.mean(axis=(1, 3), keepdims=True)
    return less.reshape(padded.shape)[:rows, :columns]


def endless(path):
    """Counts to the largest number that there is before it gives anything."""
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["go"], ["go_on"]),
            helper.make_node("Add", ["sum", "one"], ["more"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            helper.make_tensor_value_info("sum", TensorProto.FLOAT, None),
        ],
        [
            helper.make_tensor_value_info("go_on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("more", TensorProto.FLOAT, None),
        ],
    )
    nodes = [
        helper.make_node("AveragePool", ["x"], ["p"], kernel_shape=[4, 4], strides=[4, 4]),
        helper.make_node("Loop", ["times", "yes", "p"], ["y"], body=body),
    ]
    weights = [
        ("times", np.array(2**62, np.int64)),
        ("yes", np.array(True)),
        ("one", np.array(1, np.float32)),
    ]
    return save(path, nodes, [("x", [1, 3, 32, 32])], [("y", [1, 3, 8, 8])], weights)


def huge(path, values):
    """Gives so many values, whatever it reads."""
    nodes = [
        helper.make_node("ReduceMean", ["x"], ["m"], keepdims=1),
        helper.make_node("Expand", ["m", "shape"], ["y"]),
    ]
    weights = [("shape", np.array([1, values, 8, 8], np.int64))]
    return save(path, nodes, [("x", [1, 3, 32, 32])], [("y", [1, values, 8, 8])], weights)


def not_a_number(path):
    """Divides by the picture less itself."""
    nodes = [
        helper.make_node("AveragePool", ["x"], ["p"], kernel_shape=[4, 4], strides=[4, 4]),
        helper.make_node("Sub", ["p", "p"], ["zero"]),
        helper.make_node("Div", ["p", "zero"], ["y"]),
    ]
    return save(path, nodes, [("x", [1, 3, 32, 32])], [("y", [1, 3, 8, 8])])


ASKED_FOR = {
    "point_coords": [1, "points", 2],
    "point_labels": [1, "points"],
    "mask_input": [1, 1, 16, 16],
    "has_mask_input": [1],
    "orig_im_size": [2],
}


GELU = [("root", np.array(np.sqrt(2), np.float32)), ("half", np.array(0.5, np.float32))]


def gelu(value, result):
    """Return the nodes that exporters write for GELU; they read the weights `GELU`."""
    one = helper.make_tensor("one", TensorProto.FLOAT, [], [1.0])
    return [
        helper.make_node("Div", [value, "root"], [f"{value}/root"]),
        helper.make_node("Erf", [f"{value}/root"], [f"{value}/erf"]),
        helper.make_node("Constant", [], [f"{value}/one"], value=one),
        helper.make_node("Add", [f"{value}/erf", f"{value}/one"], [f"{value}/more"]),
        helper.make_node("Mul", [value, f"{value}/more"], [f"{value}/twice"]),
        helper.make_node("Mul", [f"{value}/twice", "half"], [result]),
    ]


def like_sam_decoder(path, channels=3, grid=(8, 8), out=5, side=4, without=(), mask=None):
    """Makes each cell ``side`` times smaller, by weights that `widening` knows."""
    nodes = [
        helper.make_node(
            "ConvTranspose", ["image_embeddings", "w"], ["inner"], strides=[side, side]
        ),
        *gelu("inner", "activated"),
        helper.make_node("ReduceMean", ["activated"], ["masks"], keepdims=1),
    ]
    inputs = [("image_embeddings", [1, channels, *grid])]
    asked_for = ASKED_FOR | ({} if mask is None else {"mask_input": mask})
    inputs += [(name, shape) for name, shape in asked_for.items() if name not in without]
    weights = [("w", widening(channels, out, side)), *GELU]
    return save(path, nodes, inputs, [("masks", [1, 1, 1, 1])], weights)


def widening(channels=3, out=5, side=4):
    """Channels x smaller cells' channels x rows x columns."""
    rng = np.random.default_rng(2)
    return rng.standard_normal((channels, out, side, side)).astype(np.float32)


def positioned(path):
    """Adds to each cell what belongs to its place."""
    nodes = [
        helper.make_node("AveragePool", ["x"], ["p"], kernel_shape=[4, 4], strides=[4, 4]),
        helper.make_node("Add", ["p", "places"], ["y"]),
    ]
    places = np.random.default_rng(3).normal(size=(1, 3, 8, 8)).astype(np.float32)
    ports = [("x", [1, 3, 32, 32])], [("y", [1, 3, 8, 8])]
    return save(path, nodes, *ports, [("places", places)])


def scrambled(path):
    """Takes all channels of all cells in a row for channels of one: runs at any size."""
    nodes = [
        helper.make_node("AveragePool", ["x"], ["p"], kernel_shape=[4, 4], strides=[4, 4]),
        helper.make_node("Reshape", ["p", "shape"], ["r"]),
        helper.make_node("Transpose", ["r"], ["y"], perm=[0, 3, 1, 2]),
    ]
    ports = [("x", [1, 3, 32, 32])], [("y", [1, 3, 8, 8])]
    return save(path, nodes, *ports, [("shape", np.array([1, 8, 8, -1], np.int64))])
