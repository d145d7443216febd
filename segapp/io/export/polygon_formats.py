"""LabelMe and YOLO exports."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from PIL import Image

from segapp.imaging.boundaries import polygons
from segapp.io.export.datasets import (
    AnnotationScope,
    DatasetFormat,
    DatasetItem,
    ExportPlan,
    ItemRecord,
    object_regions,
)
from segapp.io.export.rasters import save_png
from segapp.model.validation import SegappError, is_unicode
from shlcore.atomic_file import atomic_write, write_text

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from segapp.imaging.boundaries import Polygon
    from segapp.model.document import Document
    from segapp.model.labelling import Labelling
    from segapp.model.picture import Picture


_VERSION = "5.5.0"  # the first field that LabelMe reads; the layout is that of this release
_DIGITS = 7  # after the point in YOLO files: enough for the right pixel of 100 000


def write_labelme(
    path: Path,
    labelling: Labelling,
    document: Document,
    picture: Picture,
    *,
    per: AnnotationScope = AnnotationScope.OBJECT,
) -> tuple[Path, ...]:
    """Write the polygons of each object; several of one have a group's number."""
    shapes: list[dict[str, Any]] = []
    regions = object_regions(labelling, document, picture, per)
    for group, (info, region) in enumerate(regions, start=1):
        outlines = polygons(region.mask)
        flags = {"crowd": region.is_crowd, "occluded": region.is_occluded}
        shapes += [
            {
                "label": info.name,
                "points": [[float(x + region.left), float(y + region.top)] for x, y in outline],
                "group_id": group if len(outlines) > 1 else None,
                "description": region.owner.name if region.owner is not None else "",
                "shape_type": "polygon",
                "flags": {name: True for name, is_set in flags.items() if is_set},
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


class PictureCopies(StrEnum):
    """The pictures that a data set holds: copies, links or none."""

    COPY = "copy"
    LINK = "link"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class DatasetSplit:
    """The part of a data set that is for validation.

    Parameters
    ----------
    share
        Of the pictures, from 0 to below 1.
    seed
        Another one chooses others.
    """

    share: float = 0.2
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.share < 1:
            raise SegappError(f"val: wanted a share from 0 to below 1, got {self.share}")

    def validation(self, names: Iterable[str]) -> frozenset[str]:
        """Return the names for validation: one or more of several, unless the share is 0.

        A name's rank depends on nothing but itself and the seed, so that a data set that grows
        moves few from one part to the other.
        """
        ranked = sorted(names, key=lambda name: sha256(f"{self.seed} {name}".encode()).digest())
        count = round(self.share * len(ranked))
        if self.share and not count and len(ranked) > 1:
            count = 1
        return frozenset(ranked[: min(count, max(len(ranked) - 1, 0))])


DEFAULT_SPLIT = DatasetSplit()


def object_polygon(mask: NDArray[np.bool_]) -> Polygon:
    """Return one polygon of a mask, its parts joined by bridges of no width.

    >>> import numpy as np
    >>> object_polygon(np.array([[True, False, True]]))
    [(0, 0), (1, 0), (1, 1), (0, 1), (0, 0), (2, 0), (3, 0), (3, 1), (2, 1), (2, 0)]
    """
    first, *others = polygons(mask, join_corners=True)
    joined = list(first)
    for ring in others:
        joined += [first[0], *ring, ring[0]]
    return joined


_SAME_EVERYWHERE = frozenset({".jpg", ".jpeg", ".png", ".bmp", ".webp"})
"""Suffixes of files that other programs read as the pixels that were annotated."""


def _add_yolo(copies: PictureCopies, plan: ExportPlan, item: DatasetItem) -> ItemRecord:
    """Write ``labels/NAME.txt``, a polygon a line for each object, and the picture."""
    height, width = item.picture.size
    lines = []
    for info, region in item.regions(plan.per):
        if region.is_crowd:
            continue  # which YOLO has no word for
        corners = " ".join(
            f"{_share(x + region.left, width)} {_share(y + region.top, height)}"
            for x, y in object_polygon(region.mask)
        )
        lines.append(f"{plan.categories.index(info) - 1} {corners}\n")
    name = f"labels/{item.stem}.txt"
    (plan.out / "labels").mkdir(exist_ok=True)
    write_text(plan.out / name, "".join(lines))
    picture = "" if copies is PictureCopies.NONE else _add_picture(copies, plan, item)
    names = (name, picture) if picture else (name,)
    return ItemRecord(names, {"picture": picture or f"images/{item.name}"})


def _add_picture(copies: PictureCopies, plan: ExportPlan, item: DatasetItem) -> str:
    """Copy or link a picture, or write it as a PNG if others would read other pixels.

    That is where it has more than 8 bits, several pages or a seldom format.
    """
    path = item.picture.path
    as_it_is = path.suffix.lower() in _SAME_EVERYWHERE and item.picture.raw is None
    name = f"images/{item.stem}{path.suffix if as_it_is else '.png'}"
    target = plan.out / name
    target.parent.mkdir(exist_ok=True)
    if not as_it_is:
        save_png(target, Image.fromarray(item.picture.rgb))
        return name
    target.unlink(missing_ok=True)
    if copies is PictureCopies.LINK:
        try:
            target.symlink_to(path.absolute())
        except OSError:  # Windows wants a permission for it
            shutil.copyfile(path, target)
    else:
        with atomic_write(target) as file:
            file.write(path.read_bytes())
    return name


def _share(value: int, whole: int) -> str:
    return f"{value / whole:.{_DIGITS}f}".rstrip("0").rstrip(".")


def _finish_yolo(
    split: DatasetSplit, plan: ExportPlan, records: dict[str, ItemRecord]
) -> tuple[Path, ...]:
    """Write ``data.yaml`` and the lists of both parts; JSON's strings are YAML's.

    Without a line ``path``, the folder is that of the file.
    """
    validation = split.validation(records)
    lists = []
    for part in ("train", "val"):
        chosen = [
            record.data["picture"]
            for name, record in records.items()
            if (name in validation) == (part == "val") or (not validation and part == "val")
        ]
        lists.append(plan.out / f"{part}.txt")
        write_text(lists[-1], "".join(f"./{picture}\n" for picture in chosen))
    names = "".join(
        f"  {index}: {json.dumps(info.name, ensure_ascii=False)}\n"
        for index, info in enumerate(plan.categories.classes)
    )
    path = plan.out / "data.yaml"
    write_text(path, f"train: train.txt\nval: val.txt\nnames:\n{names}")
    return (path, *lists)


def yolo_format(copies: PictureCopies, split: DatasetSplit) -> DatasetFormat:
    """Return the format with pictures copied or linked, and a part for validation."""
    return DatasetFormat(
        "yolo",
        "YOLO segmentation (text)",
        "labels/NAME.txt: the class from 0, then x and y of each corner from 0 to 1, an object a "
        "line; the files themselves in images; train.txt, val.txt and data.yaml.",
        per_region=True,
        add=partial(_add_yolo, copies),
        finish=partial(_finish_yolo, split),
        choices=copies,
    )
