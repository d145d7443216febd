"""What a project carries of an answer, so that reopening it costs one update."""

from __future__ import annotations

from dataclasses import dataclass

from segapp.values.document import MOST_CLASSES
from segapp.values.wording import quoted

MOST_REGIONS = 1 << 16
LARGEST_OUTLINE = 4 << 20
"""Bytes; an outline is of a million pixels at the most, and packed."""
_DIGEST = 64


@dataclass(frozen=True, slots=True)
class CarriedAnswer:
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
        As `segapp.learning.kept_answer` packs it; nothing if there is none.
    """

    digest: str
    n_classes: int
    shares: bytes
    outline: bytes = b""

    def __post_init__(self) -> None:
        if len(self.digest) != _DIGEST or set(self.digest) - set("0123456789abcdef"):
            raise ValueError(
                f"digest: wanted {_DIGEST} hexadecimal digits, got {quoted(self.digest)}"
            )
        if not 2 <= self.n_classes <= MOST_CLASSES:
            raise ValueError(f"classes: wanted 2 to {MOST_CLASSES}, got {quoted(self.n_classes)}")
        count, rest = divmod(len(self.shares), self.n_classes)
        if rest or not 1 <= count <= MOST_REGIONS:
            raise ValueError(
                f"shares: wanted {self.n_classes} bytes for each of 1 to {MOST_REGIONS} regions, "
                f"got {len(self.shares)}"
            )
        if len(self.outline) > LARGEST_OUTLINE:
            raise ValueError(
                f"outline: wanted at most {LARGEST_OUTLINE} bytes, got {len(self.outline)}"
            )
