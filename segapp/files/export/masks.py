"""Masks and strokes as PNG."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from segapp.values.classes import object_places
from segapp.values.rasterize import rasterize
from shlcore.atomic_file import replacing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from segapp.values.document import ClassInfo, Document
    from segapp.values.labelling import Labelling
    from segapp.values.picture import Picture


def write_binary_png(
    path: Path,
    labelling: Labelling,
    document: Document,
    picture: Picture,
    *,
    only: str | None = None,
) -> tuple[Path, ...]:
    """Write 255 where the background is not, or where one class is, and 0 elsewhere."""
    save_png(path, Image.fromarray(_white(object_pixels(labelling, document, only))))
    return (path,)


def object_pixels(
    labelling: Labelling, document: Document, only: str | None = None
) -> NDArray[np.bool_]:
    """Return where there is anything but the background, or the class of a name."""
    table = np.zeros(256, bool)
    table[list(object_places(document.classes, only))] = True
    return table[labelling.labels]


def write_indexed_png(
    path: Path,
    labelling: Labelling,
    document: Document,
    picture: Picture,
) -> tuple[Path, ...]:
    """Write each pixel's class as an index into a palette of the classes' colours."""
    save_png(path, _with_palette(labelling.labels, document.classes))
    return (path,)


def write_class_pngs(
    path: Path,
    labelling: Labelling,
    document: Document,
    picture: Picture,
) -> tuple[Path, ...]:
    """Write a black and white mask for each class, its name added to the file name."""
    written = []
    for index, name in enumerate(_file_names(document.classes)):
        target = path.with_name(f"{path.stem}-{name}{path.suffix}")
        save_png(target, Image.fromarray(_white(labelling.labels == index)))
        written.append(target)
    return tuple(written)


def write_strokes_png(
    path: Path,
    labelling: Labelling,
    document: Document,
    picture: Picture,
) -> tuple[Path, ...]:
    """Write the strokes: 0 where there is none, else the class counted from 1."""
    marked = rasterize(document, picture.size) + 1
    if marked.max() > 255:
        raise ValueError(f"strokes: a palette holds 255 classes, got {marked.max()}")
    # The names go along, so that the strokes can be read back with their classes.
    names = PngInfo()
    names.add_itxt("Classes", json.dumps([info.name for info in document.classes]))
    image = _with_palette(marked.astype(np.uint8), document.classes, first=((0, 0, 0),))
    save_png(path, image, names)
    return (path,)


def _white(mask: NDArray[np.bool_]) -> NDArray[np.uint8]:
    return mask.astype(np.uint8) * np.uint8(255)


def _with_palette(
    values: NDArray[np.uint8],
    classes: Sequence[ClassInfo],
    first: Sequence[tuple[int, int, int]] = (),
) -> Image.Image:
    image = Image.fromarray(values, mode="L")
    image.putpalette(
        [part for colour in (*first, *(c.colour for c in classes)) for part in colour]
    )
    return image


def _file_names(classes: Sequence[ClassInfo]) -> list[str]:
    """Class names as parts of file names: allowed everywhere and all different."""
    names: list[str] = []
    taken: set[str] = set()
    for index, info in enumerate(classes):
        name = re.sub(r'[\x00-\x1f<>:"/\\|?*]+', "_", info.name).strip(" .") or f"class {index}"
        if name.casefold() in taken:
            name = f"{name} {index}"
        taken.add(name.casefold())
        names.append(name)
    return names


def save_png(path: Path, image: Image.Image, text: PngInfo | None = None) -> None:
    """Write a PNG that is whole or not there."""
    with replacing(path) as file:
        image.save(file, format="PNG", pnginfo=text)
