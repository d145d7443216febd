"""Projects in napari, and a widget that segments an image from a labels layer.

The extra ``napari`` installs it; ``napari.yaml`` beside this file says what it contributes.
Strokes are a labels layer: 0 where nothing is marked, else the class counted from 1. Of two
classes, the second one is the background.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from segapp.app.segmenter import Segmenter
from segapp.imaging.rasterise import rasterize
from segapp.io.images import load_image
from segapp.io.project import PROJECT_SUFFIX, load_project
from segapp.model.validation import SegappError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import napari
    from numpy.typing import NDArray

    from segapp.model.document import Document

    LayerData = tuple[Any, dict[str, Any], str]
    """Data, keyword arguments and type of a layer, as napari exchanges them."""


def get_reader(path: str | list[str]) -> Callable[[str | list[str]], list[LayerData]] | None:
    """Return the reader of projects, or None for other files."""
    paths = [path] if isinstance(path, str) else path
    return read_projects if all(each.endswith(PROJECT_SUFFIX) for each in paths) else None


def read_projects(path: str | list[str]) -> list[LayerData]:
    """Read image, strokes and result of projects as layers."""
    layers: list[LayerData] = []
    for each in [path] if isinstance(path, str) else path:
        project = load_project(each)
        picture = load_image(project.image_path, project.document.display)
        document, name = project.document, picture.path.stem
        layers.append((picture.rgb, {"name": name, "metadata": _metadata(picture.path)}, "image"))
        marked = rasterize(document, picture.size) + 1
        layers.append((marked, {"name": f"{name} strokes"}, "labels"))
        if document.is_answerable(
            {mark.label for mark in document.strokes if mark.label is not None}
        ):
            labels = Segmenter(picture, document, settings=project.settings).result.labels
            layers.append((_objects(labels, document), {"name": f"{name} result"}, "labels"))
    return layers


def write_project(path: str, layers: Sequence[LayerData]) -> list[str]:
    """Write an image layer and a labels layer with its strokes as a project."""
    found = {kind: (data, about) for data, about, kind in layers}
    if set(found) != {"image", "labels"} or len(layers) != len(found):
        raise SegappError("layers: wanted one image and one labels layer with its strokes")
    source = found["image"][1].get("metadata", {}).get("path")
    if source is None:
        raise SegappError("image: wanted a layer of a file, as a project holds its path")
    Segmenter(source, np.asarray(found["labels"][0])).save(path)
    return [path]


def segment(
    image: napari.layers.Image,
    strokes: napari.layers.Labels,
    preset: Literal["best", "alike", "paper"] = "best",
) -> napari.types.LayerDataTuple:
    """Segment an image from strokes that are painted on a labels layer."""
    data = np.asarray(image.data)
    if data.ndim != 2 + bool(image.rgb):
        raise SegappError(f"image: wanted two dimensions, got {data.ndim - bool(image.rgb)}")
    segmenter = Segmenter(data, np.asarray(strokes.data), preset=preset)
    labels = _objects(segmenter.result.labels, segmenter.document)
    return labels, {"name": f"{image.name} result"}, "labels"


def _metadata(path: Path) -> dict[str, str]:
    return {"path": str(path)}


def _objects(labels: NDArray[np.uint8], document: Document) -> NDArray[np.integer[Any]]:
    """Return classes from 1, as the strokes have them, and 0 for the background."""
    counted = labels.astype(np.int64) + 1
    counted[labels == document.background] = 0
    return counted
