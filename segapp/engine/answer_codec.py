"""Codec of past answers: compressed in memory, and as snapshots in projects."""

from __future__ import annotations

import hashlib
import json
import platform
import zlib
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import segapp.imaging
import segapp.model
import shlcore
from segapp.engine.prior import RegionShares
from segapp.engine.refinement import CutLabels
from segapp.io.marks import PackedMarks
from segapp.model.answer import AnswerSnapshot
from segapp.model.settings import to_plain

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from segapp.model.document import Document
    from segapp.model.settings import Settings

_FAST = 1  # zlib's level


@dataclass(frozen=True, slots=True, eq=False)
class PastAnswer:
    """The region shares and the cut of an earlier answer.

    There may be thousands of them, one for each stroke that can be undone: the cut is compressed
    to a few kilobytes, at the cost of a millisecond.

    Parameters
    ----------
    packed
        Classes of the patches, then of the pixels at the working resolution, compressed; empty
        without a cut.
    """

    shares: RegionShares
    packed: bytes = b""

    @classmethod
    def of(cls, shares: RegionShares, cut: CutLabels | None) -> PastAnswer:
        """Compress an answer."""
        if cut is None:
            return cls(shares)
        classes = np.concatenate((cut.patches, cut.labels.ravel()))
        return cls(shares, zlib.compress(classes.tobytes(), _FAST))

    def cut(self, n_patches: int, shape: tuple[int, ...]) -> CutLabels | None:
        """Return the cut if it is one of so many patches and pixels."""
        n_values = n_patches + shape[0] * shape[1]
        try:
            # One byte more would be too many, whatever its full size: the file may be hostile.
            content = zlib.decompressobj().decompress(self.packed, n_values + 1)
        except zlib.error:
            return None
        if len(content) != n_values:
            return None
        classes = np.frombuffer(content, dtype=np.uint8)
        return CutLabels(classes[:n_patches], classes[n_patches:].reshape(shape))


# A digest identifies the inputs of an answer: the image's pixels, the settings, the strokes in
# their order, and the program. If one of them differs, the answer is computed from the first
# stroke on, with the same pixels either way.

_LIBRARIES = ("numpy", "scipy", "scikit-image", "scikit-learn")


def pixels_digest(pixels: NDArray[np.uint8] | NDArray[np.uint16], other: str = "") -> str:
    """Compute the digest of an image's pixels and of another digest."""
    digest = hashlib.sha256((repr(pixels.shape) + other).encode())
    digest.update(np.ascontiguousarray(pixels).data)
    return digest.hexdigest()


@cache
def program_digest() -> str:
    """Compute the digest of the sources and libraries that an answer depends on.

    So no version number has to be raised when the engine changes.
    """
    digest = hashlib.sha256(shlcore.__version__.encode())
    versions = [_version(name) for name in _LIBRARIES]
    digest.update(repr((versions, platform.system(), platform.machine())).encode())
    packages = (segapp.model, segapp.imaging, shlcore)
    folders = [Path(__file__).parent, *(Path(package.__path__[0]) for package in packages)]
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:  # a bundle has no metadata
        return "unknown"


def encode_snapshot(
    pixels: str, document: Document, settings: Settings, past: PastAnswer
) -> AnswerSnapshot:
    """Encode the answer to a document for a project."""
    shares = np.ascontiguousarray(past.shares.shares).tobytes()
    n_classes = past.shares.shares.shape[1]
    digest = _digest(pixels, document, settings, n_classes, (shares, past.packed))
    return AnswerSnapshot(digest, n_classes, shares, past.packed)


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
    return PastAnswer(RegionShares(shares), snapshot.boundary)


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
        document.background,
        n_classes,
        *(hashlib.sha256(part).hexdigest() for part in content),
    ]
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()
