"""Probable mistakes of finished pictures, by a model of the other ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from segapp.engine.folder_model import FinishedPicture, FolderModel

_SURE = 0.35
"""Lead of the likeliest class over the labels of a region from which on these are in doubt."""
_FULL_AREA = 0.01
"""Share of a picture from which on a larger area is no surer to be a mistake: smaller ones are
often parts of an outline."""


@dataclass(frozen=True, slots=True)
class Suspect:
    """An area whose label is probably wrong.

    Parameters
    ----------
    name
        Of the picture's file.
    x, y
        A point in it, in pixels.
    box
        Left, top, right and bottom around the centres of its regions.
    label, likelier
        Positions of its present class and of the one that the other pictures suggest.
    score
        From 0 to about 1: how sure they are, less for small areas.
    area
        As a share of the picture.
    """

    name: str
    x: float
    y: float
    box: tuple[float, float, float, float]
    label: int
    likelier: int
    score: float
    area: float


def review(model: FolderModel, pictures: list[FinishedPicture]) -> list[Suspect]:
    """Rank the areas of all pictures; ``model`` is that of all of them."""
    suspects = [found for picture in pictures for found in suspects_of(model, picture)]
    return sorted(suspects, key=lambda suspect: -suspect.score)


def suspects_of(model: FolderModel, picture: FinishedPicture) -> Iterator[Suspect]:
    """Yield the areas of one picture, judged without it."""
    if model.n_pictures < 2:
        return
    scores = model.minus(picture).scores(picture.table)
    lead = scores.max(axis=1) - (picture.shares * scores).sum(axis=1)
    likelier, present = scores.argmax(axis=1), picture.shares.argmax(axis=1)
    doubtful = (lead > _SURE) & (likelier != present)
    weights, places = picture.table.weights, picture.table.columns[:, -2:] * picture.side
    for rows in _areas(doubtful, likelier, picture.edges):
        area = float(weights[rows].sum())
        sure = float(weights[rows] @ lead[rows]) / area
        score = min(sure, 1.0) * min(1.0, area / _FULL_AREA) ** 0.5
        nearest = rows[int((weights[rows] * lead[rows]).argmax())]
        top, left = places[rows].min(axis=0)
        bottom, right = places[rows].max(axis=0)
        yield Suspect(
            picture.name,
            float(places[nearest, 1]),
            float(places[nearest, 0]),
            (float(left), float(top), float(right), float(bottom)),
            int(np.bincount(present[rows], weights[rows]).argmax()),
            int(likelier[rows[0]]),
            score,
            area,
        )


def _areas(
    doubtful: NDArray[np.bool_], likelier: NDArray[np.intp], edges: NDArray[np.intp]
) -> Iterator[NDArray[np.intp]]:
    """Yield connected regions in doubt for which the same class is likelier."""
    u, v = edges
    joined = doubtful[u] & doubtful[v] & (likelier[u] == likelier[v])
    n = len(doubtful)
    links = coo_array((joined[joined], (u[joined], v[joined])), shape=(n, n))
    _, components = connected_components(links, directed=False)
    rows = np.flatnonzero(doubtful)
    for number in np.unique(components[rows]):
        yield rows[components[rows] == number]
