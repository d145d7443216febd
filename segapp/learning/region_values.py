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
    from segapp.values.labelling import PixelValues


@dataclass(frozen=True, slots=True, eq=False)
class PixelRegions:
    """The prototype of each pixel at full size; where is learnt, that is an array."""

    picture: PreparedPicture
    prototypes: Prototypes

    def __getitem__(self, box: Box) -> NDArray[np.int32]:
        return self.picture.prototypes_in(self.prototypes, box)


@dataclass(frozen=True, slots=True, eq=False)
class RegionCodes:
    """The hash code of each pixel: that of its prototype.

    Parameters
    ----------
    regions
        The prototype of each pixel.
    codes
        Of each prototype.
    """

    regions: PixelValues[np.int32]
    codes: NDArray[np.uint32]

    def __getitem__(self, box: Box) -> NDArray[np.uint32]:
        return np.asarray(self.codes[self.regions[box]])


@dataclass(frozen=True, slots=True, eq=False)
class RegionMargins:
    """The margin of each pixel.

    It is that of its prototype where its label is what was learnt about that, and 0 where the
    outline or the clean-up gave it another one; under a stroke it is the largest.

    Parameters
    ----------
    regions, labels, marks
        Of each pixel.
    margin, classes
        Of each prototype.
    """

    regions: PixelValues[np.int32]
    labels: NDArray[np.uint8]
    marks: PixelValues[np.int16]
    margin: NDArray[np.float32]
    classes: NDArray[np.uint8]

    def __getitem__(self, box: Box) -> NDArray[np.float32]:
        regions = self.regions[box]
        agrees = self.labels[box] == self.classes[regions]
        margin = np.where(agrees, self.margin[regions], np.float32(0.0))
        margin[self.marks[box] != UNMARKED] = max(float(self.margin.max()), 1.0)
        return margin
