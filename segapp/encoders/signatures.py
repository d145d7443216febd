"""Encoder descriptions from the shapes of a network, and decoder heads."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from segapp.encoders.encoder import (
    MAX_SIDE,
    MAX_VALUES,
    Encoder,
    Fit,
    Head,
    Layout,
    identity_of,
)
from segapp.encoders.onnx_file import EncoderError, read_network
from segapp.encoders.runner import RunningNetwork, missing_runtime
from segapp.model.validation import short_repr

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from segapp.encoders.onnx_file import NetworkFile, Port


# Two families are known by their shapes alone. Encoders of the SAM family read 1024 x 1024 pixels
# and give 256 channels of 64 x 64 cells; a picture is padded. Networks like DINOv2 give a token
# for each cell, after one for the whole picture or some more; a picture is stretched. Both take
# the mean and the deviation of ImageNet off.

if TYPE_CHECKING:
    Size = tuple[int, int]
    Shapes = dict[str, tuple[int, ...]]

IMAGENET_MEAN = (123.675, 116.28, 103.53)
IMAGENET_STD = (58.395, 57.12, 57.375)
_SAM_INPUT, _SAM_OUTPUT = (1024, 1024), (1, 256, 64, 64)
_TOKEN_SIZES = (518, 512)  # multiples of 14, and of 8 and 16: the sides of their cells
_EXTRA_TOKENS = (1, 0, 5)  # that of the whole picture; none; with four registers


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkOptions:
    """What somebody says of a network; ``None`` where its shapes are to tell."""

    size: tuple[int, int] | None = None
    mean: tuple[float, float, float] | None = None
    std: tuple[float, float, float] | None = None
    fit: Fit | None = None
    output: str | None = None
    layout: Layout | None = None
    skipped: int | None = None


@dataclass(frozen=True, slots=True)
class _Meaning:
    """What an output means."""

    output: str
    layout: Layout
    skipped: int
    grid: tuple[int, int]
    channels: int
    fit: Fit | None = None  # of a family that is known, whose mean and deviation are so too


def describe_encoder(
    name: str, network: NetworkFile, options: NetworkOptions, shapes: Callable[[Size], Shapes]
) -> Encoder:
    """Describe a network; ``shapes`` runs it once and returns those of its outputs.

    `EncoderError` names what is missing, or what does not fit.
    """
    port = _picture_input(network)
    size, meaning = _tried(_sizes(port, options), options, shapes)
    mean, std, fit = options.mean, options.std, options.fit
    if meaning.fit is not None:
        mean, std, fit = mean or IMAGENET_MEAN, std or IMAGENET_STD, fit or meaning.fit
    if mean is None:
        raise EncoderError(_missing("--mean R,G,B", "what is taken off red, green and blue"))
    if std is None:
        raise EncoderError(_missing("--std R,G,B", "what they are divided by"))
    if fit is None:
        raise EncoderError(_missing("--fit", "whether a picture is padded or stretched"))
    try:
        return Encoder(
            name=name,
            digest=network.digest,
            n_bytes=network.n_bytes,
            input=port.name,
            output=meaning.output,
            size=size,
            mean=mean,
            std=std,
            fit=fit,
            layout=meaning.layout,
            skipped=meaning.skipped,
            grid=meaning.grid,
            channels=meaning.channels,
        )
    except ValueError as error:
        raise EncoderError(f"{error}.") from error


def _missing(option: str, what: str) -> str:
    return f"{option} is missing: the network's shapes do not tell {what}."


def _picture_input(network: NetworkFile) -> Port:
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
        told = "x".join("?" if length is None else str(length) for length in shape or ())
        kind = "" if port.is_float else ", and not of float32"
        raise EncoderError(
            f"The network reads {told or 'something else'}{kind}: wanted one picture, "
            "1x3xROWSxCOLUMNS of float32."
        )
    return port


def _sizes(port: Port, options: NetworkOptions) -> tuple[Size, ...]:
    """Return the sizes that may be tried, the likeliest first."""
    rows, columns = (port.shape or ())[2:]
    if options.size is not None:
        for wanted, fixed in zip(options.size, (rows, columns), strict=True):
            if fixed not in (None, wanted):
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


def _tried(
    sizes: tuple[Size, ...], options: NetworkOptions, shapes: Callable[[Size], Shapes]
) -> tuple[Size, _Meaning]:
    """Run the network at these sizes until an output is understood."""
    first: tuple[Size, _Meaning] | None = None
    told = ""
    for size in sizes:
        try:
            meaning = _meaning(size, shapes(size), options)
        except EncoderError as error:
            told = told or str(error)
            continue
        if meaning.fit is not None or options.size is not None or len(sizes) == 1:
            return size, meaning
        first = first or (size, meaning)
    if first is not None:  # it gives cells at any size, and which one is meant is not known
        raise EncoderError(_missing("--size N", "how large a picture it wants"))
    raise EncoderError(told)


def _meaning(size: Size, shapes: Shapes, options: NetworkOptions) -> _Meaning:
    """Find the output that holds the cells."""
    if options.output is not None:
        if options.output not in shapes:
            names = ", ".join(short_repr(name) for name in list(shapes)[:5])
            raise EncoderError(f"--output: wanted {names}, got {short_repr(options.output)}.")
        shapes = {options.output: shapes[options.output]}
    found = [
        meaning
        for name, shape in shapes.items()
        if (meaning := _output(name, shape, size, options)) is not None
    ]
    known = [meaning for meaning in found if meaning.fit is not None]
    if not found:
        told = "; ".join(f"{short_repr(name)} {_times(shape)}" for name, shape in shapes.items())
        raise EncoderError(
            "The network gives no grid of cells: wanted 1xCHANNELSxROWSxCOLUMNS, or tokens "
            f"1xCELLSxCHANNELS, of at most {MAX_VALUES} values, got {told}."
        )
    if known:
        return known[0]
    if len(found) > 1:
        names = ", ".join(short_repr(meaning.output) for meaning in found)
        raise EncoderError(_missing("--output", f"which of {names} is meant"))
    return found[0]


def _times(shape: tuple[int, ...]) -> str:
    return "x".join(str(length) for length in shape) or "of no shape"


def _output(
    name: str, shape: tuple[int, ...], size: Size, options: NetworkOptions
) -> _Meaning | None:
    """Say what an output of this shape means; ``None`` where it holds no cells."""
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
    return _Meaning(name, layout, 0, (rows, columns), channels, Fit.PAD if is_sam else None)


def _tokens(
    name: str, shape: tuple[int, ...], size: Size, options: NetworkOptions
) -> _Meaning | None:
    """Find the grid of square cells that the tokens are, after some that are none."""
    _, tokens, channels = shape
    extra = _EXTRA_TOKENS if options.skipped is None else (options.skipped,)
    for skipped in extra:
        count = tokens - skipped
        side = math.sqrt(size[0] * size[1] / count) if count > 1 else 0.0
        rows, columns = (round(length / side) if side else 0 for length in size)
        whole = side >= 1 and size[0] % max(rows, 1) == 0 and size[1] % max(columns, 1) == 0
        if rows * columns == count and whole:
            return _Meaning(name, Layout.TOKENS, skipped, (rows, columns), channels, Fit.STRETCH)
    return None


# A mask decoder of the SAM family makes an encoder's cells smaller, four times along each side,
# before it asks in which of them the object is. Asked for nothing, it has told objects apart all
# the same: within one the values are nearly even, and at its outline they change within a few
# pixels. Masks are linear functions of these values, which are what is taken.

_CELLS = "image_embeddings"
_ASKED_FOR = ("point_coords", "point_labels", "mask_input", "has_mask_input", "orig_im_size")
_NO_POINT = -1.0


@dataclass(frozen=True, slots=True)
class HeadFile:
    """A head's network, and which of its values are wanted."""

    path: Path
    digest: str
    output: str


def head_file(path: Path, network: NetworkFile) -> HeadFile:
    """Say which values of a mask decoder are taken; `EncoderError` if it is none."""
    shapes = {port.name: port.shape for port in network.inputs}
    if set(shapes) != {_CELLS, *_ASKED_FOR} or not network.widened:
        raise EncoderError(
            f"--head: wanted a mask decoder of the SAM family, which reads {_CELLS} and "
            f"{', '.join(_ASKED_FOR)}, got a network that does not."
        )
    if len(mask := shapes["mask_input"] or ()) != 4 or None in mask:
        raise EncoderError("--head: wanted a mask_input of 1x1xROWSxCOLUMNS, got another size.")
    return HeadFile(path, network.digest, network.widened[-1])


def describe_head(
    file: HeadFile, network: NetworkFile, encoder: Encoder, shape: tuple[int, ...]
) -> Head:
    """Describe a head by the shape of what is taken of it; `EncoderError` if it does not fit."""
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
    except ValueError as error:
        raise EncoderError(f"--head: {error}.") from error


def empty_prompt(
    cells: NDArray[np.float32], size: list[int], mask: tuple[int, int]
) -> dict[str, NDArray[np.float32]]:
    """Return what a mask decoder reads when it is asked for no object at all."""
    return {
        _CELLS: cells,
        "point_coords": np.zeros((1, 1, 2), np.float32),
        "point_labels": np.full((1, 1), _NO_POINT, np.float32),
        "mask_input": np.zeros((1, 1, *mask), np.float32),
        "has_mask_input": np.zeros(1, np.float32),
        "orig_im_size": np.array(size, np.float32),
    }


def remove_grid_bias(fine: NDArray[np.float32], times: tuple[int, int]) -> None:
    """Take off what cells have by their place alone, ``times`` rows and columns of places.

    Smaller cells are made from each larger one by weights of their own, so that all of one place
    are a little different from all of another: a fine grid over the whole picture.

    Parameters
    ----------
    fine
        Channels x rows x columns.
    """
    for row in range(times[0]):
        for column in range(times[1]):
            place = fine[:, row :: times[0], column :: times[1]]
            if place.size:
                place -= place.mean(axis=(1, 2), keepdims=True)


def probe_network(
    name: str,
    path: Path,
    head_path: Path | None,
    options: NetworkOptions,
    on_identity: Callable[[str], None] = lambda _: None,
) -> Encoder:
    """Describe a network, and its head; `EncoderError` says why it is none to be used.

    Parameters
    ----------
    on_identity
        Hears the encoder's identity before the trial, and may refuse it.
    """
    network = read_network(path)
    head_network = None if head_path is None else read_network(head_path)
    on_identity(identity_of(network.digest, None if head_network is None else head_network.digest))
    head = None
    if head_path is not None and head_network is not None:
        head = head_file(head_path.absolute(), head_network)
    if lack := missing_runtime():
        raise EncoderError(lack)
    with RunningNetwork(path.name, path.absolute(), network.digest, head=head) as running:
        encoder = describe_encoder(name, network, options, running.shapes)
        if encoder.fit is Fit.PAD:
            with suppress(EncoderError):  # what takes too long to be tried reads whole squares
                encoder = replace(encoder, steps=running.steps(encoder))
        if head is not None and head_network is not None:
            shape = running.head_shape(encoder)
            encoder = replace(encoder, head=describe_head(head, head_network, encoder, shape))
    return encoder
