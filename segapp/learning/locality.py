"""The answer before the newest stroke, as a prior that is the stronger the farther it is from it.

A stroke says something about its surroundings. Far away, where older strokes are nearer, the
answer that they have led to stays unless there is a good reason to change it: one more stroke
must not turn over a region that nobody has touched. And a stroke that lies half on what already
had its class moves an outline, and says little about anything else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from segapp.learning.geodesics import Geodesics
    from segapp.picture.prototypes import Prototypes


_OF_CONFIRMATION = 1.0
"""How much is added to the prior, times the usual, when a stroke says nothing new. Of ten dips on
the tuning images three came from dabs half of which said nothing new; with 1 they are gone. With 3
they are gone as well, but hard pictures seem to need more strokes to 95 %."""


@dataclass(frozen=True, slots=True, eq=False)
class RegionShares:
    """How much of each region each class of the document had in an answer.

    ``shares`` is regions x classes, uint8, where 255 is all of it: coarse on purpose, so that
    a file that carries it gives the same answer as the program that wrote it.
    """

    shares: NDArray[np.uint8]

    @classmethod
    def of(cls, prototypes: Prototypes, labels: NDArray[np.uint8], n_classes: int) -> RegionShares:
        """Count the labels of the level at which is learnt."""
        keys = prototypes.index_map.ravel() * np.int32(n_classes) + labels.ravel()
        counts = np.bincount(keys, minlength=len(prototypes) * n_classes)
        part = counts.reshape(len(prototypes), n_classes) / prototypes.sizes[:, None]
        return cls(np.rint(255 * part).astype(np.uint8))

    def of_classes(self, classes: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the shares of some classes, from 0 to 1; a class that is new had none."""
        n_known = self.shares.shape[1]
        known = classes < n_known
        shares = np.zeros((len(self.shares), len(classes)))
        shares[:, known] = self.shares[:, classes[known]] / 255.0
        return shares

    def confirmed_by(self, prototypes: Prototypes, marked: NDArray[np.int16]) -> float:
        """Return how much of the marked pixels had their class before, as far as regions tell.

        ``marked`` is of the level at which is learnt, -1 where nothing is; without any mark
        nothing is confirmed.
        """
        places = np.flatnonzero(marked >= 0)
        if not places.size:
            return 0.0
        labels = marked.take(places).astype(np.intp)
        regions = prototypes.index_map.take(places)
        known = labels < self.shares.shape[1]
        return float(self.shares[regions[known], labels[known]].sum(dtype=np.int64)) / (
            255.0 * places.size
        )


def strength(confirmed: float) -> float:
    """Return how strong the prior is against the usual, given how much a stroke confirms."""
    return 1.0 + _OF_CONFIRMATION * confirmed


def prior_costs(
    geodesics: Geodesics,
    newest: NDArray[np.intp],
    earlier: NDArray[np.intp],
    shares: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return what it costs a region to leave the class it had, regions x classes, at most 1.

    Parameters
    ----------
    newest, earlier
        The regions under the newest stroke, and under all that were there before.
    shares
        Regions x classes, those of the answer before the newest stroke.
    """
    to_new, to_old = geodesics.distances(newest), geodesics.distances(earlier)
    far = to_new / np.maximum(to_new + to_old, 1e-9)
    return np.asarray(far[:, None] * (1.0 - shares))
