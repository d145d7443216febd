"""Codec of past answers: compressed in memory, and as snapshots in projects."""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from segapp.engine.digests import program_digest
from segapp.engine.prior import RegionShares
from segapp.engine.refinement import CutLabels
from segapp.imaging.rle import pack_labels, unpack_labels
from segapp.io.marks import PackedMarks
from segapp.model.answer import AnswerSnapshot
from segapp.model.settings import to_plain
from segapp.model.validation import SegappError

if TYPE_CHECKING:
    from segapp.model.document import Document
    from segapp.model.settings import Settings

_LENGTH = struct.Struct(">I")


@dataclass(frozen=True, slots=True)
class PastAnswer:
    """The region shares and the cut of an earlier answer, compressed.

    There may be thousands of them, one for each stroke that can be undone, and each takes one
    or two kilobytes.

    Parameters
    ----------
    packed_shares
        The bytes of `RegionShares`, compressed.
    n_classes
        Of the shares.
    packed_cut
        The length of the packed classes of the patches, these, and the packed classes of the
        pixels at the working resolution; nothing without a cut.
    """

    packed_shares: bytes
    n_classes: int
    packed_cut: bytes = b""

    @classmethod
    def of(cls, shares: RegionShares, cut: CutLabels | None = None) -> PastAnswer:
        """Compress an answer."""
        content = np.ascontiguousarray(shares.shares)
        packed = b""
        if cut is not None:
            patches = zlib.compress(cut.patches.tobytes())
            packed = _LENGTH.pack(len(patches)) + patches + pack_labels(cut.labels)
        return cls(zlib.compress(content.tobytes()), content.shape[1], packed)

    @property
    def shares(self) -> RegionShares:
        """The class shares of the regions."""
        content = np.frombuffer(zlib.decompress(self.packed_shares), np.uint8)
        return RegionShares(content.reshape(-1, self.n_classes))

    def cut(self, n_patches: int, shape: tuple[int, int]) -> CutLabels | None:
        """Return the cut if it is one of so many patches and pixels."""
        try:
            (length,) = _LENGTH.unpack_from(self.packed_cut)
            end = _LENGTH.size + length
            # One byte more would be too many, whatever its full size: the file may be hostile.
            unpacking = zlib.decompressobj()
            patches = unpacking.decompress(self.packed_cut[_LENGTH.size : end], n_patches + 1)
            labels = unpack_labels(self.packed_cut[end:], shape)
        except (struct.error, zlib.error, SegappError):
            return None
        if len(patches) != n_patches:
            return None
        return CutLabels(np.frombuffer(patches, np.uint8), labels.astype(np.uint8, copy=False))


def encode_snapshot(
    pixels: str, document: Document, settings: Settings, past: PastAnswer
) -> AnswerSnapshot:
    """Encode the answer to a document for a project."""
    shares, n_classes = zlib.decompress(past.packed_shares), past.n_classes
    digest = _digest(pixels, document, settings, n_classes, (shares, past.packed_cut))
    return AnswerSnapshot(digest, n_classes, shares, past.packed_cut)


def decode_snapshot(
    snapshot: AnswerSnapshot, pixels: str, document: Document, settings: Settings, n_regions: int
) -> PastAnswer | None:
    """Decode a project's snapshot; ``None`` if it is of another document."""
    n_classes, content = snapshot.n_classes, (snapshot.shares, snapshot.boundary)
    if len(snapshot.shares) != n_regions * n_classes:
        return None
    if snapshot.digest != _digest(pixels, document, settings, n_classes, content):
        return None
    shares = np.frombuffer(snapshot.shares, dtype=np.uint8).reshape(n_regions, n_classes)
    totals = shares.sum(axis=1, dtype=np.int64)
    # Each share is rounded, by half a byte at the most.
    if (np.abs(totals - 255) * 2 > n_classes).any():
        return None
    return PastAnswer(zlib.compress(snapshot.shares), n_classes, snapshot.boundary)


def _digest(
    pixels: str,
    document: Document,
    settings: Settings,
    n_classes: int,
    content: tuple[bytes, bytes],
) -> str:
    inputs = [
        program_digest(),
        pixels,
        to_plain(settings),
        PackedMarks.of(document.strokes).digest(),
        None if document.initial is None else hashlib.sha256(document.initial.labels).hexdigest(),
        document.background,
        n_classes,
        *(hashlib.sha256(part).hexdigest() for part in content),
    ]
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()
