"""LabelMe and YOLO exports."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from segapp.imaging.polygons import polygons
from segapp.io.export.datasets import (
    AnnotationScope,
    DatasetFormat,
    DatasetItem,
    ExportPlan,
    ItemRecord,
    object_regions,
)
from segapp.model.validation import is_unicode
from shlcore.atomic_file import write_text

if TYPE_CHECKING:
    from pathlib import Path

    from segapp.model.document import Document
    from segapp.model.labelling import Labelling
    from segapp.model.picture import Picture


_VERSION = "5.5.0"  # the first field that LabelMe reads; the layout is that of this release
_DIGITS = 7  # after the point in YOLO files: enough for the right pixel of 100 000


def write_labelme(
    path: Path, labelling: Labelling, document: Document, picture: Picture
) -> tuple[Path, ...]:
    """Write the polygons of each component; several of one have a group's number."""
    shapes: list[dict[str, Any]] = []
    regions = object_regions(labelling.labels, document.classes, AnnotationScope.PART)
    for group, (info, region) in enumerate(regions, start=1):
        outlines = polygons(region.mask)
        shapes += [
            {
                "label": info.name,
                "points": [[float(x + region.left), float(y + region.top)] for x, y in outline],
                "group_id": group if len(outlines) > 1 else None,
                "description": "",
                "shape_type": "polygon",
                "flags": {},
                "mask": None,
            }
            for outline in outlines
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
    # In ASCII as soon as the image's name is not UTF-8: LabelMe finds it by "\\udcff".
    readable = is_unicode(content["imagePath"])
    write_text(path, json.dumps(content, ensure_ascii=not readable, indent=1))
    return (path,)


def _relative(image: Path, path: Path) -> str:
    try:
        return os.path.relpath(image, path.parent)
    except ValueError:  # another drive
        return str(image.absolute())


def _add(plan: ExportPlan, item: DatasetItem) -> ItemRecord:
    """Write ``labels/NAME.txt``: a line with one polygon for each component."""
    height, width = item.picture.size
    lines = []
    for info, region in item.regions(AnnotationScope.PART):
        (polygon,) = polygons(region.mask, join_corners=True)
        corners = " ".join(
            f"{_share(x + region.left, width)} {_share(y + region.top, height)}"
            for x, y in polygon
        )
        lines.append(f"{plan.categories.index(info) - 1} {corners}\n")
    name = f"labels/{item.stem}.txt"
    (plan.out / "labels").mkdir(exist_ok=True)
    write_text(plan.out / name, "".join(lines))
    return ItemRecord((name,))


def _share(value: int, whole: int) -> str:
    return f"{value / whole:.{_DIGITS}f}".rstrip("0").rstrip(".")


def _finish(plan: ExportPlan, records: dict[str, ItemRecord]) -> tuple[Path, ...]:
    """Write ``data.yaml``; JSON's strings are YAML's, so that any name is safe."""
    del records
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
    "YOLO segmentation (text)",
    "labels/NAME.txt: the class from 0, then x and y of each corner from 0 to 1; data.yaml.",
    per_region=False,
    add=_add,
    finish=_finish,
)
