"""The process in which a network runs: the only place that loads its runtime.

It is started by `segapp.encoders.running` and ends with it. What a hostile network could do here,
beyond using up the time and the memory it is given, stays in here: all that leaves are numbers.
"""

from __future__ import annotations

import hashlib
import math
import os
import sys
import time
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from segapp.encoders.encoder import MOST_VALUES, Layout
from segapp.encoders.frames import receive, receive_plain, send, send_plain
from segapp.encoders.head import nothing_asked, take_off_places
from segapp.encoders.shortened import shortened
from segapp.values.wording import reason

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession

_MOST_MEMORY = 8 << 30  # bytes that it may ask for, where the system counts them
_LARGEST_PICTURE = 3 * 4096 * 4096
_LARGEST_HALF = 65504.0


class _RefusedError(ValueError):
    """What the network cannot do, for the user."""


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
            elif asked["do"] == "try":
                send_plain(replies, shapes=network.shapes(asked["size"]))
            elif asked["do"] == "try-head":
                send_plain(replies, shape=network.head_shape(asked["cells"], asked["size"]))
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


def _session(told: dict[str, Any], value: str = "") -> InferenceSession:
    """Load a network, on one thread: all of it, or what leads to a value."""
    import onnxruntime

    onnxruntime.disable_telemetry_events()
    onnxruntime.set_default_logger_severity(4)
    with open(told["path"], "rb") as file:
        model = file.read()
    if hashlib.sha256(model).hexdigest() != told["digest"]:
        raise _RefusedError("its file has changed since it was added")
    options = onnxruntime.SessionOptions()
    # One thread: sums in another order differ in their last bits, and with them a mask.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.use_deterministic_compute = True
    # Memory in one block, as planned after the first picture, is new memory for the second.
    options.enable_mem_pattern = False
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(
        shortened(model, value) if value else model,
        options,
        providers=["CPUExecutionProvider"],
    )


class _Head:
    """What goes on from a network's cells, asked for no object."""

    def __init__(self, told: dict[str, Any]) -> None:
        self._session = _session(told, told["output"])
        ports = {port.name: port.shape for port in self._session.get_inputs()}
        rows, columns = ports["mask_input"][2:]
        self._mask = int(rows), int(columns)

    def of(self, cells: NDArray[np.float32], size: list[int]) -> NDArray[np.float32]:
        """Return its smaller cells, 1 x channels x rows x columns."""
        fine: NDArray[np.float32] = self._session.run(
            None, nothing_asked(cells, size, self._mask)
        )[0]
        return fine


class _Network:
    """A network that is ready to read pictures, and maybe its head."""

    def __init__(self, asked: dict[str, Any]) -> None:
        self._session = _session(asked)
        self._input: str = self._session.get_inputs()[0].name
        self._head = _Head(asked["head"]) if "head" in asked else None

    def shapes(self, size: list[int]) -> dict[str, list[int]]:
        """Read a black picture and tell the shape of each output."""
        black = np.zeros((1, 3, *size), np.float32)
        names = [port.name for port in self._session.get_outputs()]
        found = self._session.run(None, {self._input: black})
        return {
            name: list(values.shape) if isinstance(values, np.ndarray) else []
            for name, values in zip(names, found, strict=True)
        }

    def head_shape(self, cells: list[int], size: list[int]) -> list[int]:
        """Tell the shape of what the head gives."""
        if self._head is None:
            raise _RefusedError("it has no head")
        return list(self._head.of(np.zeros(cells, np.float32), size).shape)

    def grids(self, pixels: NDArray[np.uint8], asked: dict[str, Any]) -> list[NDArray[np.float16]]:
        """Read a picture: rows x columns x channels, then in smaller cells if there is a head."""
        ready = _ready(pixels.reshape(*asked["picture"], 3), asked)
        found = _checked(self._session.run([asked["output"]], {self._input: ready})[0])
        cells = in_grid(found, Layout(asked["layout"]), asked["skipped"], asked["grid"])
        (rows, columns), *smaller = asked["parts"]
        grids = [_halves(cells[:rows, :columns])]
        if self._head is not None and smaller:
            fine = _checked(self._head.of(found, asked["size"]))[0]
            times = fine.shape[1] // cells.shape[0], fine.shape[2] // cells.shape[1]
            rows, columns = smaller[0]
            fine = fine[:, :rows, :columns]
            take_off_places(fine, times)
            grids.append(_halves(fine.transpose(1, 2, 0)))
        return grids


def _ready(picture: NDArray[np.uint8], asked: dict[str, Any]) -> NDArray[np.float32]:
    """Return a picture as the network reads it, which knows 256 values of each colour."""
    rows, columns = picture.shape[:2]
    ready = np.zeros((1, 3, *asked["size"]), np.float32)
    levels = np.arange(256, dtype=np.float32)
    for channel, mean, std in zip(range(3), asked["mean"], asked["std"], strict=True):
        values = (levels - np.float32(mean)) / np.float32(std)
        ready[0, channel, :rows, :columns] = values[picture[:, :, channel]]
    return ready


def _checked(found: NDArray[np.float32]) -> NDArray[np.float32]:
    if found.size > MOST_VALUES or found.dtype.kind != "f":
        raise _RefusedError(f"it gives {found.size} values of {found.dtype}")
    if not np.isfinite(found).all():
        raise _RefusedError("it gives values that are no numbers")
    return found


def _halves(cells: NDArray[np.floating]) -> NDArray[np.float16]:
    halves: NDArray[np.float16] = np.clip(cells, -_LARGEST_HALF, _LARGEST_HALF).astype(np.float16)
    return halves


def in_grid(
    found: NDArray[np.floating], layout: Layout, skipped: int, grid: list[int]
) -> NDArray[np.floating]:
    """Return an output as rows x columns x channels."""
    rows, columns = grid
    if layout is Layout.TOKENS:
        cells = found[0, skipped:].reshape(rows, columns, found.shape[2])
    else:
        cells = found[0].transpose(1, 2, 0) if layout is Layout.CHANNELS_FIRST else found[0]
    if cells.shape[:2] != (rows, columns):
        raise _RefusedError(
            f"it gives {cells.shape[0]} x {cells.shape[1]} cells, not {rows} x {columns}"
        )
    return cells


if __name__ == "__main__":
    main()
