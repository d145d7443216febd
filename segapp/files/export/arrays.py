"""Confidence and hash codes as numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from shlcore.atomic_file import replacing

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from segapp.values.document import Document
    from segapp.values.labelling import Labelling
    from segapp.values.picture import Picture


def write_confidence_png(
    path: Path,
    labelling: Labelling,
    document: Document,
    picture: Picture,
) -> tuple[Path, ...]:
    """Write the margin with 16 bits: 65535 is the picture's largest."""
    values, note = _sixteen_bits(labelling.margin)
    text = PngInfo()
    text.add_text("Description", note)
    with replacing(path) as file:
        Image.fromarray(values).save(file, format="PNG", pnginfo=text)
    return (path,)


def write_confidence_tiff(
    path: Path,
    labelling: Labelling,
    document: Document,
    picture: Picture,
) -> tuple[Path, ...]:
    """Write the margin with 16 bits: 65535 is the picture's largest."""
    import tifffile  # which the window's start does without

    values, note = _sixteen_bits(labelling.margin)
    with replacing(path) as file:
        tifffile.imwrite(
            file, values, photometric="minisblack", compression="zlib", description=note
        )
    return (path,)


def write_numpy(
    path: Path,
    labelling: Labelling,
    document: Document,
    picture: Picture,
) -> tuple[Path, ...]:
    """Write labels, margin, codes and the classes' names as a compressed ``.npz``."""
    with replacing(path) as file:
        np.savez_compressed(
            file,
            labels=labelling.labels,
            margin=labelling.margin,
            codes=labelling.codes,
            classes=np.array([info.name for info in document.classes], dtype=np.str_),
        )
    return (path,)


def _sixteen_bits(margin: NDArray[np.float32]) -> tuple[NDArray[np.uint16], str]:
    largest = float(margin.max())
    scale = 65535.0 / largest if largest > 0 else 0.0
    values = np.rint(margin.astype(np.float64) * scale).astype(np.uint16)
    return values, f"margin; 65535 = {largest:.9g}"
