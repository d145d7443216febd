"""Run lengths: masks as COCO encodes them, and label images tile by tile."""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING

import numpy as np

from segapp.imaging.tiles import tiles_of
from segapp.model.validation import SegappError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike, NDArray


def run_lengths(mask: NDArray[np.bool_]) -> list[int]:
    """Return the lengths of runs in column order; the first is of zeros, and may be 0.

    >>> run_lengths(np.array([[False, True], [True, True]]))
    [1, 3]
    >>> run_lengths(np.ones((2, 2), bool))
    [0, 4]
    """
    flat = mask.ravel(order="F")
    changes = np.flatnonzero(np.diff(flat)) + 1
    counts: list[int] = np.diff(np.concatenate(([0], changes, [flat.size]))).tolist()
    return [0, *counts] if flat.size and flat[0] else counts


def encode_counts(counts: Sequence[int]) -> str:
    """Encode run lengths as COCO's text.

    From the fourth count on, the difference to the count before the previous one is written, five
    bits a character, lowest first; bit 6 says that more follow, and 48 makes it printable.
    """
    text = bytearray()
    for index, count in enumerate(counts):
        rest = count - counts[index - 2] if index > 2 else count
        while True:
            bits = rest & 0x1F
            rest >>= 5
            done = rest == (-1 if bits & 0x10 else 0)
            text.append((bits if done else bits | 0x20) + 48)
            if done:
                break
    return text.decode("ascii")


def decode_counts(text: str) -> list[int]:
    """Decode run lengths from COCO's text, or raise `SegappError`.

    >>> decode_counts(encode_counts([3, 40, 1, 7000]))
    [3, 40, 1, 7000]
    """
    counts: list[int] = []
    value = shift = 0
    for letter in text:
        bits = ord(letter) - 48
        if not 0 <= bits < 64 or shift > 40:
            raise SegappError(f"counts: wanted COCO's run lengths, got {letter!r}")
        value |= (bits & 0x1F) << shift
        shift += 5
        if not bits & 0x20:
            if bits & 0x10:
                value -= 1 << shift
            counts.append(value + counts[-2] if len(counts) > 2 else value)
            value = shift = 0
    if shift:
        raise SegappError("counts: the run lengths end too early")
    return counts


def mask_from_runs(counts: Sequence[int], size: tuple[int, int]) -> NDArray[np.bool_]:
    """Return the mask of run lengths, which must add up to its size.

    >>> mask_from_runs([1, 3], (2, 2)).astype(int)
    array([[0, 1],
           [1, 1]])
    """
    if any(count < 0 for count in counts) or sum(counts) != size[0] * size[1]:
        raise SegappError(f"counts: wanted {size[0] * size[1]} pixels, got {sum(counts)}")
    values = np.arange(len(counts)) % 2 == 1
    return np.repeat(values, counts).reshape(size, order="F")


# A tile is a byte that says how it is packed, the length of what follows, and that: one value for
# all of it, or zlib's bytes of each row's difference from the row above (exclusive or), which are
# few, as one bit a pixel where that is enough.
_EVEN, _BITS, _VALUES = range(3)
_HEAD = struct.Struct(">BI")


def pack_labels(labels: NDArray[np.integer]) -> bytes:
    """Pack an image of labels without loss.

    >>> labels = np.zeros((600, 600), np.uint8)
    >>> labels[200:400, 250:400] = 1
    >>> packed = pack_labels(labels)
    >>> len(packed) < 400, (unpack_labels(packed, (600, 600)) == labels).all()
    (True, np.True_)
    """
    parts: list[bytes] = []
    for _, box in tiles_of(_whole(labels.shape)):
        tile = labels[box]
        kind, packed = _pack(tile)
        parts += [_HEAD.pack(kind, len(packed)), packed]
    return b"".join(parts)


def _whole(shape: tuple[int, ...]) -> tuple[slice, slice]:
    return slice(0, shape[0]), slice(0, shape[1])


def _pack(tile: NDArray[np.integer]) -> tuple[int, bytes]:
    first = tile[:1, :1]
    if (tile == first).all():
        return _EVEN, first.tobytes()
    changes = tile.copy()
    changes[1:] ^= tile[:-1]
    if changes.min() >= 0 and changes.max() <= 1:
        return _BITS, zlib.compress(np.packbits(changes.astype(np.bool_)).tobytes())
    return _VALUES, zlib.compress(changes.tobytes())


def unpack_labels(
    packed: bytes, shape: tuple[int, int], dtype: DTypeLike = np.uint8
) -> NDArray[np.integer]:
    """Unpack an image of labels of this very size; else raise a `SegappError`."""
    labels = np.empty(shape, dtype)
    begin = 0
    for _, box in tiles_of(_whole(shape)):
        if begin + _HEAD.size > len(packed):
            raise SegappError("labels: wanted more tiles")
        kind, length = _HEAD.unpack_from(packed, begin)
        begin += _HEAD.size
        _unpack(kind, packed[begin : begin + length], labels[box])
        begin += length
    if begin != len(packed):
        raise SegappError("labels: wanted fewer tiles")
    return labels


def _unpack(kind: int, packed: bytes, tile: NDArray[np.integer]) -> None:
    """Unpack one tile in place."""
    if kind == _EVEN:
        tile[:] = np.frombuffer(_exactly(packed, tile.itemsize), tile.dtype)
        return
    size = tile.nbytes if kind == _VALUES else -(-tile.size // 8)
    try:
        # A hostile file may hold any number of bytes.
        content = _exactly(zlib.decompressobj().decompress(packed, size + 1), size)
    except zlib.error as error:
        raise SegappError(f"labels: cannot be unpacked: {error}") from error
    if kind == _VALUES:
        changes = np.frombuffer(content, tile.dtype)
    else:
        changes = np.unpackbits(np.frombuffer(content, np.uint8), count=tile.size)
    np.bitwise_xor.accumulate(changes.reshape(tile.shape), axis=0, out=tile, dtype=tile.dtype)


def _exactly(content: bytes, size: int) -> bytes:
    if len(content) != size:
        raise SegappError(f"labels: wanted {size} bytes for a tile, got {len(content)}")
    return content
