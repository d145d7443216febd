"""LabelMe and YOLO exports."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from segapp.imaging.measures import AnnotationScope, parts_of
from segapp.imaging.polygons import polygons
from segapp.io.export.datasets import DatasetFormat, DatasetItem, ExportPlan, ItemRecord
from segapp.model.validation import is_unicode
from shlcore.atomic_file import write_text

if TYPE_CHECKING:
    from pathlib import Path

    from segapp.model.document import Document
    from segapp.model.labelling import Labelling
    from segapp.model.picture import Picture


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


# Digits behind the point: a picture of 100 000 pixels is still cut at the right one.
_DIGITS = 7


def _add(plan: ExportPlan, item: DatasetItem) -> ItemRecord:
    """Write ``labels/NAME.txt``; a line has room for one outline, so that each part has its own.

    Filled by the even-odd rule the outlines are exactly the mask: a hole is joined to its
    outline by a bridge of no width.
    """
    height, width = item.picture.size
    lines = []
    for index, info in enumerate(item.document.classes):
        if info.is_background:
            continue
        place = plan.categories.place(info) - 1
        for part in parts_of(item.labelling.labels, index, AnnotationScope.PART):
            for polygon in polygons(part.mask):
                corners = " ".join(
                    f"{_part(x + part.left, width)} {_part(y + part.top, height)}"
                    for x, y in polygon
                )
                lines.append(f"{place} {corners}\n")
    name = f"labels/{item.stem}.txt"
    (plan.out / "labels").mkdir(exist_ok=True)
    write_text(plan.out / name, "".join(lines))
    return ItemRecord((name,))


def _part(value: int, whole: int) -> str:
    return f"{value / whole:.{_DIGITS}f}".rstrip("0").rstrip(".")


def _finish(plan: ExportPlan, written: dict[str, ItemRecord]) -> tuple[Path, ...]:
    """Write ``data.yaml``; JSON's strings are YAML's, so that any name is safe."""
    del written
    names = "".join(
        f"  {index}: {json.dumps(info.name, ensure_ascii=False)}\n"
        for index, info in enumerate(plan.categories.classes)
    )
    text = (
        "# Put the pictures, or a link to their folder, here as images.\n"
        f"path: .\ntrain: images\nval: images\nnames:\n{names}"
    )
    path = plan.out / "data.yaml"
    write_text(path, text)
    return (path,)


YOLO_FORMAT = DatasetFormat(
    "yolo",
    "YOLO segmentation (a text file each)",
    "labels/NAME.txt: the class from 0, then x and y of each corner from 0 to 1; data.yaml.",
    per_region=False,
    add=_add,
    finish=_finish,
)
