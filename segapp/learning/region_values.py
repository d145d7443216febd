"""What is known of a pixel by its region: made for those pixels that somebody looks at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from segapp.values.rasterize import UNMARKED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from segapp.picture.neighbours import Box
    from segapp.picture.prepared import PreparedPicture
    from segapp.picture.prototypes import Prototypes
    from segapp.values.marked import Marked


@dataclass(frozen=True, slots=True, eq=False)
class RegionCodes:
    """The hash code of each pixel: that of its prototype."""

    picture: PreparedPicture
    prototypes: Prototypes
    codes: NDArray[np.uint32]

    def __getitem__(self, box: Box) -> NDArray[np.uint32]:
        return np.asarray(self.codes[self.picture.prototypes_in(self.prototypes, box)])


@dataclass(frozen=True, slots=True, eq=False)
class RegionMargins:
    """The margin of each pixel.

    It is that of its prototype where its label is what was learnt about that, and 0 where the
    outline or the clean-up gave it another one; under a stroke it is the largest.

    Parameters
    ----------
    margin, classes
        Of each prototype.
    labels, marked
        Of each pixel.
    """

    picture: PreparedPicture
    prototypes: Prototypes
    margin: NDArray[np.float32]
    labels: NDArray[np.uint8]
    classes: NDArray[np.uint8]
    marked: Marked

    def __getitem__(self, box: Box) -> NDArray[np.float32]:
        prototypes = self.picture.prototypes_in(self.prototypes, box)
        agrees = self.labels[box] == self.classes[prototypes]
        margin = np.where(agrees, self.margin[prototypes], np.float32(0.0))
        stroke = self.marked.within(box) != UNMARKED
        margin[stroke] = max(float(self.margin.max()), 1.0)
        return margin
