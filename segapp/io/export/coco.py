"""COCO exports of one image and of a folder."""

from __future__ import annotations

import json
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

from segapp.imaging.boundaries import polygons
from segapp.imaging.rle import encode_counts, run_lengths
from segapp.io.export.datasets import (
    AnnotationScope,
    DatasetFormat,
    DatasetItem,
    ExportPlan,
    ItemRecord,
    object_regions,
)
from segapp.model.validation import from_json, is_unicode, require_list, require_object, sanitize
from shlcore.atomic_file import write_text

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from segapp.io.export.datasets import ClassRegion
    from segapp.model.document import Document
    from segapp.model.labelling import Labelling
    from segapp.model.picture import Picture

    Segmentation = Callable[[NDArray[np.bool_]], Any]

_FILE = "annotations.json"
_NUMBERING_FILE = ".coco-numbers"  # without suffix: programs that look for JSON want annotations


def write_coco(
    path: Path,
    labelling: Labelling,
    document: Document,
    picture: Picture,
    *,
    segmentation: Segmentation,
    per: AnnotationScope = AnnotationScope.OBJECT,
) -> tuple[Path, ...]:
    """Write one annotation for each object, part or class."""
    height, width = picture.size
    name = picture.path.name if is_unicode(picture.path.name) else sanitize(picture.path.name)
    regions = object_regions(labelling, document, picture, per)
    annotations = [
        _annotation(number, 1, region.label + 1, _region(region, (height, width), segmentation))
        for number, (_, region) in enumerate(regions, start=1)
    ]
    categories = [(index, info.name) for index, info in enumerate(document.classes, start=1)]
    images = [{"id": 1, "file_name": name, "width": width, "height": height}]
    _write(path, f"Segmentation of {name}", images, categories, annotations)
    return (path,)


def as_rle(mask: NDArray[np.bool_]) -> dict[str, Any]:
    """Return a mask as compressed run lengths."""
    return {"size": list(mask.shape), "counts": encode_counts(run_lengths(mask))}


def as_polygons(mask: NDArray[np.bool_]) -> list[list[int]]:
    """Return a mask as polygons, x and y in turn."""
    return [[value for corner in polygon for value in corner] for polygon in polygons(mask)]


def _region(
    region: ClassRegion, size: tuple[int, int], segmentation: Segmentation
) -> dict[str, Any]:
    """Return the entries of an annotation that follow from its pixels and its object.

    A crowd has run lengths in any case: readers of COCO expect no others of it.
    """
    mask = region.whole(size)
    written = as_rle(mask) if region.is_crowd else segmentation(mask)
    entries = {
        "segmentation": written,
        "area": region.area,
        "bbox": region.box,
        "iscrowd": int(region.is_crowd),
    }
    owner = region.owner
    if owner is None:
        return entries
    attributes: dict[str, Any] = {"object": owner.number, "occluded": owner.occluded}
    attributes |= {"name": owner.name} if owner.name else {}
    return entries | {"attributes": attributes}


def _annotation(number: int, image: int, category: int, region: dict[str, Any]) -> dict[str, Any]:
    return {"id": number, "image_id": image, "category_id": category} | region


def _write(
    path: Path,
    description: str,
    images: list[dict[str, Any]],
    categories: Iterable[tuple[int, str]],
    annotations: list[dict[str, Any]],
) -> None:
    content = {
        "info": {"description": description},
        "images": images,
        "categories": [
            {"id": number, "name": name, "supercategory": ""} for number, name in categories
        ],
        "annotations": annotations,
    }
    write_text(path, json.dumps(content, ensure_ascii=False))


class Numbering:
    """The numbers of images, categories and annotations, kept in a file beside theirs.

    A data set of the finished images leaves out others, which have their old numbers when they
    come back. The annotations' own file may be too large to be read for this; it is read only
    where the numbers' file is missing.
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
        """Return the number of an image."""
        if name not in self._images:
            self._images[name], self._next_image = self._next_image, self._next_image + 1
        return self._images[name]

    def categories(self, names: list[str], ids: tuple[int, ...], n_listed: int) -> dict[str, int]:
        """Return the numbers of categories; the folder's list decides its own."""
        numbers = dict(zip(names[:n_listed], ids[:n_listed], strict=True))
        for name in names[n_listed:]:
            taken = {*numbers.values(), *self._categories.values()}
            known = self._categories.get(name, 0)
            free = known and known not in numbers.values()
            numbers[name] = known if free else 1 + max(taken, default=0)
        self._categories |= numbers
        return numbers

    def annotations(self, image: str, descriptions: Iterable[str]) -> list[int]:
        """Return the numbers of an image's annotations.

        One that is described as before has the number that it had. Others take the numbers of
        vanished ones, in their order, so that a region that was only touched up keeps its number.
        """
        wanted = dict.fromkeys(descriptions)
        known = self._annotations.get(image, {})
        left = [number for text, number in known.items() if text not in wanted]
        found: dict[str, int] = {}
        for text in wanted:
            if text in known:
                found[text] = known[text]
            elif left:
                found[text] = left.pop(0)
            else:
                found[text] = self._next_annotation
                self._next_annotation += 1
        # Numbers of vanished regions wait for the next ones.
        self._annotations[image] = found | {f"-{number}": number for number in left}
        return [found[text] for text in wanted]

    def keep(self) -> None:
        """Write the file."""
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
        """Take the numbers of an annotations' file, if it is there and one of ours."""
        names: dict[int, str] = {}
        try:
            content = require_object(from_json(path.read_bytes(), path.name), path.name)
            for image in require_list(content.get("images", []), "images"):
                names[int(image["id"])] = str(image["file_name"])
            for category in require_list(content.get("categories", []), "categories"):
                self._categories[str(category["name"])] = int(category["id"])
            for row in require_list(content.get("annotations", []), "annotations"):
                known = self._annotations.setdefault(names[int(row["image_id"])], {})
                key = _different(annotation_key(row, int(row["category_id"])), known)
                known[key] = int(row["id"])
        except (OSError, ValueError, KeyError, TypeError):
            self._categories, self._annotations = {}, {}  # numbered anew, from 1
            return
        self._images = {name: number for number, name in names.items()}


def annotation_key(annotation: dict[str, Any], category: int) -> str:
    """Describe an annotation by category and box.

    No two components of a class have the same box: each would connect its left to its right and
    its top to its bottom, and so they would meet. Objects of several parts may: `_different`.
    """
    return " ".join(map(str, (category, *annotation["bbox"])))


def _different(key: str, taken: Container[str]) -> str:
    """Return a description that no earlier annotation of the image has."""
    numbers = count(2)
    tried = key
    while tried in taken:
        tried = f"{key} {next(numbers)}"
    return tried


def _add(segmentation: Segmentation, plan: ExportPlan, item: DatasetItem) -> ItemRecord:
    """Return an image's annotations for the file of the whole, without numbers."""
    height, width = item.picture.size
    annotations = [
        {"category": info.name} | _region(region, (height, width), segmentation)
        for info, region in item.regions(plan.per)
    ]
    return ItemRecord(
        data={"file": item.name, "width": width, "height": height, "annotations": annotations}
    )


def _finish(plan: ExportPlan, records: dict[str, ItemRecord]) -> tuple[Path, ...]:
    """Write the file; numbers of earlier runs are kept."""
    path = plan.out / _FILE
    numbering, listed = Numbering(plan.out, _FILE), plan.categories
    names = [info.name for info in listed.classes]
    categories = numbering.categories(names, listed.ids, listed.n_listed)
    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    for entry in (record.data for record in records.values()):
        name, rows = entry["file"], entry["annotations"]
        image = numbering.image(name)
        sides = {"width": entry["width"], "height": entry["height"]}
        images.append({"id": image, "file_name": name, **sides})
        keys: list[str] = []
        for row in rows:
            keys.append(_different(annotation_key(row, categories[row["category"]]), keys))
        for number, row in zip(numbering.annotations(name, keys), rows, strict=True):
            region = {key: value for key, value in row.items() if key != "category"}
            annotations.append(_annotation(number, image, categories[row["category"]], region))
    numbering.keep()  # first: numbers that are lost would be given twice
    pairs = ((number, name) for name, number in categories.items())
    _write(path, "Segmentation by segapp", images, pairs, annotations)
    return (path,)


COCO_FORMATS = (
    DatasetFormat(
        "coco-rle",
        "COCO, run lengths (JSON)",
        "annotations.json with images, categories without the background, areas and boxes.",
        per_region=True,
        add=partial(_add, as_rle),
        finish=_finish,
    ),
    DatasetFormat(
        "coco-polygons",
        "COCO, polygons (JSON)",
        "As with run lengths, but outlines along the pixels' edges; a hole is joined to its "
        "outline by a bridge of no width.",
        per_region=True,
        add=partial(_add, as_polygons),
        finish=_finish,
    ),
)
