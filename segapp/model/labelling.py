"""Labels, margins and hash codes of all pixels, and packed labels to begin with."""

from __future__ import annotations

import threading
import zlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import numpy as np

from segapp.model.validation import SegappError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from segapp.model.classes import ObjectMap

    Box = tuple[slice, slice]

Value = TypeVar("Value", bound=np.generic, covariant=True)
Scores = TypeVar("Scores", bound=np.generic)
_ALL = (slice(None), slice(None))
_COARSE = 256  # pixels of the longer side of packed margins, which only guide the eye


class PixelValues(Protocol[Value]):
    """A value for every pixel, given for the rows and columns that are asked for.

    An array is one. Values that follow from a few regions are made when they are looked at, as
    only a part of a large image is ever in view.
    """

    def __getitem__(self, box: Box, /) -> NDArray[Value]:
        """Return the values of some rows and columns, which may leave some out."""


class DeferredValues(Generic[Scores]):
    """Values that are computed when they are first asked for, in the thread that asks."""

    def __init__(self, compute: Callable[[], PixelValues[Scores]]) -> None:
        self._compute = compute
        self._values: PixelValues[Scores] | None = None
        self._lock = threading.Lock()

    def __getitem__(self, box: Box) -> NDArray[Scores]:
        with self._lock:
            if self._values is None:
                self._values = self._compute()
        return self._values[box]


@dataclass(frozen=True, slots=True, eq=False)
class Insight:
    """The learnt kernel weights, codewords and objective.

    Parameters
    ----------
    kernels
        A readable name for each kernel, "colour, sigma 0.125" for instance.
    kernel_weights
        One row a bit, one column a kernel.
    codewords
        Classes x codewords x bits, -1 or +1.
    objective
        Eq. (6) after each block so far; never rises.
    seconds
        Time spent in each named step of this update.
    """

    kernels: tuple[str, ...]
    kernel_weights: NDArray[np.float64]
    codewords: NDArray[np.int8]
    objective: tuple[float, ...]
    seconds: dict[str, float]


@dataclass(frozen=True, slots=True, eq=False)
class Labelling:
    """Class, margin and hash code of each pixel, of the image's height and width.

    Parameters
    ----------
    labels
        uint8, index of the class of each pixel, read-only once it is here.
    margins
        float32, at least 0: how much nearer the best class's codeword is than the second
        best's, in hinge distance. 0 is undecided; pixels under a stroke hold the maximum.
    hash_codes
        uint32, the hash code of each pixel, first bit lowest.
    n_classes
        Number of classes, whether or not each has pixels.
    n_bits
        Number of bits of the codes that are used.
    objects
        Of each pixel, where the document tells more of them than connectivity does.
    make_insight
        Gives what was learnt, for files that hold it; ``None`` where nothing was learnt here.
    """

    labels: NDArray[np.uint8]
    margins: PixelValues[np.float32]
    hash_codes: PixelValues[np.uint32]
    n_classes: int
    n_bits: int
    objects: ObjectMap | None = None
    make_insight: Callable[[], Insight | None] | None = None

    def __post_init__(self) -> None:
        for array in (self.labels, self.margins, self.hash_codes):
            if isinstance(array, np.ndarray):
                array.flags.writeable = False

    @property
    def has_scores(self) -> bool:
        """Whether margins and codes are there, and need not be learnt first."""
        return not isinstance(self.margins, DeferredValues)

    @property
    def margin(self) -> NDArray[np.float32]:
        """The margins of all pixels as one array."""
        return self.margins[_ALL]

    @property
    def codes(self) -> NDArray[np.uint32]:
        """The hash codes of all pixels as one array."""
        return self.hash_codes[_ALL]


@dataclass(frozen=True, slots=True)
class InitialLabels:
    """Labels of every pixel, packed so that they are comparable, hashable and small.

    Parameters
    ----------
    name
        Of the model, or of the image that it was learnt on.
    labels
        ``height x width`` bytes, the class of each pixel, by `zlib`.
    margin
        The model's margins at a coarse size, 255 the largest; packed likewise.
    n_classes
        One more than the highest label that may occur.
    propagated
        From other pages of a stack: nearly all of them are right, those of a model of another
        image need not be.
    """

    name: str
    height: int
    width: int
    labels: bytes
    margin: bytes
    n_classes: int
    propagated: bool = False

    @classmethod
    def from_labelling(cls, labelling: Labelling, name: str) -> InitialLabels:
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
        """Return the class of each pixel; raise `SegappError` where the bytes hold none."""
        values = _unpacked(self.labels, (self.height, self.width), "labels")
        if values.size and values.max() >= self.n_classes:
            raise SegappError(
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

    def with_classes(self, indices: Sequence[int], n_classes: int) -> InitialLabels:
        """Renumber the classes: ``indices`` holds the new index of each."""
        table = np.zeros(256, np.uint8)
        table[: len(indices)] = indices
        moved = table[self.pixels()]
        return replace(self, labels=zlib.compress(moved.tobytes(), 6), n_classes=n_classes)


def _step(height: int, width: int) -> int:
    return -(-max(height, width) // _COARSE)


def _unpacked(packed: bytes, size: tuple[int, int], name: str) -> NDArray[np.uint8]:
    """Unpack exactly so many bytes, however many a hostile file may hold."""
    wanted = size[0] * size[1]
    try:
        values = zlib.decompressobj().decompress(packed, wanted + 1)
    except zlib.error as error:
        raise SegappError(f"start: {name} cannot be unpacked: {error}") from error
    if len(values) != wanted:
        raise SegappError(f"start: wanted {wanted} bytes of {name}, got {len(values)} or more")
    return np.frombuffer(values, np.uint8).reshape(size)
