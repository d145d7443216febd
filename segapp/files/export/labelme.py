"""LabelMe's JSON: polygons beside the picture's file."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from segapp.files.export.polygons import polygons
from segapp.values.checked import is_unicode
from shlcore.atomic_file import write_text

if TYPE_CHECKING:
    from pathlib import Path

    from segapp.values.document import Document
    from segapp.values.labelling import Labelling
    from segapp.values.picture import Picture

_VERSION = "5.5.0"  # the first field that LabelMe reads; the layout is that of this release


def write_labelme(
    path: Path, labelling: Labelling, document: Document, picture: Picture
) -> tuple[Path, ...]:
    """Write one polygon for each connected part of each class."""
    shapes: list[dict[str, Any]] = [
        {
            "label": info.name,
            "points": [[float(x), float(y)] for x, y in polygon],
            "group_id": None,
            "description": "",
            "shape_type": "polygon",
            "flags": {},
            "mask": None,
        }
        for index, info in enumerate(document.classes)
        if not info.is_background
        for polygon in polygons(labelling.labels == index)
    ]
    height, width = picture.size
    content: dict[str, Any] = {
        "version": _VERSION,
        "flags": {},
        "shapes": shapes,
        "imagePath": _relative(picture.path, path),
        "imageData": None,
        "imageHeight": height,
        "imageWidth": width,
    }
    # In ASCII, as soon as the picture's name is not UTF-8: LabelMe finds it by "\\udcff".
    readable = is_unicode(content["imagePath"])
    write_text(path, json.dumps(content, ensure_ascii=not readable, indent=1))
    return (path,)


def _relative(image: Path, path: Path) -> str:
    try:
        return os.path.relpath(image, path.parent)
    except ValueError:  # another drive
        return str(image.absolute())
