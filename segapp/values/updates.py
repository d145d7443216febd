"""What a training reports while it runs, and the answer that ends it.

An unfinished picture (`Preview`) and an answer are different types: nothing that wants an answer,
an export for instance, can be handed the other by mistake.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from segapp.values.carried_answer import CarriedAnswer
    from segapp.values.document import Document
    from segapp.values.encoded import EncodedPicture
    from segapp.values.labelling import Labelling
    from segapp.values.settings import Settings


class NotEnoughStrokes(ValueError):  # noqa: N818 - a state of the user's work, not an error
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
    carry: Callable[[], CarriedAnswer] | None = None

    def carried(self) -> CarriedAnswer | None:
        """Return what a project may carry of it."""
        return self.carry() if self.carry is not None else None


Update = Report | Answer


class Segmenter(Protocol):
    """Makes the answers for one picture; `segapp.learning.training.Trainer` is the one we have."""

    def prepare(self, settings: Settings) -> None:
        """Make what depends on the picture alone."""

    def recall(self, carried: CarriedAnswer) -> None:
        """Use what a project carries of an answer, if it is one of this picture."""

    def see(self, encoded: EncodedPicture) -> None:
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


def answer_of(updates: Iterable[Update], watch: Callable[[Report], None] = _look_away) -> Answer:
    """Run the updates to their end and return the answer; ``watch`` sees each report.

    >>> from segapp.learning.training import Trainer
    >>> from segapp.values.document import Document, Stroke
    >>> from segapp.values.settings import DEFAULT_SETTINGS
    >>> import numpy as np
    >>> rgb = np.zeros((8, 8, 3), np.uint8)
    >>> rgb[:, 4:] = 255  # black and white halves, a dot on each
    >>> strokes = (Stroke(((1.5, 4.5),), 1.0, 0), Stroke(((6.5, 4.5),), 1.0, 1))
    >>> updates = Trainer(rgb).updates(Document(strokes=strokes), DEFAULT_SETTINGS)
    >>> answer_of(updates).labelling.labels[0]
    array([0, 0, 0, 0, 1, 1, 1, 1], dtype=uint8)
    """
    for update in updates:
        if isinstance(update, Answer):
            return update
        watch(update)
    raise ValueError("There is no answer from these strokes.")
