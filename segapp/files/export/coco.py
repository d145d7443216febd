"""COCO's JSON: one image, its classes as categories, their pixels as annotations."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from segapp.files.export.polygons import polygons
from segapp.files.export.run_length import compressed, run_lengths
from segapp.values.checked import is_unicode
from segapp.values.wording import shown
from shlcore.atomic_file import write_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from segapp.values.document import Document
    from segapp.values.labelling import Labelling
    from segapp.values.picture import Picture


def write_coco_rle(
    path: Path, labelling: Labelling, document: Document, picture: Picture
) -> tuple[Path, ...]:
    """Write each class's pixels as compressed run lengths."""
    write_text(path, json.dumps(_coco(labelling, document, picture, as_rle), ensure_ascii=False))
    return (path,)


def write_coco_polygons(
    path: Path, labelling: Labelling, document: Document, picture: Picture
) -> tuple[Path, ...]:
    """Write each class's outlines; COCO knows no holes, so that bridges join them."""
    write_text(
        path, json.dumps(_coco(labelling, document, picture, as_polygons), ensure_ascii=False)
    )
    return (path,)


def _coco(
    labelling: Labelling,
    document: Document,
    picture: Picture,
    segmentation: Callable[[NDArray[np.bool_]], Any],
) -> dict[str, Any]:
    height, width = picture.size
    name = picture.path.name if is_unicode(picture.path.name) else shown(picture.path.name)
    annotations: list[dict[str, Any]] = []
    for index, info in enumerate(document.classes):
        mask = labelling.labels == index
        if info.is_background or not mask.any():
            continue
        rows = np.flatnonzero(mask.any(axis=1))
        columns = np.flatnonzero(mask.any(axis=0))
        box = (columns[0], rows[0], columns[-1] + 1 - columns[0], rows[-1] + 1 - rows[0])
        annotations.append(
            {
                "id": len(annotations) + 1,
                "image_id": 1,
                "category_id": index + 1,
                "segmentation": segmentation(mask),
                "area": int(np.count_nonzero(mask)),
                "bbox": [int(part) for part in box],
                "iscrowd": 0,
            }
        )
    return {
        "info": {"description": f"Segmentation of {name}"},
        "images": [{"id": 1, "file_name": name, "width": width, "height": height}],
        "categories": [
            {"id": index + 1, "name": info.name, "supercategory": ""}
            for index, info in enumerate(document.classes)
        ],
        "annotations": annotations,
    }


def as_rle(mask: NDArray[np.bool_]) -> dict[str, Any]:
    """Return a mask as compressed run lengths."""
    return {"size": list(mask.shape), "counts": compressed(run_lengths(mask))}


def as_polygons(mask: NDArray[np.bool_]) -> list[list[int]]:
    """Return a mask as outlines, x and y in turn."""
    return [[part for corner in polygon for part in corner] for polygon in polygons(mask)]
