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
    """What was learnt, and the answer over the picture, every few pixels.

    Parameters
    ----------
    name
        The settings and the number of strokes, as people tell answers apart.
    shown
        ``H x W x 3``: the answer as an overlay.
    labels
        Class of each of its pixels.
    """

    name: str
    insight: Insight
    classes: tuple[ClassInfo, ...]
    shown: NDArray[np.uint8]
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
        step = -(-max(labelling.labels.shape) // _SIDE)
        labels = labelling.labels[::step, ::step].copy()
        small = type(labelling)(
            labels,
            labelling.margins[::step, ::step].copy(),
            labelling.hash_codes[::step, ::step].copy(),
            labelling.n_classes,
            labelling.n_bits,
        )
        tint = overlay(small, classes)
        shown = picture.rgb[::step, ::step].astype(np.float32)
        # Half of it, as the canvas shows it at first.
        shown += (tint[..., :3] - shown * (tint[..., 3:] / np.float32(255))) / 2
        return cls(name, insight, classes, shown.astype(np.uint8), labels)

    def share_that_differs(self, other: ComparedAnswer) -> float:
        """Return the share of pixels that have another class, from 0 to 1."""
        return float((self.labels != other.labels).mean())
