"""Exports of stacks: TIFF with axes, masks, COCO with tracks, films, measures."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from segapp.imaging.overlay import overlay
from segapp.io.export.coco import as_rle
from segapp.io.export.formats import default_format
from segapp.io.films import write_film
from segapp.model.picture import PIXELS, Scale
from segapp.model.validation import SegappError, csv_cell, sanitize, short_repr
from shlcore.atomic_file import atomic_write, write_text

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from segapp.imaging.tracks import Track
    from segapp.io.stacks import StackAxes
    from segapp.model.document import Document
    from segapp.model.labelling import Labelling
    from segapp.model.picture import Picture


@dataclass(frozen=True, slots=True, eq=False)
class ExportedPage:
    """A page with its answer.

    Parameters
    ----------
    objects
        The number of the object at each pixel, 0 for the background.
    """

    number: int
    picture: Picture
    labelling: Labelling
    objects: NDArray[np.int32]
    confidence: float


@dataclass(frozen=True, slots=True, eq=False)
class ExportedStack:
    """An answered stack; each call of ``pages`` reads the pages once more."""

    name: str
    axes: StackAxes
    size: tuple[int, int]
    document: Document
    tracks: tuple[Track, ...]
    pages: Callable[[], Iterator[ExportedPage]]

    @property
    def scale(self) -> Scale:
        """Size of a pixel."""
        return Scale(self.axes.pixel_size, self.axes.unit) if self.axes.unit != "px" else PIXELS


Steps = Iterator["Path | None"]
"""The paths of written files, and None between pages."""


def write_label_tiff(folder: Path, stack: ExportedStack) -> Steps:
    """Write ``labels.ome.tif``: classes from 1, 0 for the background."""
    table = np.arange(1, len(stack.document.classes) + 1, dtype=np.uint8)
    table[stack.document.background] = 0
    yield from _write_tiff(
        folder / "labels.ome.tif", stack, np.uint8, lambda page: table[page.labelling.labels]
    )


def write_object_tiff(folder: Path, stack: ExportedStack) -> Steps:
    """Write ``objects.ome.tif``: the number of the object, 0 for the background."""
    most = max((track.number for track in stack.tracks), default=0)
    kind = np.uint16 if most < 1 << 16 else np.int32
    yield from _write_tiff(
        folder / "objects.ome.tif", stack, kind, lambda page: page.objects.astype(kind)
    )


def _write_tiff(
    path: Path,
    stack: ExportedStack,
    kind: type[np.integer],
    values: Callable[[ExportedPage], NDArray[np.integer]],
) -> Steps:
    import tifffile

    axes = stack.axes
    shape, names = list(stack.size), "YX"
    for length, name in ((axes.slices, "Z"), (axes.times, "T")):
        if length > 1:
            shape, names = [length, *shape], name + names
    metadata: dict[str, Any] = {"axes": names}
    if axes.unit != "px":
        metadata |= {"PhysicalSizeX": axes.pixel_size, "PhysicalSizeXUnit": axes.unit}
        metadata |= {"PhysicalSizeY": axes.pixel_size, "PhysicalSizeYUnit": axes.unit}
        metadata |= {"PhysicalSizeZ": axes.slice_distance, "PhysicalSizeZUnit": axes.unit}
    if axes.frame_rate:
        metadata |= {"TimeIncrement": 1 / axes.frame_rate, "TimeIncrementUnit": "s"}
    with atomic_write(path) as file:
        tifffile.imwrite(
            file,
            (values(page) for page in stack.pages()),
            shape=tuple(shape),
            dtype=kind,
            ome=True,
            photometric="minisblack",
            compression="zlib",
            metadata=metadata,
        )
        yield None
    yield path


def write_page_masks(folder: Path, stack: ExportedStack) -> Steps:
    """Write ``masks/00000.png`` and so on: black and white for two classes."""
    entry, out = default_format(len(stack.document.classes)), folder / "masks"
    out.mkdir(exist_ok=True)
    for page in stack.pages():
        yield from entry.write(
            out / f"{page.number:05d}{entry.suffix}", page.labelling, stack.document, page.picture
        )


def write_tracks_coco(folder: Path, stack: ExportedStack) -> Steps:
    """Write ``annotations.json`` with ``video_id``, ``frame_id`` and ``track_id``."""
    background, (height, width) = stack.document.background, stack.size
    label_of = {track.number: track.label for track in stack.tracks}
    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    for page in stack.pages():
        name, place = sanitize(page.picture.path.name), stack.axes.place(page.number)
        images.append(
            {"id": page.number + 1, "video_id": 1, "frame_id": page.number, "file_name": name}
            | {"width": width, "height": height, "t": place[0], "z": place[1]}
        )
        for number, mask, box in _objects(page):
            whole = np.zeros(stack.size, bool)
            whole[box] = mask
            annotations.append(
                {
                    "id": len(annotations) + 1,
                    "image_id": page.number + 1,
                    "video_id": 1,
                    "track_id": number,
                    "category_id": label_of[number] + 1,
                    "segmentation": as_rle(whole),
                    "area": int(np.count_nonzero(mask)),
                    "bbox": [
                        box[1].start,
                        box[0].start,
                        box[1].stop - box[1].start,
                        box[0].stop - box[0].start,
                    ],
                    "iscrowd": 0,
                }
            )
        yield None
    content = {
        "info": {"description": f"Segmentation of {stack.name}"},
        "videos": [
            {"id": 1, "name": stack.name, "width": width, "height": height, "length": len(images)}
        ],
        "images": images,
        "categories": [
            {"id": index + 1, "name": info.name, "supercategory": ""}
            for index, info in enumerate(stack.document.classes)
            if index != background
        ],
        "tracks": [
            {"id": track.number, "video_id": 1, "category_id": track.label + 1}
            | {"first": track.first, "last": track.last, "parent": track.parent}
            for track in stack.tracks
        ],
        "annotations": annotations,
    }
    path = folder / "annotations.json"
    write_text(path, json.dumps(content))
    yield path


def write_track_measures(folder: Path, stack: ExportedStack) -> Steps:
    """Write ``measures.csv``: a row for each object on each page."""
    scale = stack.scale
    header = ["page", "t", "z", "class", "track", "parent", "area_px", "x", "y"]
    header += ["left", "top", "width", "height", "confidence"]
    header += [f"area_{scale.unit}2"] if scale != PIXELS else []
    track_of = {track.number: track for track in stack.tracks}
    rows: list[str] = []
    for page in stack.pages():
        time, depth = stack.axes.place(page.number)
        values = page.picture.raw_image.values
        if not rows:
            names = stack.axes.channel_names
            names += tuple(f"channel_{k + 1}" for k in range(len(names), values.shape[2]))
            header += [f"mean_{name}" for name in names[: values.shape[2]]]
            rows.append(",".join(map(csv_cell, header)))
        for number, mask, box in _objects(page):
            ys, xs = np.nonzero(mask)
            top, left = box[0].start, box[1].start
            track, area = track_of[number], len(ys)
            row: list[object] = [page.number + 1, time + 1, depth + 1]
            row += [csv_cell(stack.document.classes[track.label].name), number, track.parent, area]
            row += [f"{xs.mean() + left + 0.5:.2f}", f"{ys.mean() + top + 0.5:.2f}", left, top]
            row += [mask.shape[1], mask.shape[0], f"{page.confidence:.3f}"]
            row += [f"{area * scale.pixel**2:.6g}"] if scale != PIXELS else []
            row += [f"{mean:.6g}" for mean in values[box][mask].mean(axis=0)]
            rows.append(",".join(map(str, row)))
        yield None
    path = folder / "measures.csv"
    write_text(path, "\n".join(rows) + "\n")
    yield path


def _objects(
    page: ExportedPage,
) -> Iterator[tuple[int, NDArray[np.bool_], tuple[slice, slice]]]:
    """Yield number, mask and box of each object of a page."""
    from scipy.ndimage import find_objects

    present = np.unique(page.objects)
    present = present[present > 0]
    dense = np.searchsorted(present, page.objects).astype(np.int32) + 1
    dense[page.objects == 0] = 0
    for place, box in enumerate(find_objects(dense), start=1):
        if box is not None:
            yield int(present[place - 1]), dense[box] == place, box


_OPACITY = 0.45
_FILM_RATE = 12.0
_LONGEST_SIDE = 960  # pixels of a film of the overlay


def _overlaid(stack: ExportedStack) -> Iterator[NDArray[np.uint8]]:
    """Yield the pages with the classes' colours over them."""
    step = -(-max(stack.size) // _LONGEST_SIDE)
    for page in stack.pages():
        labels = np.ascontiguousarray(page.labelling.labels[::step, ::step])
        tint = overlay(labels, stack.document.classes, _OPACITY).astype(np.float32)
        rgb = page.picture.rgb[::step, ::step]
        share = tint[..., 3:] / 255
        yield np.rint(rgb * (1 - share) + tint[..., :3] * share).astype(np.uint8)


def write_overlay_gif(folder: Path, stack: ExportedStack) -> Steps:
    """Write ``overlay.gif``."""
    frames = (
        Image.fromarray(rgb).quantize(256, dither=Image.Dither.NONE) for rgb in _overlaid(stack)
    )
    path, rate = folder / "overlay.gif", stack.axes.frame_rate or _FILM_RATE
    with atomic_write(path) as file:
        first = next(frames)
        first.save(
            file,
            "GIF",
            save_all=True,
            append_images=frames,
            duration=max(20, round(1000 / rate)),
            loop=0,
        )
        yield None
    yield path


def write_overlay_film(folder: Path, stack: ExportedStack) -> Steps:
    """Write ``overlay.mp4``, for which the extra ``video`` is needed."""
    path = folder / "overlay.mp4"
    partial = folder / ".overlay.mp4"
    try:
        write_film(partial, _overlaid(stack), stack.axes.frame_rate or _FILM_RATE)
        yield None
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    yield path


@dataclass(frozen=True, slots=True)
class StackFormat:
    """A format of an answered stack, which writes into a folder."""

    name: str
    title: str
    write: Callable[[Path, ExportedStack], Steps]


STACK_FORMATS = {
    entry.name: entry
    for entry in (
        StackFormat("labels", "Classes of all pages (OME-TIFF)", write_label_tiff),
        StackFormat("objects", "Objects of all pages (OME-TIFF)", write_object_tiff),
        StackFormat("masks", "A mask for each page (PNG)", write_page_masks),
        StackFormat("coco", "COCO with tracks (JSON)", write_tracks_coco),
        StackFormat("measures", "Measures of objects and pages (CSV)", write_track_measures),
        StackFormat("gif", "Film of the overlay (GIF)", write_overlay_gif),
        StackFormat("mp4", "Film of the overlay (MP4)", write_overlay_film),
    )
}


def stack_format(name: str) -> StackFormat:
    """Return a format by its name."""
    if name not in STACK_FORMATS:
        raise SegappError(
            f"format: wanted one of {', '.join(STACK_FORMATS)}, got {short_repr(name)}"
        )
    return STACK_FORMATS[name]
