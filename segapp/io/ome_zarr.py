"""Pages of OME-Zarr images, read at full resolution (the extra ``zarr``)."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from segapp.io.pages import DAMAGE, ZARR_SUFFIX, ImageError, check_page, check_size
from segapp.model.validation import reason, sanitize

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray


_LEAST_SIDES = 2
_OPEN = 2


def is_zarr(path: Path) -> bool:
    """Tell an OME-Zarr image by its name; it is a folder."""
    return path.suffix.lower() == ZARR_SUFFIX


class ZarrImage:
    """An OME-Zarr image at full resolution, of which pages are read on demand.

    Parameters
    ----------
    path
        Of the folder.
    """

    def __init__(self, path: Path) -> None:
        try:
            import zarr
        except ImportError as error:
            raise ImageError(
                'OME-Zarr needs the extra zarr: pip install "segapp[zarr]".'
            ) from error
        self.path = path
        try:
            attributes: Any = dict(zarr.open_group(str(path), mode="r").attrs)
            attributes = attributes.get("ome", attributes)  # version 0.5 has a level more
            image = attributes["multiscales"][0]
            level = image["datasets"][0]
            self._array: Any = zarr.open_array(str(path / level["path"]), mode="r")
            axes = image.get("axes", list("tczyx")[-self._array.ndim :])
            self.axes = "".join(
                str(axis["name"] if isinstance(axis, dict) else axis)[:1].upper() for axis in axes
            )
            units = [axis.get("unit", "") if isinstance(axis, dict) else "" for axis in axes]
            scales = [
                part["scale"]
                for part in level.get("coordinateTransformations", [])
                if part.get("type") == "scale"
            ]
            scale = [float(part) for part in (scales or [[1.0] * len(axes)])[0]]
            channels = attributes.get("omero", {}).get("channels", [])
            self.channel_names = tuple(str(each.get("label", "")) for each in channels)
        except (*DAMAGE, AttributeError) as error:
            raise ImageError(
                "{} cannot be read as OME-Zarr: {}.", sanitize(path.name), reason(error)
            ) from error
        if len(self.axes) != self._array.ndim or self.axes[-_LEAST_SIDES:] != "YX":
            raise ImageError(
                "{}: wanted axes that end in y and x, got {}.", sanitize(path.name), self.axes
            )
        self.scale = dict(zip(self.axes, scale, strict=True))
        """Length of a step along each axis."""
        self.units = dict(zip(self.axes, map(str, units), strict=True))

    def length(self, axis: str) -> int:
        """Return the size along an axis, 1 where there is no such axis."""
        return int(self._array.shape[self.axes.index(axis)]) if axis in self.axes else 1

    def __len__(self) -> int:
        return self.length("T") * self.length("Z")

    def page(self, number: int) -> NDArray[np.generic]:
        """Read a page, ``H x W x channels``: T and Z in this order, Z the faster."""
        check_page(self.path, number, len(self))
        check_size(self.path, self.length("X"), self.length("Y"))
        place = dict(zip("TZ", divmod(number, self.length("Z")), strict=True))
        index = tuple(place[axis] if axis in place else slice(None) for axis in self.axes)
        try:
            values = np.asarray(self._array[index])
        except DAMAGE as error:
            raise ImageError(
                "{} is damaged and cannot be read: {}.", sanitize(self.path.name), reason(error)
            ) from error
        if values.dtype.kind not in "iuf":
            raise ImageError(
                "{}: wanted whole or floating-point numbers, got {}.",
                sanitize(self.path.name),
                values.dtype,
            )
        return np.moveaxis(values, 0, -1) if "C" in self.axes else values[..., np.newaxis]


@lru_cache(maxsize=_OPEN)
def open_zarr(path: Path) -> ZarrImage:
    """Return an image, which stays open while it is one of the last ones asked for."""
    return ZarrImage(path)


def zarr_description(path: Path) -> bytes:
    """Return the files that describe an image and its levels."""
    names = (".zattrs", ".zgroup", "zarr.json", "0/.zarray", "0/zarr.json")
    return b"".join((path / name).read_bytes() for name in names if (path / name).is_file())
