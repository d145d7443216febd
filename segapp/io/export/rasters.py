"""PNG, TIFF and NumPy exports of masks, cut-outs, confidence and codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from PIL import Image, ImageColor, ImageOps
from PIL.PngImagePlugin import PngInfo

from segapp.imaging.matting import default_band_width, soft_edge
from segapp.imaging.objects import objects_of, shaded_labels
from segapp.imaging.overlay import overlay, with_scale_bar
from segapp.imaging.rasterise import rasterize, rasterize_marks
from segapp.io.images import load_image
from segapp.model.classes import object_indices
from segapp.model.validation import SegappError, as_file_name
from shlcore.atomic_file import atomic_write

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence

    from numpy.typing import NDArray

    from segapp.imaging.matting import Matte
    from segapp.model.classes import ClassInfo
    from segapp.model.document import Document, Mark
    from segapp.model.labelling import Labelling
    from segapp.model.picture import Picture, Scale


Backdrop = tuple[int, int, int] | Path
"""A colour, or the file of an image, which is scaled and cropped to cover the cut-out's size."""


def backdrop_from_text(text: str) -> Backdrop:
    """Read a colour, such as ``#ffcc00`` or ``white``, or else the path of an image.

    >>> backdrop_from_text("#ffcc00"), backdrop_from_text("white")
    ((255, 204, 0), (255, 255, 255))
    >>> backdrop_from_text("beach.jpg")
    PosixPath('beach.jpg')
    """
    try:
        red, green, blue, *_ = ImageColor.getrgb(text)
    except ValueError:
        return Path(text)
    return red, green, blue


def backdrop_pixels(backdrop: Backdrop, size: tuple[int, int]) -> NDArray[np.uint8]:
    """Return a background of a height and width, as ``H x W x 3``.

    Raises
    ------
    ImageError
        When its file is missing or no image.
    """
    height, width = size
    if not isinstance(backdrop, Path):
        return np.broadcast_to(np.array(backdrop, np.uint8), (height, width, 3))
    image = Image.fromarray(load_image(backdrop).rgb)
    return np.asarray(ImageOps.fit(image, (width, height), Image.Resampling.LANCZOS))


def before_backdrop(
    rgba: NDArray[np.uint8], backdrop: NDArray[np.uint8] | None
) -> NDArray[np.uint8]:
    """Put ``H x W x 4`` straight colours before a background, if there is one."""
    if backdrop is None:
        return rgba
    alpha = rgba[..., 3:].astype(np.uint16)
    mixed = rgba[..., :3] * alpha + backdrop * (255 - alpha)
    return ((mixed + 127) // 255).astype(np.uint8)


_TINT = 0.45  # opacity of the objects' colours over the picture


def write_binary_png(
    path: Path,
    labelling: Labelling,
    document: Document,
    picture: Picture,
    *,
    only: str | None = None,
) -> tuple[Path, ...]:
    """Write 255 where the background is not, or where one class is, and 0 elsewhere."""
    save_png(path, Image.fromarray(_white(object_pixels(labelling, document, only))))
    return (path,)


def object_pixels(
    labelling: Labelling, document: Document, only: str | None = None
) -> NDArray[np.bool_]:
    """Return the mask of all objects, or of the class named ``only``."""
    table = np.zeros(256, bool)
    table[list(object_indices(document.classes, only))] = True
    return table[labelling.labels]


def write_indexed_png(
    path: Path,
    labelling: Labelling,
    document: Document,
    picture: Picture,
) -> tuple[Path, ...]:
    """Write 0 for the background and the others' numbers from 1, with their colours."""
    order = [document.background, *object_indices(document.classes)]
    table = np.zeros(256, np.uint8)
    table[order] = range(len(order))
    colours = (document.classes[index].colour for index in order)
    save_png(path, palette_image(table[labelling.labels], colours))
    return (path,)


def write_overlay_png(
    path: Path,
    labelling: Labelling,
    document: Document,
    picture: Picture,
    *,
    scale: Scale | None = None,
) -> tuple[Path, ...]:
    """Write the picture under its objects' colours, with a scale bar if it has one."""
    found = objects_of(labelling, document, picture.rgb)
    shaded = shaded_labels(labelling.labels, found, document.classes)
    tint = overlay(shaded.labels, shaded.classes, _TINT).astype(np.uint16)
    rgb = tint[:, :, :3] + (picture.rgb * (255 - tint[:, :, 3:]) + 127) // 255
    rgb = rgb.astype(np.uint8)
    edges = np.zeros(found.index_map.shape, bool)
    edges[:, 1:] |= found.index_map[:, 1:] != found.index_map[:, :-1]
    edges[1:] |= found.index_map[1:] != found.index_map[:-1]
    rgb[edges] = 255
    scale = scale or picture.scale
    save_png(path, Image.fromarray(rgb if scale is None else with_scale_bar(rgb, scale)))
    return (path,)


def write_class_pngs(
    path: Path,
    labelling: Labelling,
    document: Document,
    picture: Picture,
) -> tuple[Path, ...]:
    """Write a black and white mask for each class, its name added to the file name."""
    written = []
    for index, name in enumerate(_file_names(document.classes)):
        target = path.with_name(f"{path.stem}-{name}{path.suffix}")
        save_png(target, Image.fromarray(_white(labelling.labels == index)))
        written.append(target)
    return tuple(written)


def write_strokes_png(
    path: Path,
    labelling: Labelling,
    document: Document,
    picture: Picture,
) -> tuple[Path, ...]:
    """Write the strokes: 0 where there is none, else the class counted from 1."""
    marked = rasterize(document, picture.size) + 1
    if marked.max() > 255:
        raise SegappError(f"strokes: a palette holds 255 classes, got {marked.max()}")
    # The names go along, so that the strokes can be read back with their classes.
    names = PngInfo()
    names.add_itxt("Classes", json.dumps([info.name for info in document.classes]))
    colours = ((0, 0, 0), *(info.colour for info in document.classes))
    image = palette_image(marked.astype(np.uint8), colours)
    save_png(path, image, names)
    return (path,)


def _white(mask: NDArray[np.bool_]) -> NDArray[np.uint8]:
    return mask.astype(np.uint8) * np.uint8(255)


def palette_image(values: NDArray[np.uint8], colours: Iterable[tuple[int, ...]]) -> Image.Image:
    """Return an image of indices into a palette."""
    image = Image.fromarray(values, mode="L")
    image.putpalette([part for colour in colours for part in colour])
    return image


def _file_names(classes: Sequence[ClassInfo]) -> list[str]:
    """Class names as parts of file names: allowed everywhere and all different."""
    names: list[str] = []
    taken: set[str] = set()
    for index, info in enumerate(classes):
        name = as_file_name(info.name).strip(" .") or f"class {index}"
        if name.casefold() in taken:
            name = f"{name} {index}"
        taken.add(name.casefold())
        names.append(name)
    return names


def save_png(path: Path, image: Image.Image, text: PngInfo | None = None) -> None:
    """Write a PNG that is whole or not there."""
    with atomic_write(path) as file:
        image.save(file, format="PNG", pnginfo=text)


Result = TypeVar("Result")


def cutout_steps(
    path: Path,
    labelling: Labelling,
    document: Document,
    picture: Picture,
    *,
    edge: float | None = None,
    only: str | None = None,
    backdrop: Backdrop | None = None,
) -> Generator[float, None, tuple[Path, ...]]:
    """Write the objects in their own colours, with no background or another one."""
    inside = object_pixels(labelling, document, only)
    ground = None if backdrop is None else backdrop_pixels(backdrop, picture.size)
    matte = yield from matte_steps(inside, picture, edge, document.hair)
    pixels = before_backdrop(straight_cutout(matte, picture), ground)
    save_png(path, Image.fromarray(pixels))
    return (path,)


def alpha_steps(
    path: Path,
    labelling: Labelling,
    document: Document,
    picture: Picture,
    *,
    edge: float | None = None,
    only: str | None = None,
) -> Generator[float, None, tuple[Path, ...]]:
    """Write the alpha of the objects: 255 all of a pixel, 0 nothing."""
    inside = object_pixels(labelling, document, only)
    matte = yield from matte_steps(inside, picture, edge, document.hair)
    save_png(path, Image.fromarray(matte.alpha))
    return (path,)


def matte_steps(
    mask: NDArray[np.bool_], picture: Picture, edge: float | None, hair: tuple[Mark, ...] = ()
) -> Generator[float, None, Matte]:
    """Make the matte of a mask as `make_matte` does, and yield the progress.

    Where ``hair`` is painted, the edge is as soft as the pixels are, however far they are away.
    """
    width = default_band_width(picture.size) if edge is None else edge
    painted = rasterize_marks(hair, picture.size) >= 0 if hair else None
    return soft_edge(picture.rgb, mask, width, painted)


def make_matte(mask: NDArray[np.bool_], picture: Picture, edge: float | None) -> Matte:
    """Return the matte of a mask, its edge soft within so many pixels.

    0 is hard, and ``None`` follows the image's size.
    """
    return run_to_end(matte_steps(mask, picture, edge))


def run_to_end(work: Generator[float, None, Result]) -> Result:
    """Run a generator to its end and return its result."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            result: Result = end.value
            return result


def straight_cutout(matte: Matte, picture: Picture) -> NDArray[np.uint8]:
    """Return a matte as ``H x W x 4``; transparency of the image stays.

    Files hold colours that are not multiplied by their alpha. The image holds its transparent
    parts blended with white; that is undone here.
    """
    rgba = np.dstack([matte.rgb, matte.alpha])
    if picture.alpha is not None:
        inside = matte.alpha > 0
        thin = inside & (picture.alpha > 0) & (picture.alpha < 255)
        opacity = picture.alpha[thin, np.newaxis] / 255.0
        colour = 255.0 - (255.0 - matte.rgb[thin]) / opacity
        rgba[thin, :3] = np.rint(np.clip(colour, 0, 255)).astype(np.uint8)
        both = matte.alpha[inside].astype(np.uint16) * picture.alpha[inside]
        rgba[inside, 3] = ((both + 127) // 255).astype(np.uint8)
        rgba[rgba[:, :, 3] == 0] = 0
    return rgba


def write_confidence_png(
    path: Path,
    labelling: Labelling,
    document: Document,
    picture: Picture,
) -> tuple[Path, ...]:
    """Write the margin with 16 bits: 65535 is the image's largest."""
    values, note = _sixteen_bits(labelling.margin)
    text = PngInfo()
    text.add_text("Description", note)
    save_png(path, Image.fromarray(values), text)
    return (path,)


def write_confidence_tiff(
    path: Path,
    labelling: Labelling,
    document: Document,
    picture: Picture,
) -> tuple[Path, ...]:
    """Write the margin with 16 bits: 65535 is the image's largest."""
    import tifffile  # which the window's start does without

    values, note = _sixteen_bits(labelling.margin)
    with atomic_write(path) as file:
        tifffile.imwrite(
            file, values, photometric="minisblack", compression="zlib", description=note
        )
    return (path,)


def write_numpy(
    path: Path,
    labelling: Labelling,
    document: Document,
    picture: Picture,
) -> tuple[Path, ...]:
    """Write labels, objects, margin, codes and what was learnt as ``.npz``."""
    objects = objects_of(labelling, document, picture.rgb)
    arrays: dict[str, NDArray[Any]] = {
        "labels": labelling.labels,
        "margin": labelling.margin,
        "codes": labelling.codes,
        "classes": np.array([info.name for info in document.classes], dtype=np.str_),
        "objects": objects.index_map,
        "object_keys": np.array(objects.keys, dtype=np.int32).reshape(-1, 2),
    }
    insight = labelling.make_insight() if labelling.make_insight is not None else None
    if insight is not None:
        arrays["codewords"] = insight.codewords
        arrays["kernels"] = np.array(insight.kernels, dtype=np.str_)
        arrays["kernel_weights"] = insight.kernel_weights
    with atomic_write(path) as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)
    return (path,)


def _sixteen_bits(margin: NDArray[np.float32]) -> tuple[NDArray[np.uint16], str]:
    largest = float(margin.max())
    scale = 65535.0 / largest if largest > 0 else 0.0
    values = np.rint(margin.astype(np.float64) * scale).astype(np.uint16)
    return values, f"margin; 65535 = {largest:.9g}"
