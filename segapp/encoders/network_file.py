"""What an ONNX file says of itself, read without running it, and what is refused at sight.

The numbers of the fields are those of ``onnx.proto``.
"""

from __future__ import annotations

import hashlib
import mmap
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from segapp.encoders.graph import INPUT, NODE, OUTPUT, SPARSE_WEIGHTS, WEIGHTS
from segapp.encoders.wire import message_fields, messages, text
from segapp.values.wording import quoted, reason, shown

if TYPE_CHECKING:
    from pathlib import Path

LARGEST_FILE = 1 << 30
"""Bytes of a network: the largest that read a picture within minutes on one thread."""
_MOST_NODES, _DEEPEST = 100_000, 16
_STANDARD = frozenset({"", "ai.onnx", "ai.onnx.ml"})
_FLOAT = 1
_GRAPH, _OPSETS, _FUNCTIONS = 7, 8, 25  # of a model
_EXTERNAL = 1


class EncoderError(ValueError):
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
    name = shown(path.name)
    try:
        n_bytes = path.stat().st_size
        if n_bytes > LARGEST_FILE:
            raise EncoderError(
                f"{name} has {n_bytes >> 20} MB: wanted at most {LARGEST_FILE >> 20} MB."
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
            f"{name} needs operators of {quoted(foreign[0])}: wanted those of ONNX alone."
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
