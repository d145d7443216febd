"""What is kept of an answer, for the next stroke to go on from."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from segapp.outline.drawing import Outline

if TYPE_CHECKING:
    from segapp.learning.locality import RegionShares

_QUICKLY = 1


@dataclass(frozen=True, slots=True, eq=False)
class KeptAnswer:
    """How much each class had of each region, and the outline.

    There may be thousands of them, one for each stroke that can be undone: the outline is packed
    to a few kilobytes, at the cost of a millisecond.

    Parameters
    ----------
    packed
        Classes of the patches, then of the pixels at the size at which is learnt, compressed;
        nothing if no outline was drawn.
    """

    shares: RegionShares
    packed: bytes = b""

    @classmethod
    def of(cls, shares: RegionShares, outline: Outline | None) -> KeptAnswer:
        """Keep an answer."""
        if outline is None:
            return cls(shares)
        whole = np.concatenate((outline.patches, outline.labels.ravel()))
        return cls(shares, zlib.compress(whole.tobytes(), _QUICKLY))

    def outline(self, n_patches: int, shape: tuple[int, ...]) -> Outline | None:
        """Return the outline on so many patches and pixels; ``None`` if there is none of that."""
        wanted = n_patches + shape[0] * shape[1]
        try:
            # One byte more would be too many, whatever it unpacks to: it may be a stranger's.
            whole = zlib.decompressobj().decompress(self.packed, wanted + 1)
        except zlib.error:
            return None
        if len(whole) != wanted:
            return None
        classes = np.frombuffer(whole, dtype=np.uint8)
        return Outline(classes[:n_patches], classes[n_patches:].reshape(shape))
