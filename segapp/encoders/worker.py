"""The process in which a network runs: the only place that loads its runtime.

It is started by `segapp.encoders.runner` and ends with it. What a hostile network could do here,
beyond using up the time and the memory it is given, stays in here: all that leaves are numbers.
"""

from __future__ import annotations

import hashlib
import math
import os
import sys
import time
from contextlib import suppress
from functools import cache
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from segapp.encoders.encoder import Layout
from segapp.encoders.onnx_surgery import extract_subgraph, min_step_in_cells, resize_network
from segapp.encoders.preprocessing import checked, in_grid, pad_to_square, to_float16
from segapp.encoders.runner import receive, receive_plain, send, send_plain
from segapp.encoders.signatures import empty_prompt, remove_grid_bias
from segapp.model.validation import reason

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession, SessionOptions


_MOST_MEMORY = 8 << 30  # bytes that it may ask for, where the system counts them
_LARGEST_PICTURE = 3 * 4096 * 4096
_MOST_SESSIONS = 3  # each has the weights: of a wide, a tall and another picture
_TILES = 16  # of one colour along each side of a picture to try
_MOST_APART = 0.25  # of the variance of cells, in which any two are apart by twice that


def main() -> None:
    """Answer requests until there are no more."""
    requests, replies = sys.stdin.buffer, _own_output()
    if sys.platform != "win32":
        os.nice(5)
    network: _Network | None = None
    while True:
        try:
            asked = receive_plain(requests)
        except EOFError:
            return
        try:
            _limit(asked["seconds"])
            if asked["do"] == "load":
                network = _Network(asked)
                send_plain(replies, loaded=True)
            elif network is None:
                send_plain(replies, error="nothing is loaded")
            elif asked["do"] != "encode":
                send_plain(replies, **network.tried(asked))
            else:
                picture = receive(requests, _LARGEST_PICTURE)
                grids = network.grids(np.frombuffer(picture, np.uint8), asked)
                send_plain(replies, grids=[grid.shape for grid in grids])
                for grid in grids:
                    send(replies, grid.tobytes())
        except Exception as error:  # noqa: BLE001 - the process's edge: told to who asked
            send_plain(replies, error=reason(error))


def _own_output() -> IO[bytes]:
    """Keep standard output for replies; whatever libraries print goes nowhere."""
    replies = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    return replies


def _limit(seconds: float) -> None:
    """Leave the machine to those in front of it, and end whatever happens to who started it."""
    if sys.platform != "win32":
        import resource

        used = math.ceil(time.process_time() + seconds)
        for kind, most in (
            (resource.RLIMIT_AS, _MOST_MEMORY),
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_CPU, used),
        ):
            with suppress(OSError, ValueError):
                resource.setrlimit(kind, (most, resource.getrlimit(kind)[1]))


def _model(told: dict[str, Any]) -> bytes:
    with open(told["path"], "rb") as file:
        model = file.read()
    if hashlib.sha256(model).hexdigest() != told["digest"]:
        raise ValueError("its file has changed since it was added")
    return model


@cache
def _options() -> SessionOptions:
    """Prepare the runtime: one thread, and one memory for all networks."""
    import onnxruntime as ort

    ort.disable_telemetry_events()
    ort.set_default_logger_severity(4)
    options = ort.SessionOptions()
    # One thread: sums in another order differ in their last bits, and with them a mask.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.use_deterministic_compute = True
    # Memory in one block, as planned after the first picture, is new memory for the second.
    options.enable_mem_pattern = False
    options.log_severity_level = 4
    shared = ort.OrtMemoryInfo(
        "Cpu", ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, ort.OrtMemType.DEFAULT
    )
    ort.create_and_register_allocator(shared, None)
    options.add_session_config_entry("session.use_env_allocators", "1")
    return options


def _session(model: bytes) -> InferenceSession:
    import onnxruntime

    return onnxruntime.InferenceSession(model, _options(), providers=["CPUExecutionProvider"])


class _Head:
    """What goes on from a network's cells, asked for no object."""

    def __init__(self, told: dict[str, Any]) -> None:
        self._session = _session(extract_subgraph(_model(told), told["output"]))
        ports = {port.name: port.shape for port in self._session.get_inputs()}
        rows, columns = ports["mask_input"][2:]
        self._mask = int(rows), int(columns)

    def of(self, cells: NDArray[np.float32], size: list[int]) -> NDArray[np.float32]:
        """Return its smaller cells, 1 x channels x rows x columns."""
        fine: NDArray[np.float32] = self._session.run(None, empty_prompt(cells, size, self._mask))[
            0
        ]
        return fine


class _Network:
    """A network that is ready to read pictures, and maybe its head."""

    def __init__(self, asked: dict[str, Any]) -> None:
        self._told = asked
        self._sessions: dict[tuple[int, int], InferenceSession] = {}
        self._head = _Head(asked["head"]) if "head" in asked else None

    def _run(
        self, ready: NDArray[np.float32], whole: list[int], outputs: list[str] | None = None
    ) -> list[Any]:
        """Read a picture of the network's size, or a narrower one."""
        rows, columns = ready.shape[2:]
        session = self._sessions.pop((rows, columns), None)
        if session is None:
            model = _model(self._told)
            if [rows, columns] != whole:
                model = resize_network(model, max(whole), (rows, columns))
            session = _session(model)
        self._sessions[rows, columns] = session  # the newest is the last
        if len(self._sessions) > _MOST_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        found: list[Any] = session.run(outputs, {session.get_inputs()[0].name: ready})
        return found

    def tried(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Answer what is asked of a network before it is kept."""
        if asked["do"] == "try-head":
            return {"shape": self.head_shape(asked["cells"], asked["size"])}
        if asked["do"] == "try-less":
            return {"steps": self.steps(asked)}
        return {"shapes": self.shapes(asked["size"])}

    def shapes(self, size: list[int]) -> dict[str, list[int]]:
        """Read a black picture and tell the shape of each output."""
        found = self._run(np.zeros((1, 3, *size), np.float32), size)
        names = [port.name for port in self._sessions[size[0], size[1]].get_outputs()]
        return {
            name: list(values.shape) if isinstance(values, np.ndarray) else []
            for name, values in zip(names, found, strict=True)
        }

    def steps(self, asked: dict[str, Any]) -> list[int]:
        """Find by how many rows and columns at a time it can read less, 0 for not at all."""
        whole: list[int] = asked["size"]
        side, count = whole[0], asked["grid"][0]
        step = side // count * min_step_in_cells(_model(self._told))
        if side != whole[1] or count != asked["grid"][1] or side % count or step >= side:
            return [0, 0]
        return [
            step if self._features_match(asked, size) else 0
            for size in ((side - step, side), (side, side - step))
        ]

    def _features_match(self, asked: dict[str, Any], size: tuple[int, int]) -> bool:
        """Try whether it sees in a narrower picture what it sees in that one within its square."""
        rows, columns = size
        tiles = np.random.default_rng(0).standard_normal((1, 3, _TILES, _TILES), np.float32)
        side = -(-max(asked["size"]) // _TILES)
        picture = np.zeros((1, 3, *asked["size"]), np.float32)
        shown = tiles.repeat(side, axis=2).repeat(side, axis=3)[:, :, :rows, :columns]
        picture[:, :, :rows, :columns] = shown
        try:
            narrow = self._cells(shown, asked)[1]
        except Exception:  # noqa: BLE001 - whatever the runtime has against it, it reads squares
            return False
        whole = self._cells(picture, asked)[1][: narrow.shape[0], : narrow.shape[1]]
        apart = np.square(narrow - whole).sum()
        return bool(apart < _MOST_APART * np.square(whole - whole.mean(axis=(0, 1))).sum())

    def _cells(
        self, ready: NDArray[np.float32], asked: dict[str, Any]
    ) -> tuple[NDArray[np.float32], NDArray[np.floating]]:
        """Return what the network gives, as it is, and as rows x columns x channels."""
        found = checked(self._run(ready, asked["size"], [asked["output"]])[0])
        grid = [
            length * count // side
            for length, count, side in zip(
                ready.shape[2:], asked["grid"], asked["size"], strict=True
            )
        ]
        return found, in_grid(found, Layout(asked["layout"]), asked["skipped"], grid)

    def head_shape(self, cells: list[int], size: list[int]) -> list[int]:
        """Tell the shape of what the head gives."""
        if self._head is None:
            raise ValueError("it has no head")
        return list(self._head.of(np.zeros(cells, np.float32), size).shape)

    def grids(self, pixels: NDArray[np.uint8], asked: dict[str, Any]) -> list[NDArray[np.float16]]:
        """Read a picture: rows x columns x channels, then in smaller cells if there is a head."""
        ready = _ready(pixels.reshape(*asked["picture"], 3), asked)
        found, cells = self._cells(ready, asked)
        (rows, columns), *smaller = asked["parts"]
        grids = [to_float16(cells[:rows, :columns])]
        if self._head is not None and smaller:
            fine = checked(self._head.of(pad_to_square(found, asked["grid"]), asked["size"]))[0]
            times = fine.shape[1] // asked["grid"][0], fine.shape[2] // asked["grid"][1]
            rows, columns = smaller[0]
            fine = fine[:, :rows, :columns]
            remove_grid_bias(fine, times)
            grids.append(to_float16(fine.transpose(1, 2, 0)))
        return grids


def _ready(picture: NDArray[np.uint8], asked: dict[str, Any]) -> NDArray[np.float32]:
    """Return a picture as the network reads it, which knows 256 values of each colour."""
    rows, columns = picture.shape[:2]
    ready = np.zeros((1, 3, *asked["reads"]), np.float32)
    levels = np.arange(256, dtype=np.float32)
    for channel, mean, std in zip(range(3), asked["mean"], asked["std"], strict=True):
        values = (levels - np.float32(mean)) / np.float32(std)
        ready[0, channel, :rows, :columns] = values[picture[:, :, channel]]
    return ready


if __name__ == "__main__":
    main()
