"""Labels, margins and hash codes of all pixels, and training updates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from segapp.model.classes import MAX_CLASSES
from segapp.model.validation import SegappError, short_repr

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from segapp.model.document import Document
    from segapp.model.picture import EncoderFeatures
    from segapp.model.settings import Settings


if TYPE_CHECKING:
    Box = tuple[slice, slice]

Value = TypeVar("Value", bound=np.generic, covariant=True)
_ALL = (slice(None), slice(None))


class PixelValues(Protocol[Value]):
    """A value for every pixel, given for the rows and columns that are asked for.

    An array is one. What follows from a few regions is better made when it is looked at: of
    a large picture nobody looks at all of it.
    """

    def __getitem__(self, box: Box, /) -> NDArray[Value]:
        """Return the values of some rows and columns, which may leave some out."""


@dataclass(frozen=True, slots=True, eq=False)
class Labelling:
    """What is known of each pixel, of the picture's height and width.

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
        How many classes there are, whether or not each has pixels.
    n_bits
        How many bits of the codes are used.
    """

    labels: NDArray[np.uint8]
    margins: PixelValues[np.float32]
    hash_codes: PixelValues[np.uint32]
    n_classes: int
    n_bits: int

    def __post_init__(self) -> None:
        for array in (self.labels, self.margins, self.hash_codes):
            if isinstance(array, np.ndarray):
                array.flags.writeable = False

    @property
    def margin(self) -> NDArray[np.float32]:
        """The margins of all pixels as one array."""
        return self.margins[_ALL]

    @property
    def codes(self) -> NDArray[np.uint32]:
        """The hash codes of all pixels as one array."""
        return self.hash_codes[_ALL]


# An unfinished picture (`Preview`) and an answer are different types: nothing that wants an
# answer, an export for instance, can be handed the other by mistake.


class NotEnoughStrokes(SegappError):  # noqa: N818 - a state of the user's work, not an error
    """What is marked does not suffice for an answer; the message says what is missing."""


@dataclass(frozen=True, slots=True, eq=False)
class Insight:
    """What was learnt, for those who want to look inside.

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
class Preview:
    """An unfinished picture: to be looked at while the answer is on its way, and for no more.

    Each of its pixels stands for ``times`` x ``times`` of the picture's, as far as there are so
    many. ``codewords`` are those that its codes were compared with, shaped as in `Insight`.
    """

    labelling: Labelling
    times: int = 1
    codewords: NDArray[np.int8] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """Where the training is, with a picture of it now and then."""

    step: str
    fraction: float
    preview: Preview | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """The final labelling for a document and settings, and what was learnt on the way.

    ``carry`` makes what a project may carry, so that the same answer comes quickly when it is
    opened again; ``None`` where that would save nothing.
    """

    labelling: Labelling
    insight: Insight | None = None
    make_snapshot: Callable[[], AnswerSnapshot] | None = None

    def snapshot(self) -> AnswerSnapshot | None:
        """Return what a project may carry of it."""
        return self.make_snapshot() if self.make_snapshot is not None else None


Update = Report | Answer


class Segmenter(Protocol):
    """Makes the answers for one picture; `segapp.engine.trainer.Trainer` is the one we have."""

    def prepare(self, settings: Settings) -> None:
        """Make what depends on the picture alone."""

    def recall(self, carried: AnswerSnapshot) -> None:
        """Use what a project carries of an answer, if it is one of this picture."""

    def see(self, encoded: EncoderFeatures) -> None:
        """Use what a network sees in the picture, for settings that want it."""

    def updates(self, document: Document, settings: Settings) -> Iterator[Update]:
        """Report progress; the last update, and no other, is the answer."""

    def glimpses(self, document: Document, settings: Settings) -> Iterator[Report]:
        """Look at a stroke in the making; the last report has the preview, and none is kept."""


if TYPE_CHECKING:
    MakeSegmenter = Callable[[NDArray[np.uint8], NDArray[Any] | None], Segmenter]
    """From ``Picture.rgb`` and ``Picture.channels`` to what segments the picture."""


def _look_away(report: Report) -> None:
    """Watch nothing."""


def final_answer(
    updates: Iterable[Update], watch: Callable[[Report], None] = _look_away
) -> Answer:
    """Run the updates to their end and return the answer; ``watch`` sees each report.

    >>> from segapp.engine.trainer import Trainer
    >>> from segapp.model.document import Document, Stroke
    >>> from segapp.model.settings import DEFAULT_SETTINGS
    >>> import numpy as np
    >>> rgb = np.zeros((8, 8, 3), np.uint8)
    >>> rgb[:, 4:] = 255  # black and white halves, a dot on each
    >>> strokes = (Stroke(((1.5, 4.5),), 1.0, 0), Stroke(((6.5, 4.5),), 1.0, 1))
    >>> updates = Trainer(rgb).updates(Document(strokes=strokes), DEFAULT_SETTINGS)
    >>> final_answer(updates).labelling.labels[0]
    array([0, 0, 0, 0, 1, 1, 1, 1], dtype=uint8)
    """
    for update in updates:
        if isinstance(update, Answer):
            return update
        watch(update)
    raise ValueError("There is no answer from these strokes.")


MAX_REGIONS = 1 << 16
MAX_BOUNDARY_BYTES = 4 << 20
"""Bytes; an outline is of a million pixels at the most, and packed."""
_DIGEST = 64


@dataclass(frozen=True, slots=True)
class AnswerSnapshot:
    """The answer before the newest stroke: what each class had of each region, and the outline.

    Parameters
    ----------
    digest
        SHA-256, in hexadecimal digits, of all that the answer depends on and of itself. Who
        finds another one does not use it, and is slower.
    n_classes
        Of the document when the answer was made.
    shares
        A byte for each class of each region, region by region; 255 is all of it.
    outline
        As `segapp.engine.prior` packs it; nothing if there is none.
    """

    digest: str
    n_classes: int
    shares: bytes
    outline: bytes = b""

    def __post_init__(self) -> None:
        if len(self.digest) != _DIGEST or set(self.digest) - set("0123456789abcdef"):
            raise SegappError(
                f"digest: wanted {_DIGEST} hexadecimal digits, got {short_repr(self.digest)}"
            )
        if not 2 <= self.n_classes <= MAX_CLASSES:
            raise SegappError(
                f"classes: wanted 2 to {MAX_CLASSES}, got {short_repr(self.n_classes)}"
            )
        count, rest = divmod(len(self.shares), self.n_classes)
        if rest or not 1 <= count <= MAX_REGIONS:
            raise SegappError(
                f"shares: wanted {self.n_classes} bytes for each of 1 to {MAX_REGIONS} regions, "
                f"got {len(self.shares)}"
            )
        if len(self.outline) > MAX_BOUNDARY_BYTES:
            raise SegappError(
                f"outline: wanted at most {MAX_BOUNDARY_BYTES} bytes, got {len(self.outline)}"
            )
