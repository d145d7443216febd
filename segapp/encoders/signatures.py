"""Probing of networks: descriptions from their shapes, and decoder heads."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from segapp.encoders.encoder import (
    MAX_SIDE,
    MAX_VALUES,
    Encoder,
    EncoderError,
    FineOutput,
    Fit,
    Head,
    HeadFile,
    Layout,
    identity_of,
)
from segapp.encoders.ipc import WorkerProcess
from segapp.encoders.preprocessing import CELLS_INPUT, PROMPT_INPUTS
from segapp.encoders.runner import (
    RunningNetwork,
    inspect_network,
    missing_runtime,
)
from segapp.model.validation import short_repr

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from segapp.encoders.encoder import NetworkFile, Port

    Size = tuple[int, int]
    Shapes = dict[str, tuple[int, ...]]

# Two families are recognised by their shapes alone. Encoders of the SAM family read 1024 x 1024
# pixels and give 256 channels of 64 x 64 cells; images are padded. Networks like DINOv2 give a
# token for each cell, after one for the whole image or some more; images are stretched. Both
# expect the mean and the standard deviation of ImageNet.

IMAGENET_MEAN = (123.675, 116.28, 103.53)
IMAGENET_STD = (58.395, 57.12, 57.375)
_SAM_INPUT, _SAM_OUTPUT = (1024, 1024), (1, 256, 64, 64)
_SAM_2_FINE = (1, 32, 256, 256)
_TOKEN_SIZES = (518, 512)  # multiples of 14, and of 8 and 16: the sides of their cells
_EXTRA_TOKENS = (1, 0, 5)  # that of the whole image; none; with four registers


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkOptions:
    """Facts of a network that the user states; ``None`` where its shapes decide."""

    size: tuple[int, int] | None = None
    mean: tuple[float, float, float] | None = None
    std: tuple[float, float, float] | None = None
    fit: Fit | None = None
    output: str | None = None
    layout: Layout | None = None
    skipped: int | None = None


@dataclass(frozen=True, slots=True)
class _Output:
    """An output that holds cells, and their arrangement."""

    name: str
    layout: Layout
    skipped: int
    grid: tuple[int, int]
    channels: int
    fit: Fit | None = None  # of a known family, whose mean and std are known too
    fine: FineOutput | None = None


def describe_encoder(
    name: str, network: NetworkFile, options: NetworkOptions, shapes: Callable[[Size], Shapes]
) -> Encoder:
    """Describe a network; ``shapes`` runs it once for the shapes of its outputs.

    `EncoderError` names an option that is missing, or that does not fit.
    """
    port = _image_input(network)
    size, output = _find_size(_sizes(port, options), options, shapes)
    mean, std, fit = options.mean, options.std, options.fit
    if output.fit is not None:
        mean, std, fit = mean or IMAGENET_MEAN, std or IMAGENET_STD, fit or output.fit
    if mean is None:
        raise EncoderError(_missing("--mean R,G,B", "what is taken off red, green and blue"))
    if std is None:
        raise EncoderError(_missing("--std R,G,B", "what they are divided by"))
    if fit is None:
        raise EncoderError(_missing("--fit", "whether a picture is padded or stretched"))
    return Encoder(
        name=name,
        digest=network.digest,
        n_bytes=network.n_bytes,
        input=port.name,
        output=output.name,
        size=size,
        mean=mean,
        std=std,
        fit=fit,
        layout=output.layout,
        skipped=output.skipped,
        grid=output.grid,
        channels=output.channels,
        fine=output.fine,
    )


def _missing(option: str, topic: str) -> str:
    return f"{option} is missing: the network's shapes do not tell {topic}."


def _image_input(network: NetworkFile) -> Port:
    if len(network.inputs) != 1:
        names = ", ".join(short_repr(port.name) for port in network.inputs[:5]) or "none"
        raise EncoderError(f"The network has not one input but {len(network.inputs)}: {names}.")
    port = network.inputs[0]
    shape = port.shape
    if (
        not port.is_float
        or shape is None
        or len(shape) != 4
        or shape[0] not in (1, None)
        or shape[1] not in (3, None)
    ):
        sides = "x".join("?" if length is None else str(length) for length in shape or ())
        kind = "" if port.is_float else ", and not of float32"
        raise EncoderError(
            f"The network reads {sides or 'something else'}{kind}: wanted one picture, "
            "1x3xROWSxCOLUMNS of float32."
        )
    return port


def _sizes(port: Port, options: NetworkOptions) -> tuple[Size, ...]:
    """Return candidate input sizes, the likeliest first."""
    rows, columns = (port.shape or ())[2:]
    if options.size is not None:
        for given, fixed in zip(options.size, (rows, columns), strict=True):
            if fixed not in (None, given):
                raise EncoderError(
                    f"--size: the network wants {rows or 'any'} x {columns or 'any'} pixels, got "
                    f"{options.size[0]} x {options.size[1]}."
                )
        return (options.size,)
    if rows is not None and columns is not None:
        if max(rows, columns) > MAX_SIDE:
            raise EncoderError(
                f"The network reads {rows} x {columns} pixels: wanted at most {MAX_SIDE}."
            )
        return ((rows, columns),)
    return tuple((rows or side, columns or side) for side in _TOKEN_SIZES)


def _find_size(
    sizes: tuple[Size, ...], options: NetworkOptions, shapes: Callable[[Size], Shapes]
) -> tuple[Size, _Output]:
    """Run the network at these sizes until an output is recognised."""
    first: tuple[Size, _Output] | None = None
    message = ""
    for size in sizes:
        try:
            output = _choose_output(size, shapes(size), options)
        except EncoderError as error:
            message = message or str(error)
            continue
        if output.fit is not None or options.size is not None or len(sizes) == 1:
            return size, output
        first = first or (size, output)
    if first is not None:  # it gives cells at any size, and its own size remains unknown
        raise EncoderError(_missing("--size N", "how large a picture it wants"))
    raise EncoderError(message)


def _choose_output(size: Size, shapes: Shapes, options: NetworkOptions) -> _Output:
    """Find the output that holds the cells."""
    if options.output is not None:
        if options.output not in shapes:
            names = ", ".join(short_repr(name) for name in list(shapes)[:5])
            raise EncoderError(f"--output: wanted {names}, got {short_repr(options.output)}.")
        shapes = {options.output: shapes[options.output]}
    candidates = [
        output
        for name, shape in shapes.items()
        if (output := _as_output(name, shape, size, options)) is not None
    ]
    known = [output for output in candidates if output.fit is not None]
    if not candidates:
        given = "; ".join(f"{short_repr(name)} {_times(shape)}" for name, shape in shapes.items())
        raise EncoderError(
            "The network gives no grid of cells: wanted 1xCHANNELSxROWSxCOLUMNS, or tokens "
            f"1xCELLSxCHANNELS, of at most {MAX_VALUES} values, got {given}."
        )
    if known:
        return replace(known[0], fine=_sam_2_fine(shapes))
    if len(candidates) > 1:
        names = ", ".join(short_repr(output.name) for output in candidates)
        raise EncoderError(_missing("--output", f"which of {names} is meant"))
    return candidates[0]


def _sam_2_fine(shapes: Shapes) -> FineOutput | None:
    """Find the finest cells of SAM 2, whose encoder gives them beside the others."""
    for name, shape in shapes.items():
        if shape == _SAM_2_FINE:
            return FineOutput(name, (shape[2], shape[3]), shape[1])
    return None


def _times(shape: tuple[int, ...]) -> str:
    return "x".join(str(length) for length in shape) or "of no shape"


def _as_output(
    name: str, shape: tuple[int, ...], size: Size, options: NetworkOptions
) -> _Output | None:
    """Interpret the shape of an output; ``None`` where it holds no cells."""
    if not shape or shape[0] != 1 or min(shape) < 1 or math.prod(shape) > MAX_VALUES:
        return None
    if len(shape) == 3 and options.layout in (None, Layout.TOKENS):
        return _tokens(name, shape, size, options)
    if len(shape) != 4 or options.layout is Layout.TOKENS:
        return None
    if options.layout is Layout.CHANNELS_LAST:
        _, rows, columns, channels = shape
    else:
        _, channels, rows, columns = shape
    if not (1 < rows <= size[0] and 1 < columns <= size[1]):
        return None
    is_sam = size == _SAM_INPUT and shape == _SAM_OUTPUT
    layout = options.layout or Layout.CHANNELS_FIRST
    return _Output(name, layout, 0, (rows, columns), channels, Fit.PAD if is_sam else None)


def _tokens(
    name: str, shape: tuple[int, ...], size: Size, options: NetworkOptions
) -> _Output | None:
    """Find the grid of square cells that the tokens form, after extra ones."""
    _, tokens, channels = shape
    extra = _EXTRA_TOKENS if options.skipped is None else (options.skipped,)
    for skipped in extra:
        count = tokens - skipped
        side = math.sqrt(size[0] * size[1] / count) if count > 1 else 0.0
        rows, columns = (round(length / side) if side else 0 for length in size)
        whole = side >= 1 and size[0] % max(rows, 1) == 0 and size[1] % max(columns, 1) == 0
        if rows * columns == count and whole:
            return _Output(name, Layout.TOKENS, skipped, (rows, columns), channels, Fit.STRETCH)
    return None


# A mask decoder of the SAM family makes an encoder's cells smaller, four times along each side,
# before it compares them with a prompt. With an empty prompt these values tell objects apart all
# the same: they are nearly even within one, and change within a few pixels at its boundary. The
# decoder's masks are linear functions of them.


def head_file(path: Path, network: NetworkFile) -> HeadFile:
    """Name the values to take from a mask decoder; `EncoderError` if it is none."""
    shapes = {port.name: port.shape for port in network.inputs}
    if set(shapes) != {CELLS_INPUT, *PROMPT_INPUTS} or not network.upsampled:
        raise EncoderError(
            f"--head: wanted a mask decoder of the SAM family, which reads {CELLS_INPUT} and "
            f"{', '.join(PROMPT_INPUTS)}, got a network that does not."
        )
    if len(mask := shapes["mask_input"] or ()) != 4 or None in mask:
        raise EncoderError("--head: wanted a mask_input of 1x1xROWSxCOLUMNS, got another size.")
    return HeadFile(path, network.digest, network.upsampled)


def describe_head(
    file: HeadFile, network: NetworkFile, encoder: Encoder, shape: tuple[int, ...]
) -> Head:
    """Describe a head by the shape of its output; `EncoderError` if it does not fit."""
    rows, columns = encoder.grid
    if len(shape) != 4 or shape[0] != 1 or shape[2] % rows or shape[3] % columns:
        raise EncoderError(
            f"--head: wanted each of {rows} x {columns} cells in smaller ones, got {shape}."
        )
    try:
        return Head(
            digest=file.digest,
            n_bytes=network.n_bytes,
            output=file.output,
            grid=(shape[2], shape[3]),
            channels=shape[1],
        )
    except EncoderError as error:
        raise EncoderError(f"--head: {error}") from error


def probe_network(
    name: str,
    path: Path,
    head_path: Path | None,
    options: NetworkOptions,
    on_identity: Callable[[str], None] = lambda _: None,
) -> Encoder:
    """Inspect and run a network and its head, or raise `EncoderError`.

    Parameters
    ----------
    on_identity
        Is called with the encoder's identity before anything runs, and may raise.
    """
    if message := missing_runtime():
        raise EncoderError(message)
    worker = WorkerProcess()
    try:
        network = inspect_network(worker, path)
        head_network = None if head_path is None else inspect_network(worker, head_path)
        on_identity(identity_of(network.digest, head_network.digest if head_network else None))
        head = None
        if head_path is not None and head_network is not None:
            head = head_file(head_path, head_network)
        running = RunningNetwork(path.name, path, network.digest, head, worker=worker)
        encoder = describe_encoder(name, network, options, running.output_shapes)
        if encoder.fit is Fit.PAD:
            with suppress(EncoderError):  # a network too slow for the comparison reads squares
                encoder = replace(encoder, steps=running.input_steps(encoder))
        if head is not None and head_network is not None:
            shape = running.head_shape(encoder)
            encoder = replace(encoder, head=describe_head(head, head_network, encoder, shape))
    finally:
        worker.close()
    return encoder
