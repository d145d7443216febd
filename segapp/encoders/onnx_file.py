"""ONNX files: validation, inputs and outputs, without running them."""

from __future__ import annotations

import hashlib
import mmap
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from segapp.model.validation import SegappError, reason, sanitize, short_repr

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


_VARINT, _LONG, _BYTES, _SHORT = 0, 1, 2, 5
_LONGEST_VARINT = 10  # bytes of a number of 64 bits


def message_fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Yield number and content of each field: a whole number, or bytes that may be a message.

    A `ValueError` says where the bytes are no message.

    >>> list(message_fields(memoryview(bytes([8, 150, 1, 18, 1, 65]))))[0]
    (1, 150)
    """
    place = 0
    while place < len(message):
        key, place = _varint(message, place)
        number, kind = key >> 3, key & 7
        if kind == _VARINT:
            value, place = _varint(message, place)
            yield number, value
            continue
        if kind == _BYTES:
            length, place = _varint(message, place)
        elif kind in (_LONG, _SHORT):
            length = 8 if kind == _LONG else 4
        else:
            raise ValueError(f"byte {place} begins no field")
        if number == 0 or place + length > len(message):
            raise ValueError(f"the field at byte {place} does not end")
        yield number, message[place : place + length]
        place += length


def messages(message: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Yield number and content of each field that holds bytes, among them all messages."""
    for number, value in message_fields(message):
        if isinstance(value, memoryview):
            yield number, value


def text(value: memoryview) -> str:
    """Return what bytes say, with a sign in place of what they cannot say."""
    return bytes(value).decode("utf-8", "replace")


def message_field(number: int, content: int | bytes | memoryview) -> bytes:
    """Write a field that holds a whole number, bytes, or a message.

    >>> message_field(2, b"A") == bytes([18, 1, 65])
    True
    >>> message_field(1, 150) == bytes([8, 150, 1])
    True
    """
    if isinstance(content, int):
        return _written(number << 3 | _VARINT) + _written(content)
    return b"".join((_written(number << 3 | _BYTES), _written(len(content)), content))


def _written(value: int) -> bytes:
    written = bytearray()
    while value >= 0x80:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*written, value))


def _varint(message: memoryview, place: int) -> tuple[int, int]:
    value = 0
    for count in range(_LONGEST_VARINT):
        if place >= len(message):
            break
        byte = message[place]
        place += 1
        value |= (byte & 0x7F) << (7 * count)
        if byte < 0x80:
            return value, place
    raise ValueError(f"the number at byte {place} does not end")


# The numbers of the fields are those of ``onnx.proto``.

NODE, NAME, WEIGHTS, INPUT, OUTPUT, VALUE_INFO, SPARSE_WEIGHTS = 1, 2, 5, 11, 12, 13, 15
"""Of a graph."""
TENSOR_NAME = 8
_GRAPH_FIELD = 7  # of a model
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
        if number == _GRAPH_FIELD and isinstance(content, memoryview):
            graph = content
        else:
            kept.append(message_field(number, content))
    return b"".join((*kept, message_field(_GRAPH_FIELD, changed(graph))))


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


# The numbers of the fields are those of ``onnx.proto``.

MAX_FILE_BYTES = 1 << 30
"""Bytes of a network: the largest that read a picture within minutes on one thread."""
_MOST_NODES, _DEEPEST = 100_000, 16
_STANDARD = frozenset({"", "ai.onnx", "ai.onnx.ml"})
_FLOAT = 1
_GRAPH, _OPSETS, _FUNCTIONS = 7, 8, 25  # of a model
_EXTERNAL = 1


class EncoderError(SegappError):
    """A network cannot be used; the message is one sentence that says why."""


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output; lengths that are left open are ``None``, and so may be all."""

    name: str
    shape: tuple[int | None, ...] | None
    is_float: bool


@dataclass(frozen=True, slots=True)
class NetworkFile:
    """What is known of a network before it runs.

    ``widened`` names what comes out of its transposed convolutions, which make cells smaller.
    """

    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    digest: str
    n_bytes: int
    widened: tuple[str, ...] = ()


@dataclass(slots=True)
class _Seen:
    """What a walk through the file has come by."""

    domains: set[str] = field(default_factory=set)
    nodes: int = 0
    widened: list[str] = field(default_factory=list)


def read_network(path: Path) -> NetworkFile:
    """Read a file's inputs and outputs; `EncoderError` says why it is none to be run."""
    name = sanitize(path.name)
    try:
        n_bytes = path.stat().st_size
        if n_bytes > MAX_FILE_BYTES:
            raise EncoderError(
                f"{name} has {n_bytes >> 20} MB: wanted at most {MAX_FILE_BYTES >> 20} MB."
            )
        if n_bytes == 0:
            raise EncoderError(f"{name} is no ONNX network: it is empty.")
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            try:
                inputs, outputs, widened = _read(memoryview(mapped), name)
            except EncoderError:
                raise
            except ValueError as error:
                raise EncoderError(f"{name} is no ONNX network: {reason(error)}.") from error
            file.seek(0)
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise EncoderError(f"{name} cannot be read: {error.strerror or error}.") from error
    return NetworkFile(inputs, outputs, digest, n_bytes, widened)


def _read(
    model: memoryview, name: str
) -> tuple[tuple[Port, ...], tuple[Port, ...], tuple[str, ...]]:
    parts = list(messages(model))
    graphs = [value for number, value in parts if number == _GRAPH]
    if len(graphs) != 1 or not any(number == _OPSETS for number, _ in parts):
        raise ValueError("it holds no graph of operators")
    seen = _Seen()
    inputs, outputs = _walk_graph(graphs[0], seen, 0)
    own = {_walk_function(value, seen) for number, value in parts if number == _FUNCTIONS}
    if foreign := sorted(seen.domains - _STANDARD - own):
        raise EncoderError(
            f"{name} needs operators of {short_repr(foreign[0])}: wanted those of ONNX alone."
        )
    return inputs, outputs, tuple(seen.widened)


def _walk_function(function: memoryview, seen: _Seen) -> str:
    """Look at the operators of a function that the file defines; return its domain."""
    domain = ""
    for number, value in messages(function):
        if number == 7:
            _walk_node(value, seen, 0)
        elif number == 10:
            domain = text(value)
    return domain


def _walk_graph(
    graph: memoryview, seen: _Seen, depth: int
) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
    """Look at all operators and weights; return inputs, without weights, and outputs."""
    if depth > _DEEPEST:
        raise EncoderError(f"The network's graphs are nested deeper than {_DEEPEST}.")
    inputs, outputs, weights = [], [], set()
    for number, value in messages(graph):
        if number == NODE:
            _walk_node(value, seen, depth)
        elif number == WEIGHTS:
            weights.add(_check_tensor(value))
        elif number == INPUT:
            inputs.append(_port(value))
        elif number == OUTPUT:
            outputs.append(_port(value))
        elif number == SPARSE_WEIGHTS:
            _check_sparse(value)
    return tuple(port for port in inputs if port.name not in weights), tuple(outputs)


def _walk_node(node: memoryview, seen: _Seen, depth: int) -> None:
    seen.nodes += 1
    if seen.nodes > _MOST_NODES:
        raise EncoderError(f"The network has more than {_MOST_NODES} operators.")
    domain = kind = output = ""
    for number, value in messages(node):
        if number == 2:
            output = output or text(value)
        elif number == 4:
            kind = text(value)
        elif number == 7:
            domain = text(value)
        elif number == 5:
            _walk_attribute(value, seen, depth)
    seen.domains.add(domain)
    if kind == "ConvTranspose" and not depth:
        seen.widened.append(output)


def _walk_attribute(attribute: memoryview, seen: _Seen, depth: int) -> None:
    for number, content in messages(attribute):
        if number in (5, 10):
            _check_tensor(content)
        elif number in (6, 11):
            _walk_graph(content, seen, depth + 1)
        elif number in (22, 23):
            _check_sparse(content)


def _check_sparse(tensor: memoryview) -> None:
    for number, value in messages(tensor):
        if number in (1, 2):
            _check_tensor(value)


def _check_tensor(tensor: memoryview) -> str:
    """Return a tensor's name; refuse one whose numbers are in another file."""
    name = ""
    for number, value in message_fields(tensor):
        if number == 13 or (number == 14 and value == _EXTERNAL):
            raise EncoderError(
                "The network keeps its weights in another file: wanted all in the one."
            )
        if number == 8 and isinstance(value, memoryview):
            name = text(value)
    return name


def _port(info: memoryview) -> Port:
    name, shape, kind = "", None, 0
    for number, value in messages(info):
        if number == 1:
            name = text(value)
        elif number == 2:
            for part, tensor in messages(value):
                if part == 1:
                    kind, shape = _tensor_type(tensor)
    return Port(name, shape, kind == _FLOAT)


def _tensor_type(tensor: memoryview) -> tuple[int, tuple[int | None, ...] | None]:
    kind, shape = 0, None
    for number, value in message_fields(tensor):
        if number == 1 and isinstance(value, int):
            kind = value
        elif number == 2 and isinstance(value, memoryview):
            shape = tuple(_length(part) for number, part in messages(value) if number == 1)
    return kind, shape


def _length(dimension: memoryview) -> int | None:
    for number, value in message_fields(dimension):
        if number == 1 and isinstance(value, int) and 0 < value < 1 << 63:
            return value
    return None
