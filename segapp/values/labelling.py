"""The answer for a picture: class, confidence and hash code of every pixel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
