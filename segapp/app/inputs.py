"""Images and strokes in all forms that the segmenter takes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from segapp.model.classes import MAX_CLASSES, PALETTE, ClassInfo
from segapp.model.display import DEFAULT_DISPLAY
from segapp.model.document import Document
from segapp.model.picture import Picture, RawImage
from segapp.model.validation import SegappError, short_repr

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from segapp.io.masks import Strokes
    from segapp.io.project import Project
    from segapp.model.display import DisplaySettings

    ImageInput = Picture | str | Path | ArrayLike
    StrokesInput = Document | Project | str | Path | ArrayLike

# Readers of files load scikit-image's part of SciPy, which a caller with arrays never waits for.

_COLOUR_MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}


def picture_of(image: ImageInput, display: DisplaySettings | None = None) -> Picture:
    """Return an image in the form that the program works on.

    Parameters
    ----------
    image
        A picture, the path of a file (``stack.tif[3]`` is its third page), or an array of
        ``H x W`` or ``H x W x channels``. Bytes with one to four channels are grey or colours,
        with opacity last where there are two or four. All other arrays are measurements:
        three channels are displayed as colours, the first one of others as grey, from their
        0.1 to their 99.9 per cent point.
    display
        Levels and channels; ``None`` takes those of the picture, or of the file's folder.

    Raises
    ------
    SegappError
        When it is no image.
    """
    if isinstance(image, Picture) and display is None:
        return image
    from segapp.io.deep_images import rerender

    if isinstance(image, Picture):
        return rerender(image, display or DEFAULT_DISPLAY)
    if isinstance(image, (str, Path)):
        from segapp.io.folder_files import folder_display
        from segapp.io.images import load_image

        path = Path(image)
        return load_image(path, folder_display(path) if display is None else display)
    return rerender(_picture_of_array(image_array(image)), display or DEFAULT_DISPLAY)


def image_array(image: ArrayLike) -> NDArray[Any]:
    """Return a copy of a number type and shape that an image file can have."""
    values = np.array(image)
    if values.ndim not in (2, 3) or not values.size:
        raise SegappError(
            f"image: wanted an array of H x W or H x W x channels, got shape {values.shape}"
        )
    if values.dtype == np.bool_:
        return values.astype(np.uint8) * np.uint8(255)
    if values.dtype.kind not in "iuf":
        raise SegappError(f"image: wanted an array of numbers, got one of {values.dtype}")
    if values.dtype == np.int8:
        return values.astype(np.int16)
    return values.astype(np.float64) if values.dtype.itemsize > 8 else values


def _picture_of_array(values: NDArray[Any]) -> Picture:
    path = Path("image.png")
    n_channels = 1 if values.ndim == 2 else values.shape[2]
    if values.dtype == np.uint8 and n_channels in _COLOUR_MODES:
        from PIL import Image

        from segapp.io.images import to_srgb

        flat = values[:, :, 0] if values.shape[2:] == (1,) else values
        rgb, alpha = to_srgb(Image.fromarray(flat))
        return Picture(rgb, alpha, path, "", "")
    from segapp.io.deep_images import render_raw

    raw = RawImage(values if values.ndim == 3 else values[:, :, np.newaxis])
    rendered = render_raw(raw, None)
    note, display, levels = rendered.note, rendered.display, rendered.levels
    return Picture(rendered.rgb, None, path, "", note, raw, display, levels)


def save_picture(picture: Picture, stem: Path) -> Picture:
    """Write an image that came as an array beside its project.

    It is a PNG or a TIFF, without loss. A file that is there already is kept, and must hold the
    same image.
    """
    from segapp.io.images import load_image
    from shlcore.atomic_file import atomic_write

    if picture.alpha is not None:
        raise SegappError("save: an image array with opacity has no file that it can be saved in")
    values = picture.rgb if picture.raw is None else picture.raw.values
    is_bytes = values.dtype == np.uint8 and values.shape[2] == 3
    path = stem.with_suffix(".png" if is_bytes else ".tif")
    if not path.exists():
        with atomic_write(path) as file:
            if is_bytes:
                from PIL import Image

                Image.fromarray(values).save(file, "PNG")
            else:
                import tifffile

                n_channels = values.shape[2]
                kind = "rgb" if n_channels == 3 else "minisblack"
                plane = "contig" if n_channels > 1 else None
                tifffile.imwrite(file, values, photometric=kind, planarconfig=plane)
    written = load_image(path, picture.display)
    if not np.array_equal(written.raw_image.values, picture.raw_image.values):
        raise SegappError(f"save: {path} is there already and is another image")
    return written


def load_inputs(
    image: ImageInput, strokes: StrokesInput | None, classes: Sequence[str] | None = None
) -> tuple[Picture, Strokes]:
    """Return an image, and its strokes, settings and stored answer.

    Parameters
    ----------
    image
        As for `picture_of`. Strokes of a project or document bring its display settings.
    strokes
        ``None`` for none yet, a document, a project or its path, or labels: an array of the
        image's size, or the path of such a PNG, that holds 0 where nothing is marked, else the
        class counted from 1.
    classes
        Names for a label array, or for a document without strokes.
    """
    from segapp.io.masks import Strokes, load_strokes
    from segapp.io.project import Project, is_project

    if isinstance(strokes, (str, Path)) and is_project(Path(strokes)):
        read = load_strokes(strokes, (0, 0))
    elif isinstance(strokes, Project):
        read = Strokes(strokes.document, strokes.settings, strokes.answer, strokes.labels)
    elif isinstance(strokes, Document):
        read = Strokes(strokes)
    else:
        picture = picture_of(image)
        if strokes is None:
            read = Strokes(Document() if classes is None else Document(_classes(classes)))
        elif isinstance(strokes, (str, Path)):
            read = load_strokes(strokes, picture.size)
        else:
            read = Strokes(_labelled_document(strokes, picture.size, classes))
        document = replace(read.document, display=picture.display)
        return picture, replace(read, document=document)
    return picture_of(image, read.document.display), read


def _labelled_document(
    labels: ArrayLike, size: tuple[int, int], classes: Sequence[str] | None
) -> Document:
    from segapp.io.masks import document_from_labels

    values = np.asarray(labels)
    if values.shape != size or values.dtype.kind not in "biu":
        raise SegappError(
            f"strokes: wanted whole numbers of the image's {size[0]} x {size[1]} pixels, "
            f"got {values.dtype} of shape {values.shape}"
        )
    infos = None if classes is None else _classes(classes)
    most = len(PALETTE) if infos is None else len(infos)
    low, high = int(values.min()), int(values.max())
    if low < 0 or high > most:
        raise SegappError(
            f"strokes: wanted 0 for unmarked pixels and classes from 1 to {most}, "
            f"got {low if low < 0 else high}"
        )
    return document_from_labels(values.astype(np.uint8), infos)


def _classes(names: Sequence[str]) -> tuple[ClassInfo, ...]:
    from segapp.io.masks import classes_named

    if isinstance(names, str) or len(set(names)) < len(names):
        raise SegappError(f"classes: wanted names that differ, got {short_repr(names)}")
    if not 2 <= len(names) <= MAX_CLASSES:
        raise SegappError(f"classes: wanted 2 to {MAX_CLASSES} names, got {len(names)}")
    return classes_named(list(names))
