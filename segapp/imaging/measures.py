"""Measures of objects: size, shape, intensity and neighbours."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from segapp.imaging.components import label_components
from segapp.imaging.objects import touching_pairs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from segapp.model.classes import Key, ObjectMap

_PROPERTIES = (
    "label",
    "area",
    "centroid",
    "bbox",
    "perimeter",
    "solidity",
    "eccentricity",
    "axis_major_length",
    "axis_minor_length",
    "feret_diameter_max",
    "intensity_mean",
    "intensity_min",
    "intensity_max",
    "intensity_std",
)


@dataclass(frozen=True, slots=True)
class Intensity:
    """The values of one channel within an object, in the file's own numbers."""

    integrated: float
    mean: float
    least: float
    largest: float
    deviation: float


@dataclass(frozen=True, slots=True)
class MeasuredObject:
    """The measures of one object, in pixels.

    Parameters
    ----------
    key
        Class and number.
    parts
        Number of its connected components.
    centroid
        ``(x, y)`` where the centre of the top left pixel is ``(0.5, 0.5)``, as for strokes.
    box
        Left, top, width and height.
    perimeter
        Of the contour, corners smoothed as `skimage.measure.perimeter` does.
    circularity
        4 pi area / perimeter^2, at most 1.
    solidity, eccentricity, major_axis, minor_axis, feret
        As `skimage.measure.regionprops` has them; Feret's diameter is the largest.
    neighbours
        Number of other objects, of any class, that touch it; a pixel has eight neighbours.
    channels
        Of the picture's values.
    """

    key: Key
    parts: int
    area: int
    centroid: tuple[float, float]
    box: tuple[int, int, int, int]
    perimeter: float
    circularity: float
    solidity: float
    eccentricity: float
    major_axis: float
    minor_axis: float
    feret: float
    neighbours: int
    channels: tuple[Intensity, ...]


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredObjects:
    """The measured objects of a picture.

    Parameters
    ----------
    objects
        In the order of ``found.keys``.
    found
        The object of each pixel.
    n_channels
        Number of channels of the picture.
    """

    objects: tuple[MeasuredObject, ...]
    found: ObjectMap
    n_channels: int

    def at(self, x: int, y: int) -> MeasuredObject | None:
        """Return the object that a pixel belongs to."""
        index = int(self.found.index_map[y, x])
        return self.objects[index - 1] if index else None


def measure_objects(found: ObjectMap, channels: NDArray[np.generic]) -> MeasuredObjects:
    """Measure all objects; ``channels`` are ``H x W x C``."""
    from skimage.measure import regionprops_table

    n_channels = channels.shape[2]
    if not found.keys:
        return MeasuredObjects((), found, n_channels)
    table = regionprops_table(found.index_map, channels, properties=_PROPERTIES)
    neighbours = _neighbours(found.index_map, len(found.keys))
    parts = _parts(found.index_map, len(found.keys))
    objects = []
    for row, key in enumerate(found.keys):
        top, left, bottom, right = (int(table[f"bbox-{k}"][row]) for k in range(4))
        area, perimeter = int(table["area"][row]), float(table["perimeter"][row])
        shapes = (float(table[name][row]) for name in _PROPERTIES[5:10])
        solidity, eccentricity, major_axis, minor_axis, feret = shapes
        objects.append(
            MeasuredObject(
                key=key,
                parts=int(parts[row]),
                area=area,
                centroid=(
                    float(table["centroid-1"][row]) + 0.5,
                    float(table["centroid-0"][row]) + 0.5,
                ),
                box=(left, top, right - left, bottom - top),
                perimeter=perimeter,
                circularity=min(4 * math.pi * area / perimeter**2, 1.0) if perimeter else 1.0,
                solidity=solidity,
                eccentricity=eccentricity,
                major_axis=major_axis,
                minor_axis=minor_axis,
                feret=feret,
                neighbours=int(neighbours[row]),
                channels=tuple(
                    Intensity(
                        float(table[f"intensity_mean-{channel}"][row]) * area,
                        *(float(table[f"{name}-{channel}"][row]) for name in _PROPERTIES[10:]),
                    )
                    for channel in range(n_channels)
                ),
            )
        )
    return MeasuredObjects(tuple(objects), found, n_channels)


def _neighbours(index_map: NDArray[np.int32], n_objects: int) -> NDArray[np.intp]:
    """Count the others that touch each object."""
    both = [end - 1 for pair in touching_pairs(index_map) for end in pair]
    return np.bincount(np.array(both, np.intp), minlength=n_objects)


def _parts(index_map: NDArray[np.int32], n_objects: int) -> NDArray[np.intp]:
    """Count the connected components of each object."""
    import scipy

    counts = np.zeros(n_objects, np.intp)
    for index, box in enumerate(scipy.ndimage.find_objects(index_map)):
        counts[index] = label_components(index_map[box] == index + 1)[1]
    return counts
