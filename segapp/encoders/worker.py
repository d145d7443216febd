"""Worker process for networks: the only place that loads their libraries.

`segapp.encoders.ipc` starts it, and it ends with its parent. A hostile network can use up the time
and the memory that it is given here; nothing but numbers leaves this process.
"""

from __future__ import annotations

import hashlib
import math
import os
import sys
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from segapp.encoders.encoder import Layout
from segapp.encoders.ipc import receive, receive_json, send, send_json
from segapp.encoders.preprocessing import (
    check_output,
    empty_prompt,
    normalise,
    pad_to_square,
    remove_grid_bias,
    to_float16,
    to_grid,
)
from segapp.model.validation import reason

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from onnxruntime import InferenceSession, SessionOptions


_MAX_MEMORY = 8 << 30  # bytes of address space, where the system enforces that
_MAX_PICTURE = 3 * 4096 * 4096
_MAX_SESSIONS = 3  # each holds the weights: of a wide, a tall and another input size
_TILES = 16  # of one colour along each side of a test image
_MAX_DIFFERENCE = 0.25  # of the variance of cells; two unrelated cells differ by twice that


def main() -> None:
    """Answer requests until there are no more."""
    requests, replies = sys.stdin.buffer, _take_standard_output()
    if sys.platform != "win32":
        os.nice(5)
    network: _Network | None = None
    while True:
        try:
            request = receive_json(requests)
        except EOFError:
            return
        try:
            _limit_resources(request["seconds"])
            if request["do"] in _ON_FILES:
                send_json(replies, **_ON_FILES[request["do"]](request))
            elif request["do"] == "load":
                network = _Network(request)
                send_json(replies, loaded=True)
            elif network is None:
                send_json(replies, error="nothing is loaded")
            elif request["do"] == "encode":
                pixels = np.frombuffer(receive(requests, _MAX_PICTURE), np.uint8)
                _send_grids(
                    replies, network.encode(pixels.reshape(*request["picture"], 3), request)
                )
            else:
                send_json(replies, **network.probe(request))
        except Exception as error:  # noqa: BLE001 - the edge of the process: the parent reports it
            send_json(replies, error=reason(error))


def _send_grids(replies: IO[bytes], grids: list[NDArray[np.float16]]) -> None:
    send_json(replies, grids=[grid.shape for grid in grids])
    for grid in grids:
        send(replies, grid.tobytes())


def _take_standard_output() -> IO[bytes]:
    """Keep standard output for replies; prints of libraries are discarded."""
    replies = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    return replies


def _limit_resources(seconds: float) -> None:
    """Bound memory and CPU time, also for the case that the parent process is gone."""
    if sys.platform != "win32":
        import resource

        cpu_seconds = math.ceil(time.process_time() + seconds)
        for kind, limit in (
            (resource.RLIMIT_AS, _MAX_MEMORY),
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_CPU, cpu_seconds),
        ):
            with suppress(OSError, ValueError):
                resource.setrlimit(kind, (limit, resource.getrlimit(kind)[1]))


def _inspect(request: dict[str, Any]) -> dict[str, Any]:
    from segapp.encoders import onnx_graph

    network = onnx_graph.read_network(Path(request["path"]).read_bytes())
    inputs = [(port.name, port.shape, port.is_float) for port in network.inputs]
    return {
        "inputs": inputs,
        "digest": network.digest,
        "n_bytes": network.n_bytes,
        "upsampled": network.upsampled,
    }


def _convert(request: dict[str, Any]) -> dict[str, Any]:
    """Write a network in the runtime's own format as ONNX."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.optimized_model_filepath = request["out"]
    options.add_session_config_entry("session.save_model_format", "ONNX")
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    ort.InferenceSession(_read_file(request), options, providers=["CPUExecutionProvider"])
    return {"converted": True}


_ON_FILES = {"inspect": _inspect, "convert": _convert}
"""Requests that need no loaded network."""


def _read_file(facts: dict[str, Any]) -> bytes:
    """Return a network's file, if it is the one that was inspected."""
    content = Path(facts["path"]).read_bytes()
    if hashlib.sha256(content).hexdigest() != facts["digest"]:
        raise ValueError("its file has changed since it was added")
    return content


@cache
def _options() -> SessionOptions:
    """Configure the runtime: one thread, and one memory arena for all sessions."""
    import onnxruntime as ort

    ort.disable_telemetry_events()
    ort.set_default_logger_severity(4)
    options = ort.SessionOptions()
    # One thread: sums in another order differ in their last bits, and with them a mask.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.use_deterministic_compute = True
    # A memory pattern would be planned after the first run, as a new block for the second.
    options.enable_mem_pattern = False
    options.log_severity_level = 4
    arena = ort.OrtMemoryInfo(
        "Cpu", ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, ort.OrtMemType.DEFAULT
    )
    ort.create_and_register_allocator(arena, None)
    options.add_session_config_entry("session.use_env_allocators", "1")
    return options


def _session(model: bytes) -> InferenceSession:
    import onnxruntime

    return onnxruntime.InferenceSession(model, _options(), providers=["CPUExecutionProvider"])


class _HeadSession:
    """A head's network, run with an empty prompt."""

    def __init__(self, facts: dict[str, Any]) -> None:
        from segapp.encoders import onnx_graph

        self._session = _session(onnx_graph.extract_subgraph(_read_file(facts), facts["output"]))
        shapes = {port.name: port.shape for port in self._session.get_inputs()}
        rows, columns = shapes["mask_input"][2:]
        self._mask_size = int(rows), int(columns)

    def run(self, cells: NDArray[np.float32], size: list[int]) -> NDArray[np.float32]:
        """Return smaller cells, 1 x channels x rows x columns."""
        fine: NDArray[np.float32] = self._session.run(
            None, empty_prompt(cells, size, self._mask_size)
        )[0]
        return fine


class _Network:
    """A loaded network, with its head if it has one, at the input sizes in use."""

    def __init__(self, request: dict[str, Any]) -> None:
        self._facts = request
        self._sessions: dict[tuple[int, int], InferenceSession] = {}
        self._head = _HeadSession(request["head"]) if "head" in request else None

    def probe(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answer a question about the network before it is added."""
        if request["do"] == "head-shape":
            return {"shape": self._head_shape(request["cells"], request["size"])}
        if request["do"] == "steps":
            return {"steps": self._input_steps(request)}
        return {"shapes": self._output_shapes(request["size"])}

    def encode(
        self, pixels: NDArray[np.uint8], request: dict[str, Any]
    ) -> list[NDArray[np.float16]]:
        """Compute features, rows x columns x channels, and those of a head."""
        ready = normalise(pixels, request["input_size"], request["mean"], request["std"])
        outputs, cells = self._cells(ready, request, request["fine"])
        (rows, columns), *fine_grids = request["grids"]
        grids = [to_float16(cells[:rows, :columns])]
        if request["fine"]:
            rows, columns = fine_grids[0]
            grids.append(to_float16(outputs[1][0, :, :rows, :columns].transpose(1, 2, 0)))
        elif self._head is not None and fine_grids:
            output = outputs[0]
            square = pad_to_square(output, request["grid"])
            fine = check_output(self._head.run(square, request["size"]))[0]
            factors = fine.shape[1] // request["grid"][0], fine.shape[2] // request["grid"][1]
            rows, columns = fine_grids[0]
            fine = fine[:, :rows, :columns]
            remove_grid_bias(fine, factors)
            grids.append(to_float16(fine.transpose(1, 2, 0)))
        return grids

    def _run(
        self, ready: NDArray[np.float32], whole: list[int], outputs: list[str] | None = None
    ) -> list[Any]:
        """Run the network on an input of its own size, or on a shorter one."""
        rows, columns = ready.shape[2:]
        session = self._sessions.pop((rows, columns), None)
        if session is None:
            model = _read_file(self._facts)
            if [rows, columns] != whole:
                from segapp.encoders import onnx_graph

                model = onnx_graph.resize_network(model, max(whole), (rows, columns))
            session = _session(model)
        self._sessions[rows, columns] = session  # the newest is the last
        if len(self._sessions) > _MAX_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        results: list[Any] = session.run(outputs, {session.get_inputs()[0].name: ready})
        return results

    def _output_shapes(self, size: list[int]) -> dict[str, list[int]]:
        """Run the network on noise and return the shape of each output of numbers."""
        noise = np.random.default_rng(0).standard_normal((1, 3, *size), np.float32)
        results = self._run(noise, size)
        names = [port.name for port in self._sessions[size[0], size[1]].get_outputs()]
        shapes = {
            name: list(values.shape)
            for name, values in zip(names, results, strict=True)
            if isinstance(values, np.ndarray)
            and (values.dtype.kind != "f" or np.isfinite(values).all())
        }
        if not shapes:
            raise ValueError("it gives values that are no numbers")
        return {name: shapes.get(name, []) for name in names}

    def _input_steps(self, request: dict[str, Any]) -> list[int]:
        """Find by how many rows and columns at a time the input can be shorter; 0 for not."""
        from segapp.encoders import onnx_graph

        whole: list[int] = request["size"]
        side, count = whole[0], request["grid"][0]
        step = side // count * onnx_graph.min_step_in_cells(_read_file(self._facts))
        if side != whole[1] or count != request["grid"][1] or side % count or step >= side:
            return [0, 0]
        return [
            step if self._features_match(request, size) else 0
            for size in ((side - step, side), (side, side - step))
        ]

    def _features_match(self, request: dict[str, Any], size: tuple[int, int]) -> bool:
        """Compare features of a shorter input with those of the whole square."""
        rows, columns = size
        tiles = np.random.default_rng(0).standard_normal((1, 3, _TILES, _TILES), np.float32)
        side = -(-max(request["size"]) // _TILES)
        picture = np.zeros((1, 3, *request["size"]), np.float32)
        visible = tiles.repeat(side, axis=2).repeat(side, axis=3)[:, :, :rows, :columns]
        picture[:, :, :rows, :columns] = visible
        try:
            short = self._cells(visible, request)[1]
        except Exception:  # noqa: BLE001 - any failure means that it cannot be resized
            return False
        whole = self._cells(picture, request)[1][: short.shape[0], : short.shape[1]]
        difference = np.square(short - whole).sum()
        variance = np.square(whole - whole.mean(axis=(0, 1))).sum()
        return bool(difference < _MAX_DIFFERENCE * variance)

    def _cells(
        self, ready: NDArray[np.float32], request: dict[str, Any], further: Sequence[str] = ()
    ) -> tuple[list[NDArray[np.float32]], NDArray[np.floating]]:
        """Return the outputs as they are, and the first as rows x columns x channels."""
        names = [request["output"], *further]
        outputs = [check_output(each) for each in self._run(ready, request["size"], names)]
        grid = [
            length * count // side
            for length, count, side in zip(
                ready.shape[2:], request["grid"], request["size"], strict=True
            )
        ]
        layout = Layout(request["layout"])
        return outputs, to_grid(outputs[0], layout, request["skipped"], grid)

    def _head_shape(self, cells: list[int], size: list[int]) -> list[int]:
        if self._head is None:
            raise ValueError("it has no head")
        return list(check_output(self._head.run(np.zeros(cells, np.float32), size)).shape)


if __name__ == "__main__":
    main()
