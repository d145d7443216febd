"""Strokes that come as a file: a project, or a picture whose values are classes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from segapp.files.images import Indices, load_indices
from segapp.files.project_file import PROJECT_SUFFIX, load_project
from segapp.values.document import PALETTE, TWO_CLASSES, ClassInfo, Document, Patch

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from segapp.values.settings import Settings


@dataclass(frozen=True, slots=True)
class Strokes:
    """A document, and the settings that come along when a project holds it."""

    document: Document
    settings: Settings | None = None


def load_strokes(path: str | Path, size: tuple[int, int]) -> Strokes:
    """Read strokes for an image of ``size`` (height, width).

    A picture holds 0 where nothing is marked, else the class counted from 1, as palette index
    or grey value. One that this program wrote names its classes; else there are two, foreground
    and background, or as many as the largest value asks for.
    """
    path = Path(path)
    if path.suffix.lower() == PROJECT_SUFFIX:
        project = load_project(path)
        return Strokes(project.document, project.settings)
    indices = load_indices(path)
    if indices.values.shape != size:
        raise ValueError(
            f"{path.name} has {indices.values.shape[1]} x {indices.values.shape[0]} pixels: "
            f"wanted the image's {size[1]} x {size[0]}."
        )
    highest = int(indices.values.max())
    if highest > max(len(PALETTE), len(_names(indices))):
        raise ValueError(
            f"{path.name}: wanted 0 for unmarked pixels and classes from 1, got {highest}."
        )
    document = Document(_classes(indices, highest))
    for index in range(1, highest + 1):
        document = _with_patch(document, indices.values == index, index - 1)
    return Strokes(document.as_one_state())


def _with_patch(document: Document, mask: NDArray[np.bool_], label: int) -> Document:
    return document.with_stroke(Patch.of_mask(mask, label)) if mask.any() else document


def _classes(indices: Indices, highest: int) -> tuple[ClassInfo, ...]:
    names = _names(indices)
    if len(names) >= max(highest, 2) and indices.palette is not None:
        colours = [*indices.palette[1:].tolist(), *PALETTE * len(names)]
        return tuple(
            ClassInfo(name, (int(red), int(green), int(blue)))
            for name, (red, green, blue) in zip(names, colours, strict=False)
        )
    return TWO_CLASSES + tuple(
        ClassInfo(f"class {index + 1}", PALETTE[index % len(PALETTE)])
        for index in range(2, highest)
    )


def _names(indices: Indices) -> list[str]:
    try:
        names = json.loads(indices.text.get("Classes", "[]"))
    except ValueError:
        return []
    return [str(name) for name in names] if isinstance(names, list) else []
