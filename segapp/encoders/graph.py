"""The graph of an ONNX network, taken apart and put together again without a copy of its weights.

The numbers of the fields are those of ``onnx.proto``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from segapp.encoders.wire import message_field, message_fields, messages, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NODE, NAME, WEIGHTS, INPUT, OUTPUT, VALUE_INFO, SPARSE_WEIGHTS = 1, 2, 5, 11, 12, 13, 15
"""Of a graph."""
TENSOR_NAME = 8
_GRAPH = 7  # of a model
_READ, _GIVEN, _KIND = 1, 2, 4  # of a node


@dataclass(frozen=True, slots=True)
class Node:
    """An operator: its kind, what it reads and what it gives, by name."""

    content: memoryview
    kind: str
    read: tuple[str, ...]
    given: tuple[str, ...]


def with_graph(model: bytes, changed: Callable[[memoryview], bytes]) -> bytes:
    """Return a network with its graph as ``changed`` makes it."""
    kept, graph = [], memoryview(b"")
    for number, content in message_fields(memoryview(model)):
        if number == _GRAPH and isinstance(content, memoryview):
            graph = content
        else:
            kept.append(message_field(number, content))
    return b"".join((*kept, message_field(_GRAPH, changed(graph))))


def node_of(content: memoryview) -> Node:
    """Read an operator."""
    read, given, kind = [], [], ""
    for number, value in messages(content):
        if number == _READ:
            read.append(text(value))  # nothing where an input is left out
        elif number == _GIVEN:
            given.append(text(value))
        elif number == _KIND:
            kind = text(value)
    return Node(content, kind, tuple(read), tuple(given))


def reading(node: Node, read: tuple[str, ...]) -> Node:
    """Return an operator that reads something else."""
    rest = (
        message_field(number, value)
        for number, value in message_fields(node.content)
        if number != _READ
    )
    content = b"".join((*(message_field(_READ, name.encode()) for name in read), *rest))
    return Node(memoryview(content), node.kind, read, node.given)


def named_output(name: str) -> bytes:
    """Write an output of which nothing is said but its name."""
    return message_field(OUTPUT, message_field(1, name.encode()))


def texts(message: memoryview, wanted: int) -> Iterator[str]:
    """Yield what is said in the fields of a number."""
    for number, content in messages(message):
        if number == wanted and content:
            yield text(content)
