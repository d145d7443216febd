"""Networks cut short: what leads to one of their values, without the rest.

A runtime computes all that a network describes, asked for or not; what is not there costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from segapp.encoders.graph import (
    INPUT,
    NAME,
    NODE,
    SPARSE_WEIGHTS,
    TENSOR_NAME,
    WEIGHTS,
    Node,
    named_output,
    node_of,
    texts,
    with_graph,
)
from segapp.encoders.wire import message_field, messages

if TYPE_CHECKING:
    from collections.abc import Iterator

_ATTRIBUTE = 5  # of a node
_SUBGRAPHS = (6, 11)  # of an attribute
_BY_VALUE = frozenset(
    {"Add", "Clip", "Div", "Elu", "Erf", "Exp", "Gelu", "HardSigmoid", "HardSwish", "LeakyRelu"}
    | {"Mul", "Pow", "Relu", "Selu", "Sigmoid", "Softplus", "Sub", "Tanh"}
)
"""Operators that see one place at a time, of which activations are made."""


def shortened(model: bytes, value: str) -> bytes:
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
        if number != _ATTRIBUTE:
            continue
        for part, graph in messages(attribute):
            if part in _SUBGRAPHS:
                for field, inner in messages(graph):
                    if field == NODE:
                        yield from node_of(inner).read
                        yield from _read_within(inner)
