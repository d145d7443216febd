"""Networks run in a separate process with a time limit."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import struct
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from segapp.encoders.encoder import MAX_VALUES
from segapp.encoders.onnx_file import EncoderError
from segapp.encoders.preprocessing import in_picture, parts, read_size
from segapp.model.validation import from_json, reason, require_object, sanitize

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from segapp.encoders.encoder import Encoder
    from segapp.encoders.preprocessing import FittedPicture
    from segapp.encoders.signatures import HeadFile
    from segapp.model.picture import EncoderFeatures


_LENGTH = struct.Struct("<Q")


def send(stream: IO[bytes], content: bytes) -> None:
    """Write a frame and let it go at once."""
    stream.write(_LENGTH.pack(len(content)))
    stream.write(content)
    stream.flush()


def send_plain(stream: IO[bytes], **values: object) -> None:
    """Write a frame of named values."""
    send(stream, json.dumps(values).encode("ascii"))


def receive(stream: IO[bytes], largest: int) -> bytes:
    """Read a frame; `EOFError` when the other side is gone, `ValueError` when it is too long."""
    length = _LENGTH.unpack(_exactly(stream, _LENGTH.size))[0]
    if length > largest:
        raise ValueError(f"wanted at most {largest} bytes, got {length}")
    return _exactly(stream, length)


def receive_plain(stream: IO[bytes]) -> dict[str, Any]:
    """Read a frame of named values."""
    return require_object(from_json(receive(stream, 1 << 16), "frame"), "frame")


def _exactly(stream: IO[bytes], length: int) -> bytes:
    content = stream.read(length)
    if len(content) < length:
        raise EOFError
    return content


MAX_SECONDS = 120.0
"""Time for one picture, with the loading: beyond any network that somebody would wait for."""


class EncodingStopped(Exception):  # noqa: N818 - the user's wish is no error
    """Somebody asked to stop."""


def has_runtime() -> bool:
    """Tell whether networks can be run, without loading what runs them."""
    bundled = getattr(sys, "frozen", False)  # such a program is no Python to start another with
    return not bundled and importlib.util.find_spec("onnxruntime") is not None


def missing_runtime() -> str:
    """Say what networks need to run; nothing when it is there."""
    if has_runtime():
        return ""
    return 'An encoder needs onnxruntime: pip install "segapp[encoder]".'


class RunningNetwork:
    """One process for one network: loaded at the first request, ended by `close`.

    One thread asks; any thread may `stop`.

    Parameters
    ----------
    name
        What sentences call it.
    digest
        That its file must have.
    head
        What goes on from what the network gives, if something does.
    """

    def __init__(
        self,
        name: str,
        path: Path,
        digest: str,
        seconds: float = MAX_SECONDS,
        head: HeadFile | None = None,
    ) -> None:
        self._name, self._path, self._digest, self._head = sanitize(name), path, digest, head
        self._seconds = seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()  # over the process, which `stop` may end at any moment
        self._stopped = False

    def __enter__(self) -> RunningNetwork:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def shapes(self, size: tuple[int, int]) -> dict[str, tuple[int, ...]]:
        """Return the shapes of all outputs for a picture of this size."""
        reply, _ = self._ask({"do": "try", "size": size})
        return {name: tuple(shape) for name, shape in reply["shapes"].items()}

    def steps(self, encoder: Encoder) -> tuple[int, int]:
        """Return by how many rows and columns at a time a network can read less."""
        reply, _ = self._ask({"do": "try-less", **_reading(encoder)})
        rows, columns = reply["steps"]
        return rows, columns

    def head_shape(self, encoder: Encoder) -> tuple[int, ...]:
        """Return the shape of what the head gives."""
        cells = (1, encoder.channels, *encoder.grid)
        reply, _ = self._ask({"do": "try-head", "cells": cells, "size": encoder.size})
        return tuple(reply["shape"])

    def encode(self, encoder: Encoder, picture: FittedPicture) -> EncoderFeatures:
        """Let the network read a picture.

        Raises
        ------
        EncoderError
            When it cannot, breaks off, or takes too long.
        EncodingStopped
            When somebody has asked to stop.
        """
        reply, contents = self._ask(
            {
                "do": "encode",
                **_reading(encoder),
                "picture": picture.pixels.shape[:2],
                "reads": read_size(picture.shape, encoder),
                "mean": encoder.mean,
                "std": encoder.std,
                "parts": [part.shape[:2] for part in parts(picture.shape, encoder)],
            },
            picture.pixels,
        )
        cells = [
            np.frombuffer(content, np.float16).reshape(of)
            for of, content in zip(reply["grids"], contents, strict=True)
        ]
        try:
            return in_picture(cells, picture.shape, encoder)
        except ValueError as error:
            raise EncoderError(f"{self._name} cannot be used: {reason(error)}.") from error

    def stop(self) -> None:
        """End the process now, whatever it does; nothing more can be asked."""
        self._stopped = True
        self._kill()

    def close(self) -> None:
        """End the process; the next request would start another."""
        self._kill()
        with self._lock:
            process, self._process = self._process, None
        if process is not None:
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with contextlib.suppress(OSError):
                        stream.close()
            process.wait()

    def _kill(self) -> None:
        with self._lock:
            if self._process is not None:
                self._process.kill()

    def _ask(
        self, request: dict[str, Any], picture: NDArray[np.uint8] | None = None
    ) -> tuple[dict[str, Any], list[bytes]]:
        """Send a request and wait for the reply, for so long and no longer."""
        with self._within_time():
            process = self._loaded()
            return self._reply(process, request, picture)

    @contextlib.contextmanager
    def _within_time(self) -> Iterator[None]:
        late = threading.Event()

        def end() -> None:
            late.set()
            self._kill()

        timer = threading.Timer(self._seconds, end)
        timer.daemon = True
        timer.start()
        try:
            yield
        except EncoderError:
            raise
        except (EOFError, OSError, ValueError) as error:
            self.close()
            if self._stopped:
                raise EncodingStopped from error
            if late.is_set():
                raise EncoderError(
                    f"{self._name} was stopped: it took longer than {self._seconds:g} s."
                ) from error
            if isinstance(error, ValueError):
                raise EncoderError(f"{self._name} cannot be used: {reason(error)}.") from error
            raise EncoderError(
                f"{self._name} broke off: the memory may be too small for it, or it is damaged."
            ) from error
        finally:
            timer.cancel()

    def _loaded(self) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._stopped:
                raise EncodingStopped
            process = self._process
            if process is None:
                process = self._process = _started()
            else:
                return process
        request: dict[str, Any] = {"do": "load", "path": str(self._path), "digest": self._digest}
        if (head := self._head) is not None:
            request["head"] = {
                "path": str(head.path),
                "digest": head.digest,
                "output": head.output,
            }
        self._reply(process, request)
        return process

    def _reply(
        self,
        process: subprocess.Popen[bytes],
        request: dict[str, Any],
        picture: NDArray[np.uint8] | None = None,
    ) -> tuple[dict[str, Any], list[bytes]]:
        if process.stdin is None or process.stdout is None:
            raise EOFError
        send_plain(process.stdin, seconds=self._seconds, **request)
        if picture is not None:
            send(process.stdin, picture.tobytes())
        reply = receive_plain(process.stdout)
        if "error" in reply:
            self.close()
            raise EncoderError(f"{self._name} cannot be used: {reply['error']}.")
        stream = process.stdout
        return reply, [receive(stream, 2 * MAX_VALUES) for _ in reply.get("grids", ())]


def _reading(encoder: Encoder) -> dict[str, Any]:
    """Say what a network wants, and what its output means."""
    return {
        "size": encoder.size,
        "output": encoder.output,
        "layout": encoder.layout.value,
        "skipped": encoder.skipped,
        "grid": encoder.grid,
    }


def _started() -> subprocess.Popen[bytes]:
    """Start the process; it finds this package, and nothing that lies in the working folder."""
    if lack := missing_runtime():
        raise EncoderError(lack)
    package = str(Path(__file__).parents[2])
    paths = [package, *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in paths if path)}
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "segapp.encoders.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        start_new_session=sys.platform != "win32",  # Ctrl-C is for who started it
    )
