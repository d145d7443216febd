"""Labels at full size: as they were drawn, and as they are shown, in one array."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from segapp.outline.parts import Rewriting
    from segapp.values.marked import Marked


@dataclass(frozen=True, slots=True, eq=False)
class Enlarged:
    """Labels at full size, and all that the next drawing goes on from.

    Parameters
    ----------
    small
        The labels of the level at which is learnt.
    marked
        Marked pixels have the class they are marked with.
    labels
        uint8, read-only, tidied.
    tidying
        What tidying has written over the drawing.
    """

    small: NDArray[np.uint8]
    marked: Marked
    labels: NDArray[np.uint8]
    tidying: Rewriting | None

    def as_drawn(self) -> NDArray[np.uint8]:
        """Return a copy of the labels as they were before tidying."""
        labels = self.labels.copy()
        if self.tidying is not None:
            self.tidying.take_back(labels)
        return labels


@dataclass(frozen=True, slots=True, eq=False)
class FreshDrawing:
    """What has just been drawn, and was shown to nobody: its labels may be written to, once."""

    small: NDArray[np.uint8]
    marked: Marked
    labels: NDArray[np.uint8]

    def tidied(self, tidying: Rewriting | None) -> Enlarged:
        """Write over the labels in place: to copy them takes longer than all of tidying."""
        if tidying is not None:
            tidying.write(self.labels)
        self.labels.flags.writeable = False
        return Enlarged(self.small, self.marked, self.labels, tidying)
