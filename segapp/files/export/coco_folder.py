"""One COCO file for a folder, whose numbers stay the same from run to run."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

from segapp.files.export.coco import as_polygons, as_rle
from segapp.files.export.dataset import DatasetFormat, Item, Plan, Written
from segapp.files.export.parts import parts_of
from segapp.values.checked import fields, from_json, listed
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
    """Write the file; pictures and annotations that were in the one before keep their numbers."""
    path = plan.out / _FILE
    known_images, known_annotations = _numbers_in(path)
    numbers = dict(
        zip((info.name for info in plan.categories.classes), plan.categories.ids, strict=True)
    )
    next_image = max(known_images.values(), default=0) + 1
    next_annotation = (
        max((each for numbers in known_annotations.values() for each in numbers), default=0) + 1
    )
    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    for entry in (each.data for each in written.values()):
        name = entry["file"]
        number = known_images.get(name)
        if number is None:
            number, next_image = next_image, next_image + 1
        images.append(
            {
                "id": number,
                "file_name": name,
                "width": entry["width"],
                "height": entry["height"],
            }
        )
        before = iter(known_annotations.get(number, []))
        for annotation in entry["annotations"]:
            own = next(before, None)
            if own is None:
                own, next_annotation = next_annotation, next_annotation + 1
            rest = {key: value for key, value in annotation.items() if key != "category"}
            category = numbers[annotation["category"]]
            annotations.append(
                {"id": own, "image_id": number, "category_id": category, **rest, "iscrowd": 0}
            )
    content = {
        "info": {"description": "Segmentation by segapp"},
        "images": images,
        "categories": [
            {"id": number, "name": name, "supercategory": ""} for name, number in numbers.items()
        ],
        "annotations": annotations,
    }
    write_text(path, json.dumps(content, ensure_ascii=False))
    return (path,)


def _numbers_in(path: Path) -> tuple[dict[str, int], dict[int, list[int]]]:
    """Return the numbers of pictures by name, and of their annotations, that a file has given."""
    images: dict[str, int] = {}
    annotations: dict[int, list[int]] = {}
    try:
        content = fields(from_json(path.read_bytes(), path.name), path.name)
        for image in listed(content.get("images", []), "images"):
            images[str(image["file_name"])] = int(image["id"])
        for annotation in listed(content.get("annotations", []), "annotations"):
            annotations.setdefault(int(annotation["image_id"]), []).append(int(annotation["id"]))
    except (OSError, ValueError, KeyError, TypeError):
        return {}, {}  # none yet, or none of ours: it is replaced, and counting begins at 1
    return images, annotations


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
