"""One COCO file for a folder, whose numbers stay the same from run to run."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

from segapp.files.export.coco import as_polygons, as_rle
from segapp.files.export.dataset import DatasetFormat, Item, Plan, Written
from segapp.files.export.numbering import Numbering, described
from segapp.files.export.parts import parts_of
from shlcore.atomic_file import write_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    Segmentation = Callable[[NDArray[np.bool_]], Any]

_FILE = "annotations.json"


def _add(segmentation: Segmentation, plan: Plan, item: Item) -> Written:
    """Keep a picture's annotations for the whole file; they have no numbers yet."""
    height, width = item.picture.size
    annotations = [
        {
            "category": info.name,
            "segmentation": segmentation(part.whole((height, width))),
            "area": part.area,
            "bbox": part.box,
        }
        for index, info in enumerate(item.document.classes)
        if not info.is_background
        for part in parts_of(item.labelling.labels, index, plan.per)
    ]
    return Written(
        data={"file": item.name, "width": width, "height": height, "annotations": annotations}
    )


def _finish(plan: Plan, written: dict[str, Written]) -> tuple[Path, ...]:
    """Write the file; what had a number in any run before this one keeps it."""
    path = plan.out / _FILE
    given, categories = Numbering(plan.out, _FILE), plan.categories
    names = [info.name for info in categories.classes]
    numbers = given.categories(names, categories.ids, categories.n_listed)
    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    for entry in (each.data for each in written.values()):
        name, rows = entry["file"], entry["annotations"]
        number = given.image(name)
        sides = {"width": entry["width"], "height": entry["height"]}
        images.append({"id": number, "file_name": name, **sides})
        own = given.annotations(name, [described(row, numbers[row["category"]]) for row in rows])
        for annotation_number, row in zip(own, rows, strict=True):
            rest = {key: value for key, value in row.items() if key != "category"}
            head = {"id": annotation_number, "image_id": number}
            category = numbers[row["category"]]
            annotations.append({**head, "category_id": category, **rest, "iscrowd": 0})
    content = {
        "info": {"description": "Segmentation by segapp"},
        "images": images,
        "categories": [
            {"id": number, "name": name, "supercategory": ""} for name, number in numbers.items()
        ],
        "annotations": annotations,
    }
    given.keep()  # first: numbers that are lost would be given twice
    write_text(path, json.dumps(content, ensure_ascii=False))
    return (path,)


COCO_FORMATS = (
    DatasetFormat(
        "coco-rle",
        "COCO, run lengths (one JSON file)",
        "annotations.json with images, categories without the background, areas and boxes.",
        counts_parts=True,
        add=partial(_add, as_rle),
        finish=_finish,
    ),
    DatasetFormat(
        "coco-polygons",
        "COCO, polygons (one JSON file)",
        "As with run lengths, but outlines along the pixels' edges; a hole is joined to its "
        "outline by a bridge of no width.",
        counts_parts=True,
        add=partial(_add, as_polygons),
        finish=_finish,
    ),
)
