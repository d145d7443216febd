"""Networks run in a separate process with a time limit."""

from __future__ import annotations

import importlib.util
import logging
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from segapp.encoders.encoder import MAX_FILE_BYTES, EncoderError, NetworkFile, Port
from segapp.encoders.ipc import WorkerProcess
from segapp.encoders.preprocessing import cell_grids, input_size, to_encoded_picture
from segapp.model.validation import Message, reason, sanitize

if TYPE_CHECKING:
    from pathlib import Path

    from segapp.encoders.encoder import Encoder, HeadFile
    from segapp.encoders.preprocessing import FittedPicture
    from segapp.model.picture import EncoderFeatures

_log = logging.getLogger(__name__)


def has_runtime() -> bool:
    """Tell whether networks can be run, without loading their libraries."""
    if getattr(sys, "frozen", False):  # such a program is no Python to start a worker with
        return False
    return all(importlib.util.find_spec(name) is not None for name in ("onnxruntime", "onnx"))


def missing_runtime() -> str:
    """Return a sentence about what networks need to run; empty when it is there."""
    if has_runtime():
        return ""
    return Message('An encoder needs onnxruntime: pip install "segapp[encoder]".')


def inspect_network(worker: WorkerProcess, path: Path) -> NetworkFile:
    """Read the facts of a file; `EncoderError` gives the reason of a refusal."""
    name = sanitize(path.name)
    try:
        with path.open("rb"):
            n_bytes = path.stat().st_size
    except OSError as error:
        raise EncoderError("{} cannot be read: {}.", name, error.strerror or error) from error
    if n_bytes > MAX_FILE_BYTES:
        raise EncoderError(
            "{} has {} MB: wanted at most {} MB.", name, n_bytes >> 20, MAX_FILE_BYTES >> 20
        )
    reply, _ = worker.request(name, {"do": "inspect", "path": str(path.absolute())})
    inputs = (
        Port(port, None if shape is None else tuple(shape), is_float)
        for port, shape, is_float in reply["inputs"]
    )
    return NetworkFile(tuple(inputs), reply["digest"], reply["n_bytes"], reply["upsampled"])


def convert_network(worker: WorkerProcess, path: Path, digest: str, out: Path) -> None:
    """Turn a network in the format of onnxruntime, whose file is known, into ONNX."""
    request = {"do": "convert", "path": str(path.absolute()), "digest": digest, "out": str(out)}
    worker.request(sanitize(path.name), request)


class RunningNetwork:
    """A network in a worker process: loaded at the first request, ended by `close`.

    One thread sends requests; any thread may `stop`.

    Parameters
    ----------
    name
        Of the network, for error messages.
    digest
        That its file must have.
    head
        The network that continues from its output, if any.
    worker
        A process that runs already; without it, one is started when it is needed.
    """

    def __init__(
        self,
        name: str,
        path: Path,
        digest: str,
        head: HeadFile | None = None,
        worker: WorkerProcess | None = None,
    ) -> None:
        self._name = sanitize(name)
        self.worker = worker or WorkerProcess()
        self._load: dict[str, Any] = {"do": "load", "path": str(path.absolute()), "digest": digest}
        if head is not None:
            self._load["head"] = {
                "path": str(head.path.absolute()),
                "digest": head.digest,
                "output": head.output,
            }

    def __enter__(self) -> RunningNetwork:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def output_shapes(self, size: tuple[int, int]) -> dict[str, tuple[int, ...]]:
        """Return the shapes of all outputs for an image of this size."""
        reply, _ = self._request({"do": "shapes", "size": size})
        return {name: tuple(shape) for name, shape in reply["shapes"].items()}

    def input_steps(self, encoder: Encoder) -> tuple[int, int]:
        """Return by how many rows and columns at a time the input can be made shorter."""
        reply, _ = self._request({"do": "steps", **_output_facts(encoder)})
        rows, columns = reply["steps"]
        return rows, columns

    def head_shape(self, encoder: Encoder) -> tuple[int, ...]:
        """Return the shape of the head's output."""
        cells = (1, encoder.channels, *encoder.grid)
        reply, _ = self._request({"do": "head-shape", "cells": cells, "size": encoder.size})
        return tuple(reply["shape"])

    def encode(self, encoder: Encoder, picture: FittedPicture) -> EncoderFeatures:
        """Compute the features of an image; raises like `WorkerProcess.request`."""
        start = time.perf_counter()
        request = {
            "do": "encode",
            **_output_facts(encoder),
            "picture": picture.pixels.shape[:2],
            "input_size": input_size(picture.shape, encoder),
            "mean": encoder.mean,
            "std": encoder.std,
            "grids": [grid.shape[:2] for grid in cell_grids(picture.shape, encoder)],
            "fine": [] if encoder.fine is None else [encoder.fine.output],
        }
        reply, contents = self._request(request, picture.pixels.tobytes())
        cells = [
            np.frombuffer(content, np.float16).reshape(shape)
            for shape, content in zip(reply["grids"], contents, strict=True)
        ]
        try:
            encoded = to_encoded_picture(cells, picture.shape, encoder)
        except ValueError as error:
            raise EncoderError("{} cannot be used: {}.", self._name, reason(error)) from error
        _log.info("%s read an image in %.2f s", self._name, time.perf_counter() - start)
        return encoded

    def stop(self) -> None:
        """End the process now, whatever it does; nothing more can be requested."""
        self.worker.stop()

    def close(self) -> None:
        """End the process; the next request would start another."""
        self.worker.close()

    def _request(
        self, request: dict[str, Any], content: bytes | None = None
    ) -> tuple[dict[str, Any], list[bytes]]:
        if message := missing_runtime():
            raise EncoderError(message)
        return self.worker.request(self._name, request, content, self._load)


def _output_facts(encoder: Encoder) -> dict[str, Any]:
    return {
        "size": encoder.size,
        "output": encoder.output,
        "layout": encoder.layout.value,
        "skipped": encoder.skipped,
        "grid": encoder.grid,
    }
