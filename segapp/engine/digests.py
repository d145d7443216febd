"""Digests of the inputs of an answer, by which a stored one is found valid.

A digest identifies the inputs of an answer: the image's pixels, the settings, the strokes in
their order, and the program. If one of them differs, the answer is computed from the first
stroke on, with the same pixels either way.
"""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import segapp.imaging
import segapp.model
import shlcore

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LIBRARIES = ("numpy", "scipy", "scikit-image", "scikit-learn", "pillow")


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
    versions = [shlcore.version_of(name) for name in _LIBRARIES]
    digest.update(repr((versions, platform.system(), platform.machine())).encode())
    packages = (segapp.model, segapp.imaging, shlcore)
    folders = [Path(__file__).parent, *(Path(package.__path__[0]) for package in packages)]
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()
