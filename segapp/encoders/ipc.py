"""Requests to the worker process over its standard streams, with a time limit.

A message is its length in eight bytes and its content: JSON, or the numbers that the message
before it announced.
"""

from __future__ import annotations

import contextlib
import json
import os
import struct
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from segapp.encoders.encoder import MAX_VALUES, EncoderError
from segapp.model.validation import Message, from_json, reason, require_object

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_SECONDS = 120.0
"""For one image, with the loading: longer than any user would wait for."""
_LENGTH = struct.Struct("<Q")
_MAX_JSON = 1 << 16


def send(stream: IO[bytes], content: bytes) -> None:
    """Write a message and flush it."""
    stream.write(_LENGTH.pack(len(content)))
    stream.write(content)
    stream.flush()


def send_json(stream: IO[bytes], **values: object) -> None:
    """Write a message of named values."""
    send(stream, json.dumps(values).encode("ascii"))


def receive(stream: IO[bytes], max_bytes: int) -> bytes:
    """Read a message; `EOFError` at the end, `ValueError` when it is too long."""
    length = _LENGTH.unpack(_read_exactly(stream, _LENGTH.size))[0]
    if length > max_bytes:
        raise ValueError(f"wanted at most {max_bytes} bytes, got {length}")
    return _read_exactly(stream, length)


def receive_json(stream: IO[bytes]) -> dict[str, Any]:
    """Read a message of named values."""
    return require_object(from_json(receive(stream, _MAX_JSON), "reply"), "reply")


def _read_exactly(stream: IO[bytes], length: int) -> bytes:
    content = stream.read(length)
    if len(content) < length:
        raise EOFError
    return content


class EncodingStopped(Exception):  # noqa: N818 - a request of the user is no error
    """The user asked to stop."""


class WorkerProcess:
    """A process of `segapp.encoders.worker`, started at the first request.

    One thread sends requests; any thread may `stop`.

    Parameters
    ----------
    seconds
        Time limit of a request; `MAX_SECONDS` unless given.
    """

    def __init__(self, seconds: float | None = None) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self._seconds = MAX_SECONDS if seconds is None else seconds
        self._prepared: dict[str, Any] | None = None  # that this process has answered
        self._lock = threading.Lock()  # over the process, which `stop` may end at any moment
        self._stopped = False

    def request(
        self,
        name: str,
        request: dict[str, Any],
        content: bytes | None = None,
        preparation: dict[str, Any] | None = None,
    ) -> tuple[dict[str, Any], list[bytes]]:
        """Send a request and wait for the reply and the arrays that it announces.

        Parameters
        ----------
        name
            Of the network, for error messages.
        content
            Sent after the request.
        preparation
            A request that this process must have answered before.

        Raises
        ------
        EncoderError
            When the worker refuses, dies, or takes too long.
        EncodingStopped
            When `stop` was called.
        """
        with self._translated_errors(name):
            process = self._start_once()
            if preparation is not None and preparation != self._prepared:
                self._exchange(process, name, preparation)
                self._prepared = preparation
            return self._exchange(process, name, request, content)

    def stop(self) -> None:
        """End the process now, whatever it does; later requests raise `EncodingStopped`."""
        self._stopped = True
        self._kill()

    def close(self) -> None:
        """End the process; the next request would start another."""
        self._kill()
        with self._lock:
            process, self.process, self._prepared = self.process, None, None
        if process is not None:
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with contextlib.suppress(OSError):
                        stream.close()
            process.wait()

    def _kill(self) -> None:
        with self._lock:
            if self.process is not None:
                self.process.kill()

    @contextlib.contextmanager
    def _translated_errors(self, name: str) -> Iterator[None]:
        """Kill the process when the time is up, and name the cause of a failure."""
        timed_out = threading.Event()

        def end() -> None:
            timed_out.set()
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
            if timed_out.is_set():
                message = Message(
                    "{} was stopped: it took longer than {:g} s.", name, self._seconds
                )
            elif isinstance(error, ValueError):
                message = Message("{} cannot be used: {}.", name, reason(error))
            else:
                message = Message(
                    "{} broke off: the memory may be too small for it, or it is damaged.", name
                )
            raise EncoderError(message) from error
        finally:
            timer.cancel()

    def _start_once(self) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._stopped:
                raise EncodingStopped
            if self.process is None:
                self.process = start_worker()
            return self.process

    def _exchange(
        self,
        process: subprocess.Popen[bytes],
        name: str,
        request: dict[str, Any],
        content: bytes | None = None,
    ) -> tuple[dict[str, Any], list[bytes]]:
        if process.stdin is None or process.stdout is None:
            raise EOFError
        send_json(process.stdin, seconds=self._seconds, **request)
        if content is not None:
            send(process.stdin, content)
        reply = receive_json(process.stdout)
        if "error" in reply:
            self.close()
            raise EncoderError("{} cannot be used: {}.", name, reply["error"])
        stream = process.stdout
        return reply, [receive(stream, 2 * MAX_VALUES) for _ in reply.get("grids", ())]


def start_worker() -> subprocess.Popen[bytes]:
    """Start the worker; it finds this package, and no module of the working folder."""
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
        start_new_session=sys.platform != "win32",  # Ctrl-C is for the parent process
    )
