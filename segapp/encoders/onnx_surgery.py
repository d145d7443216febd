"""ONNX graph surgery: subgraphs and smaller inputs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from segapp.encoders.onnx_file import (
    INPUT,
    NAME,
    NODE,
    OUTPUT,
    SPARSE_WEIGHTS,
    TENSOR_NAME,
    VALUE_INFO,
    WEIGHTS,
    Node,
    message_field,
    message_fields,
    messages,
    named_output,
    node_of,
    reading,
    texts,
    with_graph,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


# A picture that is not square leaves a part of the network's square empty, and what is computed
# there is lost. Exporters write the rows and columns of a picture into a network as numbers, in
# two places. In shapes, rows come before columns, and in a square the same number stands twice;
# one of them can be left open, and the runtime finds it. Where padding is cut off again, one
# slice reads the other, with the same end. Nothing else is changed. A network that keeps its rows
# or columns elsewhere, in positions for instance, does not run so, and reads whole squares.

if TYPE_CHECKING:
    Shape = list[int | None]

_ATTRIBUTE, _TENSOR = 5, 5  # of a node, of an attribute
_LENGTHS, _KIND, _RAW = 1, 2, 9  # of a tensor
_FLOAT, _INT64 = 1, 7
_MOST_NUMBERS = 16  # of a shape: more are weights
_OPEN = -1
_WINDOWED = 6  # lengths of a shape that cuts cells into windows


def min_step_in_cells(model: bytes) -> int:
    """Return by how many cells at a time a network may read less.

    Some networks look around within windows, which shapes tell: so many windows along each side,
    of so many cells. Where whole windows go, the padding to whole ones stays as it was.
    """
    windows: set[int] = set()

    def look(graph: memoryview) -> bytes:
        parts = _Parts(graph)
        for node in parts.nodes:
            if node.kind == "Reshape" and len(shape := parts.shape(node)) == _WINDOWED:
                windows.update(_twice(shape)[1:])
        return b""

    with_graph(model, look)
    return math.lcm(*windows)


def resize_network(model: bytes, square: int, size: tuple[int, int]) -> bytes:
    """Return a network for ``square`` pixels a side as one for fewer rows, or fewer columns.

    A `ValueError` says which of its numbers would not be whole. Whether it still is the same
    network is found out by running it.
    """
    if max(size) != square:
        raise ValueError(f"wanted a side of {square}, got {size}")
    return with_graph(model, lambda graph: _Narrowing(graph, square, size).graph())


def _twice(shape: Shape) -> list[int]:
    """Return the lengths that stand twice or more in a shape, in their order."""
    lengths = (length for length in dict.fromkeys(shape) if length is not None and length > 1)
    return [length for length in lengths if shape.count(length) > 1]


class _Parts:
    """A graph's operators, the whole numbers that it knows by name, and all else."""

    def __init__(self, graph: memoryview) -> None:
        self.nodes: list[Node] = []
        self.known: dict[str, list[int]] = {}
        self.rest: list[tuple[int, memoryview]] = []
        for number, content in messages(graph):
            if number == NODE:
                node = node_of(content)
                self.nodes.append(node)
                for tensor in _tensors(node):
                    self._know(node.given[0], tensor)
            else:
                self.rest.append((number, content))
                if number == WEIGHTS:
                    self._know("".join(texts(content, TENSOR_NAME)), content)
        self.makers = {name: node for node in self.nodes for name in node.given}

    def _know(self, name: str, tensor: memoryview) -> None:
        values = dict(message_fields(tensor))
        raw = values.get(_RAW)
        if values.get(_KIND) != _INT64 or not isinstance(raw, memoryview):
            return
        if len(raw) <= 8 * _MOST_NUMBERS and len(raw) % 8 == 0:
            self.known[name] = np.frombuffer(raw, "<i8").tolist()

    def shape(self, node: Node) -> Shape:
        """Return what a `Reshape` is to give, with ``None`` for what is computed."""
        name = node.read[1]
        if name in self.known:
            return list(self.known[name])
        maker = self.makers.get(name)
        if maker is None or maker.kind != "Concat":
            return []
        parts = [self.known.get(part, [None]) for part in maker.read]
        return [part[0] for part in parts] if all(len(part) == 1 for part in parts) else []


def _tensors(node: Node) -> Iterator[memoryview]:
    """Yield what a constant is."""
    if node.kind == "Constant" and node.given:
        for number, attribute in messages(node.content):
            if number == _ATTRIBUTE:
                for part, tensor in messages(attribute):
                    if part == _TENSOR:
                        yield tensor


class _Narrowing(_Parts):
    """A graph on its way to another size."""

    def __init__(self, graph: memoryview, square: int, size: tuple[int, int]) -> None:
        super().__init__(graph)
        self._square, self._size = square, size
        self._axis = 0 if size[0] < square else 1
        self._reads: dict[tuple[str, ...], list[str]] = {}  # by what the operators give
        self._added: list[bytes] = []

    def graph(self) -> bytes:
        """Return the graph for that size."""
        for node in self.nodes:
            if node.kind == "Reshape":
                self._leave_open(node)
            elif node.kind == "Slice":
                self._cut_off(node)
        nodes = [
            reading(node, tuple(self._reads[node.given])) if node.given in self._reads else node
            for node in self.nodes
        ]
        return b"".join(
            (
                *(message_field(NODE, node.content) for node in nodes),
                *self._kept(),
                *(message_field(WEIGHTS, tensor) for tensor in self._added),
            )
        )

    def _leave_open(self, node: Node) -> None:
        """Let the runtime find rows, or columns; where nothing tells them, how many in all."""
        shape = self.shape(node)
        if twice := _twice(shape):
            place = [at for at, length in enumerate(shape) if length == twice[0]][self._axis]
            value = self._in_proportion(twice[0]) if _OPEN in shape else _OPEN
        elif None in shape and _OPEN not in shape:
            place, value = 0, _OPEN
        else:
            return
        if node.read[1] in self.known:
            lengths = list(self.known[node.read[1]])
            lengths[place] = value
            self._read(node, 1, lengths)
        else:
            self._read(self.makers[node.read[1]], place, [value])

    def _cut_off(self, node: Node) -> None:
        """Let a pair of slices end earlier, the first at rows, the second at columns."""
        before = self.makers.get(node.read[0])
        if before is None or before.kind != "Slice":
            return
        (ends, axes), (same_ends, next_axes) = (
            [self.known.get(name, []) for name in (*each.read, "", "")[2:4]]
            for each in (before, node)
        )
        is_pair = len(ends) == len(axes) == 1 and ends == same_ends and next_axes == [axes[0] + 1]
        if is_pair and 1 < ends[0] <= self._square:
            target = node if self._axis else before
            self._read(target, 2, [self._in_proportion(ends[0])])

    def _in_proportion(self, length: int) -> int:
        whole, rest = divmod(length * self._size[self._axis], self._square)
        if rest:
            raise ValueError(f"{length} of {self._square} pixels are no whole number of fewer")
        return whole

    def _read(self, node: Node, place: int, values: list[int]) -> None:
        """Let an operator read other numbers, which join the weights."""
        name = f"resized/{len(self._added)}"
        raw = np.array(values, "<i8").tobytes()
        fields = (
            (_LENGTHS, len(values)),
            (_KIND, _INT64),
            (TENSOR_NAME, name.encode()),
            (_RAW, raw),
        )
        self._added.append(b"".join(message_field(number, value) for number, value in fields))
        self._reads.setdefault(node.given, list(node.read))[place] = name

    def _kept(self) -> Iterator[bytes]:
        """Yield all but operators: the picture's size is another, and so are those of outputs."""
        weights = {
            name
            for number, content in self.rest
            if number == WEIGHTS
            for name in texts(content, TENSOR_NAME)
        }
        for number, content in self.rest:
            if number in (INPUT, OUTPUT):
                name = next(texts(content, 1), "")
                if number == OUTPUT:
                    yield named_output(name)
                elif name not in weights:
                    yield message_field(INPUT, _picture(name, self._size))
            elif number != VALUE_INFO:
                yield message_field(number, content)


def _picture(name: str, size: tuple[int, int]) -> bytes:
    """Write an input of one picture."""
    lengths = (message_field(1, message_field(1, length)) for length in (1, 3, *size))
    tensor = message_field(1, _FLOAT) + message_field(2, b"".join(lengths))
    return message_field(1, name.encode()) + message_field(2, message_field(1, tensor))


# A runtime computes all that a network describes, asked for or not; what is not there costs
# nothing.

_ATTRIBUTE_FIELD = 5  # of a node
_SUBGRAPHS = (6, 11)  # of an attribute
_BY_VALUE = frozenset(
    {"Add", "Clip", "Div", "Elu", "Erf", "Exp", "Gelu", "HardSigmoid", "HardSwish", "LeakyRelu"}
    | {"Mul", "Pow", "Relu", "Selu", "Sigmoid", "Softplus", "Sub", "Tanh"}
)
"""Operators that see one place at a time, of which activations are made."""


def extract_subgraph(model: bytes, value: str) -> bytes:
    """Return the network whose only output is a value as its activation leaves it.

    A value of another network, or none, leaves nothing that could be run.
    """
    return with_graph(model, lambda graph: _short_graph(graph, value))


def _short_graph(graph: memoryview, value: str) -> bytes:
    nodes, kept = [], []
    constant: set[str] = set()
    for number, content in messages(graph):
        if number == NODE:
            nodes.append(node_of(content))
        elif number in (NAME, WEIGHTS, SPARSE_WEIGHTS, INPUT):
            kept.append(message_field(number, content))
            if number == WEIGHTS:
                constant.update(texts(content, TENSOR_NAME))
    value = _activated(value, nodes, constant)
    needed, leading = {value}, []
    for node in reversed(nodes):  # a node comes after those that it reads from
        if not needed.isdisjoint(node.given):
            needed |= _all_read(node)
            leading.append(message_field(NODE, node.content))
    return b"".join((*reversed(leading), *kept, named_output(value)))


def _activated(value: str, nodes: list[Node], constant: set[str]) -> str:
    """Follow a value through those operators that read it, constants and nothing else."""
    own = {value}
    for node in nodes:
        if node.kind == "Constant":
            constant.update(node.given)
        elif node.kind in _BY_VALUE and own & (read := _all_read(node)) and read <= own | constant:
            value = node.given[0]
            own.add(value)
    return value


def _all_read(node: Node) -> set[str]:
    return {name for name in (*node.read, *_read_within(node.content)) if name}


def _read_within(node: memoryview) -> Iterator[str]:
    """Yield what the graphs within a node read, some of which comes from around it."""
    for number, attribute in messages(node):
        if number != _ATTRIBUTE_FIELD:
            continue
        for part, graph in messages(attribute):
            if part in _SUBGRAPHS:
                for field, inner in messages(graph):
                    if field == NODE:
                        yield from node_of(inner).read
                        yield from _read_within(inner)
