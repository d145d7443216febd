"""Answers of the learner: reports, previews and snapshots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from segapp.model.classes import MAX_CLASSES
from segapp.model.validation import SegappError, short_repr

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from segapp.model.classes import Key
    from segapp.model.document import Document
    from segapp.model.explanation import PixelExplanation
    from segapp.model.labelling import Insight, Labelling
    from segapp.model.picture import EncoderFeatures
    from segapp.model.settings import Settings

MAX_REGIONS = 1 << 16
MAX_BOUNDARY_BYTES = 4 << 20
"""Of a packed boundary, which is of a million pixels at the most."""
MAX_PACKED_LABELS = 64 << 20
_DIGEST_LENGTH = 64


class NotEnoughStrokes(SegappError):  # noqa: N818 - a state of the user's work, not an error
    """The marks do not suffice for an answer; the message names the missing ones."""


@dataclass(frozen=True, slots=True, eq=False)
class Preview:
    """A provisional labelling, shown until the answer is there.

    It has a type of its own, so that nothing that needs an answer, an export for instance, can be
    handed one by mistake. Each of its pixels stands for ``times`` x ``times`` of the image's, as
    far as there are so many. ``codewords`` are those that its codes were compared with, shaped as
    in `Insight`.
    """

    labelling: Labelling
    times: int = 1
    codewords: NDArray[np.int8] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """The progress of an update, with a preview now and then."""

    step: str
    fraction: float
    preview: Preview | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """The final labelling for a document and settings, with the learner's insight.

    ``make_snapshot`` packs what a project stores, so that the same answer comes quickly when it is
    opened again; ``None`` where that would save nothing. ``explain`` yields the
    reasons for the class of a pixel at ``x, y``, then, after reports, the same with strokes left
    out on trial (`segapp.engine.explanation`); ``None`` where nothing was learnt.
    """

    labelling: Labelling
    insight: Insight | None = None
    make_snapshot: Callable[[], AnswerSnapshot | None] | None = None
    explain: Callable[[float, float], Iterator[PixelExplanation | Report]] | None = None

    def snapshot(self) -> AnswerSnapshot | None:
        """Return the snapshot for a project file."""
        return self.make_snapshot() if self.make_snapshot is not None else None


Update = Report | Answer

PROPOSAL_SIZES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.6)
"""Sizes of proposed objects, as shares of the image: from a part over the object to more."""
DEFAULT_PROPOSAL = 4


@dataclass(frozen=True, slots=True, eq=False)
class ObjectProposal:
    """The object at a point as the image alone suggests it.

    Each pixel of the mask stands for ``times`` x ``times`` of the image's.
    """

    mask: NDArray[np.bool_]
    times: int


class ImageTrainer(Protocol):
    """Makes the answers for one image; `segapp.engine.trainer.Trainer` is one."""

    def prepare(self, settings: Settings) -> None:
        """Compute everything that depends on the image alone."""

    def recall(self, carried: AnswerSnapshot) -> None:
        """Use a project's snapshot of an answer, if it is one of this image."""

    def set_encoder_features(self, encoded: EncoderFeatures) -> None:
        """Use an encoder's features of the image, for settings that want them."""

    def updates(self, document: Document, settings: Settings) -> Iterator[Update]:
        """Report progress; the last update, and no other, is the answer."""

    def live_preview(self, document: Document, settings: Settings) -> Iterator[Report]:
        """Preview a stroke in the making, by the last report; none is kept."""

    def propose_object(
        self, x: float, y: float, settings: Settings, size: int
    ) -> ObjectProposal | None:
        """Return the object at a point, before any stroke."""

    def upsampled_proposal(
        self, proposal: ObjectProposal, settings: Settings
    ) -> NDArray[np.bool_]:
        """Return a proposal at the image's size."""


if TYPE_CHECKING:
    MakeTrainer = Callable[[NDArray[np.uint8], NDArray[Any] | None], ImageTrainer]
    """From ``Picture.rgb`` and ``Picture.channels`` to a segmenter of the image."""


def _ignore(report: Report) -> None:
    """Drop a report."""


def final_answer(updates: Iterable[Update], watch: Callable[[Report], None] = _ignore) -> Answer:
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


@dataclass(frozen=True, slots=True)
class AnswerSnapshot:
    """Class shares of the regions and the boundary before the newest stroke.

    Parameters
    ----------
    digest
        SHA-256, in hexadecimal digits, of all that the answer depends on and of itself. A learner
        that computes another one ignores the snapshot, and is slower.
    n_classes
        Of the document when the answer was made.
    shares
        A byte for each class of each region, region by region; 255 is all of it.
    boundary
        As `segapp.engine.answer_codec` packs it; nothing if there is none.
    """

    digest: str
    n_classes: int
    shares: bytes
    boundary: bytes = b""

    def __post_init__(self) -> None:
        _check_digest(self.digest)
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
        if len(self.boundary) > MAX_BOUNDARY_BYTES:
            raise SegappError(
                f"outline: wanted at most {MAX_BOUNDARY_BYTES} bytes, got {len(self.boundary)}"
            )


@dataclass(frozen=True, slots=True)
class StoredLabels:
    """The labels of an answer in a project, to be shown and exported without learning.

    Parameters
    ----------
    digest
        SHA-256, in hexadecimal digits, of all that the labels depend on and of themselves; empty
        until it is known.
    labels
        By `segapp.imaging.rle`, of the image's size.
    objects, keys
        The index map of the answer's objects, packed likewise, and the class and number of each;
        nothing where connectivity alone tells them apart.
    """

    digest: str
    labels: bytes
    objects: bytes = b""
    keys: tuple[Key, ...] = ()

    def __post_init__(self) -> None:
        if self.digest:
            _check_digest(self.digest)
        for packed in (self.labels, self.objects):
            if len(packed) > MAX_PACKED_LABELS:
                raise SegappError(
                    f"labels: wanted at most {MAX_PACKED_LABELS} bytes, got {len(packed)}"
                )


def _check_digest(digest: str) -> None:
    if len(digest) != _DIGEST_LENGTH or set(digest) - set("0123456789abcdef"):
        raise SegappError(
            f"digest: wanted {_DIGEST_LENGTH} hexadecimal digits, got {short_repr(digest)}"
        )
