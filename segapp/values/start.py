"""The answer that a model gave before any stroke, as a plain value that strokes correct."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from segapp.values.labelling import Labelling

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_COARSE = 256  # pixels of the longer side of the margin, which only guides the eye


@dataclass(frozen=True, slots=True)
class Start:
    """Labels of every pixel, packed so that they are comparable, hashable and small.

    Parameters
    ----------
    name
        Of the model, or of the picture that it was learnt on.
    labels
        ``height x width`` bytes, the class of each pixel, by `zlib`.
    margin
        How sure the model was, 255 where surest, at a coarse size; packed likewise.
    n_classes
        One more than the highest label that may occur.
    """

    name: str
    height: int
    width: int
    labels: bytes
    margin: bytes
    n_classes: int

    @classmethod
    def of(cls, labelling: Labelling, name: str) -> Start:
        """Pack an answer."""
        height, width = labelling.labels.shape
        step = _step(height, width)
        margin = labelling.margin[::step, ::step]
        scale = 255.0 / max(float(margin.max()), 1e-12)
        return cls(
            name,
            height,
            width,
            zlib.compress(np.ascontiguousarray(labelling.labels).tobytes(), 6),
            zlib.compress(np.rint(margin * scale).astype(np.uint8).tobytes(), 6),
            labelling.n_classes,
        )

    def pixels(self) -> NDArray[np.uint8]:
        """Return the class of each pixel; a `ValueError` when the bytes are no such picture."""
        values = _unpacked(self.labels, (self.height, self.width), "labels")
        if values.size and values.max() >= self.n_classes:
            raise ValueError(
                f"start: wanted classes below {self.n_classes}, got {int(values.max())}"
            )
        return values

    def labelling(self, n_classes: int) -> Labelling:
        """Return the answer itself, for a document of so many classes."""
        step = _step(self.height, self.width)
        coarse = _unpacked(
            self.margin, (-(-self.height // step), -(-self.width // step)), "margin"
        )
        fine = coarse.repeat(step, axis=0)[: self.height].repeat(step, axis=1)[:, : self.width]
        codes = np.zeros((self.height, self.width), np.uint32)
        return Labelling(
            self.pixels(), np.divide(fine, 255, dtype=np.float32), codes, n_classes, 1
        )

    def with_classes(self, places: Sequence[int], n_classes: int) -> Start:
        """Return it with each class at another place."""
        table = np.zeros(256, np.uint8)
        table[: len(places)] = places
        moved = table[self.pixels()]
        return replace(self, labels=zlib.compress(moved.tobytes(), 6), n_classes=n_classes)


def _step(height: int, width: int) -> int:
    return -(-max(height, width) // _COARSE)


def _unpacked(packed: bytes, size: tuple[int, int], name: str) -> NDArray[np.uint8]:
    """Unpack exactly so many bytes, however many a stranger's file may hold."""
    wanted = size[0] * size[1]
    stream = zlib.decompressobj()
    try:
        values = stream.decompress(packed, wanted + 1)
    except zlib.error as error:
        raise ValueError(f"start: {name} cannot be unpacked: {error}") from error
    if len(values) != wanted:
        raise ValueError(f"start: wanted {wanted} bytes of {name}, got {len(values)} or more")
    return np.frombuffer(values, np.uint8).reshape(size)
