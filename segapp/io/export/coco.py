"""COCO exports of one image and of a folder."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from segapp.imaging.measures import parts_of
from segapp.imaging.polygons import polygons
from segapp.imaging.rle import encode_counts, run_lengths
from segapp.io.export.datasets import DatasetFormat, DatasetItem, ExportPlan, ItemRecord
from segapp.model.validation import from_json, is_unicode, require_list, require_object, sanitize
from shlcore.atomic_file import write_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from numpy.typing import NDArray

    from segapp.model.document import Document
    from segapp.model.labelling import Labelling
    from segapp.model.picture import Picture


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
    name = picture.path.name if is_unicode(picture.path.name) else sanitize(picture.path.name)
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
    return {"size": list(mask.shape), "counts": encode_counts(run_lengths(mask))}


def as_polygons(mask: NDArray[np.bool_]) -> list[list[int]]:
    """Return a mask as outlines, x and y in turn."""
    return [[part for corner in polygon for part in corner] for polygon in polygons(mask)]


_NUMBERING_FILE = ".coco-numbers"  # no ending: whoever looks for JSON here wants annotations


class Numbering:
    """Remembers the numbers of pictures, categories and annotations in a file beside theirs.

    A data set of the pictures that are done leaves out others, which have their old numbers
    when they come back. The annotations' own file may be too large to be read for it; only where
    there is no other memory it is looked at.
    """

    def __init__(self, folder: Path, annotations_name: str) -> None:
        self._path = folder / _NUMBERING_FILE
        self._images: dict[str, int] = {}
        self._categories: dict[str, int] = {}
        self._annotations: dict[str, dict[str, int]] = {}  # of an image: number by description
        if not self._recall():
            self._read(folder / annotations_name)
        self._next_image = 1 + max(self._images.values(), default=0)
        given = (each for known in self._annotations.values() for each in known.values())
        self._next_annotation = 1 + max(given, default=0)

    def image(self, name: str) -> int:
        """Return the number of a picture."""
        if name not in self._images:
            self._images[name], self._next_image = self._next_image, self._next_image + 1
        return self._images[name]

    def categories(self, names: list[str], ids: tuple[int, ...], n_listed: int) -> dict[str, int]:
        """Return the numbers of categories; those of the folder's list come first and are kept."""
        numbers = dict(zip(names[:n_listed], ids[:n_listed], strict=True))
        for name in names[n_listed:]:
            taken = {*numbers.values(), *self._categories.values()}
            known = self._categories.get(name, 0)
            free = known and known not in numbers.values()
            numbers[name] = known if free else 1 + max(taken, default=0)
        self._categories |= numbers
        return numbers

    def annotations(self, image: str, descriptions: Iterable[str]) -> list[int]:
        """Return the numbers of a picture's annotations.

        One that is described as before has the number that it had. Others take those of what
        has gone, in their order, so that a part that was only touched up keeps its number.
        """
        wanted = list(descriptions)
        known = self._annotations.get(image, {})
        left = [number for text, number in known.items() if text not in set(wanted)]
        found: dict[str, int] = {}
        for text in wanted:
            if text in known:
                found[text] = known[text]
            elif left:
                found[text] = left.pop(0)
            else:
                found[text], self._next_annotation = (
                    self._next_annotation,
                    self._next_annotation + 1,
                )
        # Numbers of parts that are gone wait for the next that come.
        self._annotations[image] = found | {f"-{number}": number for number in left}
        return [found[text] for text in wanted]

    def keep(self) -> None:
        """Write the memory."""
        rows = {
            image: [f"{number} {text}" for text, number in known.items()]
            for image, known in self._annotations.items()
        }
        content = {"images": self._images, "categories": self._categories, "annotations": rows}
        write_text(self._path, json.dumps(content))

    def _recall(self) -> bool:
        try:
            content = require_object(
                from_json(self._path.read_bytes(), _NUMBERING_FILE), _NUMBERING_FILE
            )
            images, categories = (
                {name: int(number) for name, number in require_object(content[kind], kind).items()}
                for kind in ("images", "categories")
            )
            annotations = {}
            for image, rows in require_object(content["annotations"], "annotations").items():
                pairs = (str(row).split(" ", 1) for row in require_list(rows, "annotations"))
                annotations[image] = {text: int(number) for number, text in pairs}
        except (OSError, ValueError, KeyError, TypeError):
            return False
        self._images, self._categories, self._annotations = images, categories, annotations
        return True

    def _read(self, path: Path) -> None:
        """Take the numbers that a file has given, if it is there and one of ours."""
        names: dict[int, str] = {}
        try:
            content = require_object(from_json(path.read_bytes(), path.name), path.name)
            for image in require_list(content.get("images", []), "images"):
                names[int(image["id"])] = str(image["file_name"])
            for category in require_list(content.get("categories", []), "categories"):
                self._categories[str(category["name"])] = int(category["id"])
            for row in require_list(content.get("annotations", []), "annotations"):
                known = self._annotations.setdefault(names[int(row["image_id"])], {})
                known[annotation_key(row, int(row["category_id"]))] = int(row["id"])
        except (OSError, ValueError, KeyError, TypeError):
            self._categories, self._annotations = {}, {}  # it is replaced, and all begins at 1
            return
        self._images = {name: number for number, name in names.items()}


def annotation_key(annotation: dict[str, Any], category: int) -> str:
    """Describe an annotation by category and box.

    No two parts of a class have the same box: each would join its left to its right and its top
    to its bottom, and so they would meet.
    """
    return " ".join(map(str, (category, *annotation["bbox"])))


if TYPE_CHECKING:
    Segmentation = Callable[[NDArray[np.bool_]], Any]

_FILE = "annotations.json"


def _add(segmentation: Segmentation, plan: ExportPlan, item: DatasetItem) -> ItemRecord:
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
    return ItemRecord(
        data={"file": item.name, "width": width, "height": height, "annotations": annotations}
    )


def _finish(plan: ExportPlan, written: dict[str, ItemRecord]) -> tuple[Path, ...]:
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
        own = given.annotations(
            name, [annotation_key(row, numbers[row["category"]]) for row in rows]
        )
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
        per_region=True,
        add=partial(_add, as_rle),
        finish=_finish,
    ),
    DatasetFormat(
        "coco-polygons",
        "COCO, polygons (one JSON file)",
        "As with run lengths, but outlines along the pixels' edges; a hole is joined to its "
        "outline by a bridge of no width.",
        per_region=True,
        add=partial(_add, as_polygons),
        finish=_finish,
    ),
)
