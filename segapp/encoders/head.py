"""Heads: networks that go on from what an encoder gives, to smaller cells.

A mask decoder of the SAM family makes an encoder's cells smaller, four times along each side,
before it asks in which of them the object is. Asked for nothing, it has told objects apart all the
same: within one the values are nearly even, and at its outline they change within a few pixels.
Masks are linear functions of these values, which are what is taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from segapp.encoders.encoder import Head
from segapp.encoders.network_file import EncoderError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from segapp.encoders.encoder import Encoder
    from segapp.encoders.network_file import NetworkFile

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


def described_head(
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


def nothing_asked(
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


def take_off_places(fine: NDArray[np.float32], times: tuple[int, int]) -> None:
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
