"""The answer before the newest stroke on its way into a project and back.

A digest says what it belongs to: the picture's pixels, the settings, the strokes in their order,
and the program that answered. If one of them is another, the answer is made from the first
stroke on, as if nothing had been carried: it is the same to the pixel either way.
"""

from __future__ import annotations

import hashlib
import json
import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import shlcore
from segapp.files.plain_document import marks_to_plain
from segapp.learning.kept_answer import KeptAnswer
from segapp.learning.locality import RegionShares
from segapp.values.carried_answer import CarriedAnswer
from segapp.values.plain_settings import to_plain

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from segapp.values.document import Document
    from segapp.values.settings import Settings

_ROOMS = ("values", "picture", "outline", "learning")
"""Where answers are made, besides the learner itself."""
_LIBRARIES = ("numpy", "scipy", "scikit-image", "scikit-learn")


def pixels_digest(pixels: NDArray[np.uint8] | NDArray[np.uint16], beside: str = "") -> str:
    """Tell pictures apart by their pixels, however they were stored, and by a digest beside."""
    digest = hashlib.sha256((repr(pixels.shape) + beside).encode())
    digest.update(np.ascontiguousarray(pixels).data)
    return digest.hexdigest()


@cache
def program_digest() -> str:
    """Tell programs apart that may answer differently: by their sources and libraries.

    No number has to be raised when the engine changes, so that nobody forgets it.
    """
    digest = hashlib.sha256(shlcore.__version__.encode())
    versions = [_version(name) for name in _LIBRARIES]
    digest.update(repr((versions, platform.system(), platform.machine())).encode())
    here, learner = Path(__file__).parents[1], Path(shlcore.__file__).parent
    for folder in (*(here / room for room in _ROOMS), learner):
        for path in sorted(folder.rglob("*.py")):
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:  # bundled without what pip knows of it
        return "unknown"


def packed(pixels: str, document: Document, settings: Settings, kept: KeptAnswer) -> CarriedAnswer:
    """Make what a project may carry of the answer to a document."""
    values = np.ascontiguousarray(kept.shares.shares).tobytes()
    n_classes = kept.shares.shares.shape[1]
    digest = _digest(pixels, document, settings, n_classes, (values, kept.packed))
    return CarriedAnswer(digest, n_classes, values, kept.packed)


def unpacked(
    carried: CarriedAnswer, pixels: str, document: Document, settings: Settings, n_regions: int
) -> KeptAnswer | None:
    """Return what was carried, or ``None`` when it is not the answer to this document."""
    n_classes, values = carried.n_classes, carried.shares
    if len(values) != n_regions * n_classes:
        return None
    told = values, carried.outline
    if carried.digest != _digest(pixels, document, settings, n_classes, told):
        return None
    shares = np.frombuffer(values, dtype=np.uint8).reshape(n_regions, n_classes)
    whole = shares.sum(axis=1, dtype=np.int64)
    # Each share is rounded, by half a byte at the most.
    if (np.abs(whole - 255) * 2 > n_classes).any():
        return None
    return KeptAnswer(RegionShares(shares), carried.outline)


def _digest(
    pixels: str,
    document: Document,
    settings: Settings,
    n_classes: int,
    kept: tuple[bytes, bytes],
) -> str:
    told = [
        program_digest(),
        pixels,
        to_plain(settings),
        marks_to_plain(document.strokes),
        document.background,
        n_classes,
        *(hashlib.sha256(part).hexdigest() for part in kept),
    ]
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()
