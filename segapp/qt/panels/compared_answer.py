"""An answer as it is kept to be compared with others: small, with all that was learnt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from segapp.values.overlay import overlay

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from segapp.values.document import ClassInfo
    from segapp.values.labelling import Labelling
    from segapp.values.picture import Picture
    from segapp.values.updates import Insight

# Pixels of the longer side: enough to see where two answers differ.
_SIDE = 480


@dataclass(frozen=True, slots=True, eq=False)
class ComparedAnswer:
    """What was learnt, and the answer for the picture, every few pixels.

    Parameters
    ----------
    name
        The settings and the number of strokes, as people tell answers apart.
    labels
        Class of each of the pixels that are kept.
    """

    name: str
    insight: Insight
    classes: tuple[ClassInfo, ...]
    picture: Picture
    labels: NDArray[np.uint8]

    @classmethod
    def of(
        cls,
        name: str,
        insight: Insight,
        classes: tuple[ClassInfo, ...],
        labelling: Labelling,
        picture: Picture,
    ) -> ComparedAnswer:
        """Keep an answer; of a large picture every few pixels."""
        step = _step(labelling.labels)
        return cls(name, insight, classes, picture, labelling.labels[::step, ::step].copy())

    @property
    def shown(self) -> NDArray[np.uint8]:
        """The answer as an overlay, ``H x W x 3``: made for those who compare, who are few."""
        tint = overlay(self.labels, self.classes)
        step = _step(self.picture.rgb)
        shown = self.picture.rgb[::step, ::step].astype(np.float32)
        # Half of it, as the canvas shows it at first.
        shown += (tint[..., :3] - shown * (tint[..., 3:] / np.float32(255))) / 2
        return shown.astype(np.uint8)

    def share_that_differs(self, other: ComparedAnswer) -> float:
        """Return the share of pixels that have another class, from 0 to 1."""
        return float((self.labels != other.labels).mean())


def _step(pixels: NDArray[np.uint8]) -> int:
    longer: int = max(pixels.shape[:2])
    return -(-longer // _SIDE)
