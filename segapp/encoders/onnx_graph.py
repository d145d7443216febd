"""ONNX graphs: inspection, subgraphs and smaller inputs.

The `onnx` package parses a file as a whole, into objects that a hostile file can make much larger
than itself. Only the worker process loads this module, with a limit to its memory and its time.
Nothing here executes a network.
"""

from __future__ import annotations

import hashlib
import math
from itertools import chain, islice
from typing import TYPE_CHECKING

from google.protobuf.message import DecodeError
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

from segapp.encoders.encoder import NetworkFile, Port
from segapp.model.validation import reason, short_repr

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from onnx import SparseTensorProto, ValueInfoProto

    Shape = list[int | None]

_MAX_NODES, _MAX_DEPTH = 100_000, 16
_STANDARD_DOMAINS = frozenset({"", "ai.onnx", "ai.onnx.ml"})


def read_network(content: bytes) -> NetworkFile:
    """Describe a network; a `ValueError` gives the reason why it must not be executed.

    Refused are operators of other domains, whose code could be anything, and weights in other
    files, whose paths could lead anywhere.
    """
    model = _parse(content)
    if not (model.HasField("graph") and model.opset_import):
        raise ValueError("it is no ONNX network: it holds no graph of operators")
    graph = model.graph
    of_all = (graph.node, *(function.node for function in model.functions))
    nodes = list(islice(chain.from_iterable(map(_all_nodes, of_all)), _MAX_NODES + 1))
    if len(nodes) > _MAX_NODES:
        raise ValueError(f"it has more than {_MAX_NODES} operators")
    allowed = _STANDARD_DOMAINS.union(function.domain for function in model.functions)
    if foreign := sorted({node.domain for node in nodes} - allowed):
        raise ValueError(
            f"it needs operators of {short_repr(foreign[0])}: wanted those of ONNX alone"
        )
    graphs = [graph, *(inner for node in nodes for inner in _subgraphs(node))]
    if any(_is_external(tensor) for tensor in _tensors(graphs, nodes)):
        raise ValueError("it keeps its weights in another file: wanted all in the one")
    weights = {tensor.name for tensor in graph.initializer}
    upsampled = [node.output[0] for node in graph.node if node.op_type == "ConvTranspose"]
    return NetworkFile(
        tuple(_port(info) for info in graph.input if info.name not in weights),
        hashlib.sha256(content).hexdigest(),
        len(content),
        upsampled[-1] if upsampled else "",
    )


def _parse(content: bytes) -> ModelProto:
    try:
        return ModelProto.FromString(content)
    except DecodeError as error:
        raise ValueError(f"it is no ONNX network: {reason(error)}") from error


def _all_nodes(nodes: Iterable[NodeProto], depth: int = 0) -> Iterator[NodeProto]:
    """Yield nodes and, after each, those of the graphs in its attributes."""
    if depth > _MAX_DEPTH:
        raise ValueError(f"its graphs are nested deeper than {_MAX_DEPTH}")
    for node in nodes:
        yield node
        for graph in _subgraphs(node):
            yield from _all_nodes(graph.node, depth + 1)


def _subgraphs(node: NodeProto) -> Iterator[GraphProto]:
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def _tensors(graphs: Iterable[GraphProto], nodes: Iterable[NodeProto]) -> Iterator[TensorProto]:
    for graph in graphs:
        yield from graph.initializer
        yield from _of_sparse(graph.sparse_initializer)
    for node in nodes:
        for attribute in node.attribute:
            yield attribute.t
            yield from attribute.tensors
            yield from _of_sparse((attribute.sparse_tensor, *attribute.sparse_tensors))


def _of_sparse(tensors: Iterable[SparseTensorProto]) -> Iterator[TensorProto]:
    for tensor in tensors:
        yield tensor.values
        yield tensor.indices


def _is_external(tensor: TensorProto) -> bool:
    return tensor.data_location == TensorProto.EXTERNAL or bool(tensor.external_data)


def _port(info: ValueInfoProto) -> Port:
    tensor = info.type.tensor_type
    shape = None
    if tensor.HasField("shape"):
        lengths = (dimension.dim_value for dimension in tensor.shape.dim)
        shape = tuple(length if length > 0 else None for length in lengths)
    return Port(info.name, shape, tensor.elem_type == TensorProto.FLOAT)


# An image that is not square leaves a part of the network's square empty, and the work on that
# part is lost. Exporters write the rows and columns of an image into a network as numbers, in two
# places. In shapes, rows come before columns, and for a square input the same number occurs twice;
# one of them can be left open for the runtime to infer. Where padding is cut off again, one slice
# reads the output of another with the same end. Nothing else is changed. A network that keeps its
# rows or columns elsewhere, in positional encodings for instance, fails or gives other features
# then; `segapp.encoders.worker` compares them before a network is resized in earnest.

_OPEN = -1
_MAX_SHAPE_LENGTH = 16  # longer tensors of whole numbers are no shapes
_WINDOWED_RANK = 6  # of a shape that divides cells into windows


def min_step_in_cells(content: bytes) -> int:
    """Return the least number of cells by which the input can be made shorter.

    A network with attention in windows reshapes cells to windows-by-cells along both sides. Only
    whole windows can be left out, so that the padding to whole windows stays as it was.
    """
    graph = _ShapeGraph(_parse(content).graph)
    shapes = [graph.target_shape(node) for node in graph.nodes if node.op_type == "Reshape"]
    windows = {
        length
        for shape in shapes
        if len(shape) == _WINDOWED_RANK
        for length in _repeated_lengths(shape)[1:]
    }
    return math.lcm(*windows)


def resize_network(content: bytes, square: int, size: tuple[int, int]) -> bytes:
    """Return a network for a square as one for fewer rows, or fewer columns.

    A `ValueError` names a number of the graph that would not be whole.
    """
    if max(size) != square:
        raise ValueError(f"wanted a side of {square}, got {size}")
    model = _parse(content)
    graph = model.graph
    for index, (node, position, values) in enumerate(_Resizing(graph, square, size).edits()):
        tensor = helper.make_tensor(f"resized/{index}", TensorProto.INT64, [len(values)], values)
        graph.initializer.append(tensor)
        node.input[position] = tensor.name
    weights = {tensor.name for tensor in graph.initializer}
    inputs = [info.name for info in graph.input if info.name not in weights]
    outputs = [info.name for info in graph.output]
    for field in ("input", "output", "value_info"):  # the shapes in there hold no longer
        graph.ClearField(field)
    for name in inputs:
        shape = (1, 3, *size)
        graph.input.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
    for name in outputs:
        graph.output.add().name = name
    return bytes(model.SerializeToString())


def _repeated_lengths(shape: Shape) -> list[int]:
    """Return the lengths that occur twice or more in a shape, in their order."""
    lengths = (length for length in dict.fromkeys(shape) if length is not None and length > 1)
    return [length for length in lengths if shape.count(length) > 1]


class _ShapeGraph:
    """A graph with its short constants of whole numbers, by name."""

    def __init__(self, graph: GraphProto) -> None:
        self.nodes: list[NodeProto] = list(graph.node)
        self.producers = {name: node for node in self.nodes for name in node.output}
        self.constants: dict[str, list[int]] = {}
        tensors = {tensor.name: tensor for tensor in graph.initializer}
        for node in self.nodes:
            if node.op_type == "Constant" and node.output:
                tensors.update((node.output[0], attribute.t) for attribute in node.attribute)
        for name, tensor in tensors.items():
            if tensor.data_type == TensorProto.INT64 and _n_values(tensor) <= _MAX_SHAPE_LENGTH:
                self.constants[name] = numpy_helper.to_array(tensor).ravel().tolist()

    def target_shape(self, node: NodeProto) -> Shape:
        """Return the shape that a `Reshape` gives, with ``None`` for computed lengths."""
        name = node.input[1]
        if name in self.constants:
            return list(self.constants[name])
        producer = self.producers.get(name)
        if producer is None or producer.op_type != "Concat":
            return []
        lengths = [self.constants.get(each, [None]) for each in producer.input]
        return [each[0] for each in lengths] if all(len(each) == 1 for each in lengths) else []


def _n_values(tensor: TensorProto) -> int:
    return math.prod(tensor.dims)


class _Resizing(_ShapeGraph):
    """The edits that fit a graph to another input size."""

    def __init__(self, graph: GraphProto, square: int, size: tuple[int, int]) -> None:
        super().__init__(graph)
        self._square, self._size = square, size
        self._axis = 0 if size[0] < square else 1

    def edits(self) -> list[tuple[NodeProto, int, list[int]]]:
        """List nodes, positions among their inputs, and the constants to be read there."""
        found = []
        for node in self.nodes:
            if node.op_type == "Reshape":
                found.append(self._open_length(node))
            elif node.op_type == "Slice":
                found.append(self._shorter_slice(node))
        return [edit for edit in found if edit is not None]

    def _open_length(self, node: NodeProto) -> tuple[NodeProto, int, list[int]] | None:
        """Leave rows, or columns, open; without either, the number of windows in all."""
        shape = self.target_shape(node)
        if repeated := _repeated_lengths(shape):
            positions = [at for at, length in enumerate(shape) if length == repeated[0]]
            position = positions[self._axis]
            value = self._in_proportion(repeated[0]) if _OPEN in shape else _OPEN
        elif None in shape and _OPEN not in shape:
            position, value = 0, _OPEN
        else:
            return None
        name = node.input[1]
        if name not in self.constants:
            return self.producers[name], position, [value]
        lengths = list(self.constants[name])
        lengths[position] = value
        return node, 1, lengths

    def _shorter_slice(self, node: NodeProto) -> tuple[NodeProto, int, list[int]] | None:
        """Of a pair of slices, end the one along rows, or that along columns, earlier."""
        before = self.producers.get(node.input[0])
        if before is None or before.op_type != "Slice":
            return None
        (ends, axes), (same_ends, next_axes) = (
            [self.constants.get(name, []) for name in (*each.input, "", "")[2:4]]
            for each in (before, node)
        )
        is_pair = len(ends) == len(axes) == 1 and ends == same_ends and next_axes == [axes[0] + 1]
        if not (is_pair and 1 < ends[0] <= self._square):
            return None
        return (node if self._axis else before), 2, [self._in_proportion(ends[0])]

    def _in_proportion(self, length: int) -> int:
        whole, rest = divmod(length * self._size[self._axis], self._square)
        if rest:
            raise ValueError(f"{length} of {self._square} pixels are no whole number of fewer")
        return whole


_ELEMENTWISE = frozenset(
    {"Add", "Clip", "Div", "Elu", "Erf", "Exp", "Gelu", "HardSigmoid", "HardSwish", "LeakyRelu"}
    | {"Mul", "Pow", "Relu", "Selu", "Sigmoid", "Softplus", "Sub", "Tanh"}
)
"""Operators of which activations are made."""


def extract_subgraph(content: bytes, value: str) -> bytes:
    """Return the network whose only output is a value after its activation.

    The runtime would compute all that a network describes, asked for or not. A name that the
    network does not have leaves a graph that the runtime refuses.
    """
    model = _parse(content)
    graph = model.graph
    value = _activated(value, graph)
    needed, kept = {value}, []
    for node in reversed(graph.node):  # a node comes after those that it reads from
        if not needed.isdisjoint(node.output):
            needed |= _inputs(node)
            kept.append(node)
    for field in ("node", "output", "value_info"):
        graph.ClearField(field)
    graph.node.extend(reversed(kept))
    graph.output.add().name = value
    return bytes(model.SerializeToString())


def _activated(value: str, graph: GraphProto) -> str:
    """Follow a value through element-wise operators of it and constants."""
    own, constants = {value}, {tensor.name for tensor in graph.initializer}
    for node in graph.node:
        inputs = _inputs(node)
        if node.op_type == "Constant":
            constants.update(node.output)
        elif node.op_type in _ELEMENTWISE and own & inputs and inputs <= own | constants:
            value = node.output[0]
            own.add(value)
    return value


def _inputs(node: NodeProto) -> set[str]:
    """Return the names that a node reads, those within its subgraphs among them."""
    return {name for each in _all_nodes([node]) for name in each.input if name}
