"""Cut-outs and alpha as PNG: the objects with a soft edge, or with the mask's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np
from PIL import Image

from segapp.files.export.masks import object_pixels, save_png
from segapp.matting.matte import soft_edge, usual_width

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from numpy.typing import NDArray

    from segapp.matting.matte import Matte
    from segapp.values.document import Document
    from segapp.values.labelling import Labelling
    from segapp.values.picture import Picture

Result = TypeVar("Result")


def writing_cutout(
    path: Path,
    labelling: Labelling,
    document: Document,
    picture: Picture,
    *,
    edge: float | None = None,
    only: str | None = None,
) -> Generator[float, None, tuple[Path, ...]]:
    """Write the objects in their own colours, with the background transparent."""
    matte = yield from matting(object_pixels(labelling, document, only), picture, edge)
    save_png(path, Image.fromarray(straight_cutout(matte, picture)))
    return (path,)


def writing_alpha(
    path: Path,
    labelling: Labelling,
    document: Document,
    picture: Picture,
    *,
    edge: float | None = None,
    only: str | None = None,
) -> Generator[float, None, tuple[Path, ...]]:
    """Write how much of each pixel is an object: 255 all of it, 0 nothing."""
    matte = yield from matting(object_pixels(labelling, document, only), picture, edge)
    save_png(path, Image.fromarray(matte.alpha))
    return (path,)


def matting(
    mask: NDArray[np.bool_], picture: Picture, edge: float | None
) -> Generator[float, None, Matte]:
    """Make the matte of a mask as `matte_of` does; yields how much is done."""
    width = usual_width(picture.size) if edge is None else edge
    return soft_edge(picture.rgb, mask, width)


def matte_of(mask: NDArray[np.bool_], picture: Picture, edge: float | None) -> Matte:
    """Return the matte of a mask, its edge soft within so many pixels.

    0 is hard, and ``None`` is what suits the picture's size.
    """
    return finished(matting(mask, picture, edge))


def finished(work: Generator[float, None, Result]) -> Result:
    """Do work to its end, whatever it tells on the way."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            result: Result = end.value
            return result


def straight_cutout(matte: Matte, picture: Picture) -> NDArray[np.uint8]:
    """Return a matte as ``H x W x 4``; transparency of the picture stays.

    Files hold colours that are not multiplied by their alpha. The picture holds its
    transparent parts blended with white; that is undone here.
    """
    rgba = np.dstack([matte.rgb, matte.alpha])
    if picture.alpha is not None:
        inside = matte.alpha > 0
        thin = inside & (picture.alpha > 0) & (picture.alpha < 255)
        opacity = picture.alpha[thin, np.newaxis] / 255.0
        colour = 255.0 - (255.0 - matte.rgb[thin]) / opacity
        rgba[thin, :3] = np.rint(np.clip(colour, 0, 255)).astype(np.uint8)
        both = matte.alpha[inside].astype(np.uint16) * picture.alpha[inside]
        rgba[inside, 3] = ((both + 127) // 255).astype(np.uint8)
        rgba[rgba[:, :, 3] == 0] = 0
    return rgba
