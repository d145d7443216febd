"""Networks cut short: what leads to one of their values, without the rest.

A runtime computes all that a network describes, asked for or not; what is not there costs nothing.
The numbers of the fields are those of ``onnx.proto``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from segapp.encoders.wire import message_field, message_fields, messages, text

if TYPE_CHECKING:
    from collections.abc import Iterator

_GRAPH = 7  # of a model
_NODE, _NAME, _WEIGHTS, _SPARSE_WEIGHTS, _INPUT, _OUTPUT = 1, 2, 5, 15, 11, 12  # of a graph
_READ, _GIVEN, _KIND, _ATTRIBUTE = 1, 2, 4, 5  # of a node
_SUBGRAPHS = (6, 11)  # of an attribute
_TENSOR_NAME = 8
_BY_VALUE = frozenset(
    {"Add", "Clip", "Div", "Elu", "Erf", "Exp", "Gelu", "HardSigmoid", "HardSwish", "LeakyRelu"}
    | {"Mul", "Pow", "Relu", "Selu", "Sigmoid", "Softplus", "Sub", "Tanh"}
)
"""Operators that see one place at a time, of which activations are made."""


@dataclass(frozen=True, slots=True)
class _Node:
    content: memoryview
    kind: str
    read: frozenset[str]
    given: tuple[str, ...]


def shortened(model: bytes, value: str) -> bytes:
    """Return the network whose only output is a value as its activation leaves it.

    A value of another network, or none, leaves nothing that could be run.
    """
    kept, graph = [], memoryview(b"")
    for number, content in message_fields(memoryview(model)):
        if number == _GRAPH and isinstance(content, memoryview):
            graph = content
        else:
            kept.append(message_field(number, content))
    return b"".join((*kept, message_field(_GRAPH, _short_graph(graph, value))))


def _short_graph(graph: memoryview, value: str) -> bytes:
    nodes, kept = [], []
    constant: set[str] = set()
    for number, content in messages(graph):
        if number == _NODE:
            nodes.append(_node(content))
        elif number in (_NAME, _WEIGHTS, _SPARSE_WEIGHTS, _INPUT):
            kept.append(message_field(number, content))
            if number == _WEIGHTS:
                constant.update(_texts(content, _TENSOR_NAME))
    value = _activated(value, nodes, constant)
    needed, leading = {value}, []
    for node in reversed(nodes):  # a node comes after those that it reads from
        if not needed.isdisjoint(node.given):
            needed |= node.read
            leading.append(message_field(_NODE, node.content))
    output = message_field(_OUTPUT, message_field(1, value.encode()))
    return b"".join((*reversed(leading), *kept, output))


def _activated(value: str, nodes: list[_Node], constant: set[str]) -> str:
    """Follow a value through those operators that read it, constants and nothing else."""
    own = {value}
    for node in nodes:
        if node.kind == "Constant":
            constant.update(node.given)
        elif node.kind in _BY_VALUE and own & node.read and node.read <= own | constant:
            value = node.given[0]
            own.add(value)
    return value


def _node(content: memoryview) -> _Node:
    kinds = tuple(_texts(content, _KIND))
    read = frozenset((*_texts(content, _READ), *_read_within(content)))
    return _Node(content, kinds[0] if kinds else "", read, tuple(_texts(content, _GIVEN)))


def _read_within(node: memoryview) -> Iterator[str]:
    """Yield what the graphs within a node read, some of which comes from around it."""
    for number, attribute in messages(node):
        if number != _ATTRIBUTE:
            continue
        for part, graph in messages(attribute):
            if part in _SUBGRAPHS:
                for field, inner in messages(graph):
                    if field == _NODE:
                        yield from _texts(inner, _READ)
                        yield from _read_within(inner)


def _texts(message: memoryview, wanted: int) -> Iterator[str]:
    for number, content in messages(message):
        if number == wanted and content:
            yield text(content)
