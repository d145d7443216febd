"""Priors: the image border and the previous labelling."""

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

import shlcore
from segapp.engine.refinement import Outline
from segapp.io.project import marks_to_plain
from segapp.model.answer import Answer, AnswerSnapshot
from segapp.model.settings import to_plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from segapp.engine.kernels import Geodesics
    from segapp.engine.superpixels import Prototypes
    from segapp.model.answer import Update
    from segapp.model.document import Document, Mark
    from segapp.model.settings import Settings


_RING = 0.02
"""Width of the border, as a part of the picture's shorter side."""


def border_of(shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Mask the border of a picture."""
    width = max(1, round(_RING * min(shape[:2])))
    ring = np.ones(shape[:2], dtype=bool)
    ring[width:-width, width:-width] = False
    return ring


def with_border(marked: NDArray[np.int16], background: int) -> NDArray[np.int16]:
    """Mark what is unmarked of the border as background.

    So it is learnt from when an object alone is marked. It is a guess and no mark: the object
    may still reach the border, and the first stroke on the background takes its place. On half
    of the tuning images the first answer has an IoU of 0.59 from one dab on the object, and of
    0.78 from its given strokes; how much the border counts there (1 to 1/100) changes nothing.
    """
    unmarked = marked < 0
    return np.where(border_of(marked.shape) & unmarked, np.int16(background), marked)


# A stroke says something about its surroundings. Far away, where older strokes are nearer, the
# answer that they have led to stays unless there is a good reason to change it: one more stroke
# must not turn over a region that nobody has touched. And a stroke that lies half on what already
# had its class moves an outline, and says little about anything else.

_OF_CONFIRMATION = 1.0
"""How much is added to the prior, times the usual, when a stroke says nothing new. Of ten dips on
the tuning images three came from dabs half of which said nothing new; with 1 they are gone. With 3
they are gone as well, but hard pictures seem to need more strokes to 95 %."""


@dataclass(frozen=True, slots=True, eq=False)
class RegionShares:
    """How much of each region each class of the document had in an answer.

    ``shares`` is regions x classes, uint8, where 255 is all of it: coarse on purpose, so that
    a file that carries it gives the same answer as the program that wrote it.
    """

    shares: NDArray[np.uint8]

    @classmethod
    def of(cls, prototypes: Prototypes, labels: NDArray[np.uint8], n_classes: int) -> RegionShares:
        """Count the labels of the level at which is learnt."""
        keys = prototypes.index_map.ravel() * np.int32(n_classes) + labels.ravel()
        counts = np.bincount(keys, minlength=len(prototypes) * n_classes)
        part = counts.reshape(len(prototypes), n_classes) / prototypes.sizes[:, None]
        return cls(np.rint(255 * part).astype(np.uint8))

    def of_classes(self, classes: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the shares of some classes, from 0 to 1; a class that is new had none."""
        n_known = self.shares.shape[1]
        known = classes < n_known
        shares = np.zeros((len(self.shares), len(classes)))
        shares[:, known] = self.shares[:, classes[known]] / 255.0
        return shares

    def confirmed_by(self, prototypes: Prototypes, marked: NDArray[np.int16]) -> float:
        """Return how much of the marked pixels had their class before, as far as regions tell.

        ``marked`` is of the level at which is learnt, -1 where nothing is; without any mark
        nothing is confirmed.
        """
        places = np.flatnonzero(marked >= 0)
        if not places.size:
            return 0.0
        labels = marked.take(places).astype(np.intp)
        regions = prototypes.index_map.take(places)
        known = labels < self.shares.shape[1]
        return float(self.shares[regions[known], labels[known]].sum(dtype=np.int64)) / (
            255.0 * places.size
        )


def strength(confirmed: float) -> float:
    """Return how strong the prior is against the usual, given how much a stroke confirms."""
    return 1.0 + _OF_CONFIRMATION * confirmed


def prior_costs(
    geodesics: Geodesics,
    newest: NDArray[np.intp],
    earlier: NDArray[np.intp],
    shares: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return what it costs a region to leave the class it had, regions x classes, at most 1.

    Parameters
    ----------
    newest, earlier
        The regions under the newest stroke, and under all that were there before.
    shares
        Regions x classes, those of the answer before the newest stroke.
    """
    to_new, to_old = geodesics.distances(newest), geodesics.distances(earlier)
    far = to_new / np.maximum(to_new + to_old, 1e-9)
    return np.asarray(far[:, None] * (1.0 - shares))


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


# A digest says what it belongs to: the picture's pixels, the settings, the strokes in their order,
# and the program that answered. If one of them is another, the answer is made from the first
# stroke on, as if nothing had been carried: it is the same to the pixel either way.

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


def packed(
    pixels: str, document: Document, settings: Settings, kept: KeptAnswer
) -> AnswerSnapshot:
    """Make what a project may carry of the answer to a document."""
    values = np.ascontiguousarray(kept.shares.shares).tobytes()
    n_classes = kept.shares.shares.shape[1]
    digest = _digest(pixels, document, settings, n_classes, (values, kept.packed))
    return AnswerSnapshot(digest, n_classes, values, kept.packed)


def unpacked(
    carried: AnswerSnapshot, pixels: str, document: Document, settings: Settings, n_regions: int
) -> KeptAnswer | None:
    """Return what was carried, or ``None`` when it is not the answer to this document."""
    n_classes, values = carried.n_classes, carried.shares
    if len(values) != n_regions * n_classes:
        return None
    told = values, carried.boundary
    if carried.digest != _digest(pixels, document, settings, n_classes, told):
        return None
    shares = np.frombuffer(values, dtype=np.uint8).reshape(n_regions, n_classes)
    whole = shares.sum(axis=1, dtype=np.int64)
    # Each share is rounded, by half a byte at the most.
    if (np.abs(whole - 255) * 2 > n_classes).any():
        return None
    return KeptAnswer(RegionShares(shares), carried.boundary)


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


class LastAnswer:
    """Remembers one answer; whoever holds the answer too shares its arrays with it."""

    def __init__(self) -> None:
        self._asked: object = None
        self._retouches: tuple[Mark, ...] = ()
        self._answer: Answer | None = None

    def known_or(
        self, asked: object, retouches: tuple[Mark, ...], updates: Iterator[Update]
    ) -> Iterator[Update]:
        """Yield the remembered answer if only retouches are others, or else the updates.

        ``asked`` is all that the answer depends on. Who asks for the very same again has a
        reason to, and gets it made anew.
        """
        known = self._answer if asked == self._asked and retouches != self._retouches else None
        self._retouches = retouches
        if known is not None:
            yield known
            return
        for update in updates:
            if isinstance(update, Answer):
                self._asked, self._answer = asked, update
            yield update
