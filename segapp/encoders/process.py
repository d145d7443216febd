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
from segapp.values.wording import reason

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
            else:
                picture = receive(requests, _LARGEST_PICTURE)
                cells = network.cells(np.frombuffer(picture, np.uint8), asked)
                send_plain(replies, cells=cells.shape)
                send(replies, cells.tobytes())
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


class _Network:
    """A network that is ready to read pictures, on one thread."""

    def __init__(self, asked: dict[str, Any]) -> None:
        import onnxruntime

        onnxruntime.disable_telemetry_events()
        onnxruntime.set_default_logger_severity(4)
        with open(asked["path"], "rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != asked["digest"]:
                raise _RefusedError("its file has changed since it was added")
        options = onnxruntime.SessionOptions()
        # One thread: sums in another order differ in their last bits, and with them a mask.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.use_deterministic_compute = True
        options.log_severity_level = 4
        self._session = onnxruntime.InferenceSession(
            asked["path"], options, providers=["CPUExecutionProvider"]
        )
        self._input: str = self._session.get_inputs()[0].name

    def shapes(self, size: list[int]) -> dict[str, list[int]]:
        """Read a black picture and tell the shape of each output."""
        black = np.zeros((1, 3, *size), np.float32)
        names = [port.name for port in self._session.get_outputs()]
        found = self._session.run(None, {self._input: black})
        return {
            name: list(values.shape) if isinstance(values, np.ndarray) else []
            for name, values in zip(names, found, strict=True)
        }

    def cells(self, pixels: NDArray[np.uint8], asked: dict[str, Any]) -> NDArray[np.float16]:
        """Read a picture: rows x columns x channels."""
        rows, columns = asked["picture"]
        mean, std = (np.array(asked[name], np.float32) for name in ("mean", "std"))
        ready = np.zeros((1, 3, *asked["size"]), np.float32)
        picture = (pixels.reshape(rows, columns, 3) - mean) / std
        ready[0, :, :rows, :columns] = picture.transpose(2, 0, 1)
        (found,) = self._session.run([asked["output"]], {self._input: ready})
        if found.size > MOST_VALUES or found.dtype.kind != "f":
            raise _RefusedError(f"it gives {found.size} values of {found.dtype}")
        if not np.isfinite(found).all():
            raise _RefusedError("it gives values that are no numbers")
        cells = in_grid(found, Layout(asked["layout"]), asked["skipped"], asked["grid"])
        halves: NDArray[np.float16] = np.clip(cells, -_LARGEST_HALF, _LARGEST_HALF).astype(
            np.float16
        )
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
