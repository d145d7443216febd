"""Overlays: labellings and features as RGBA images, and scale bars."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from segapp.model.classes import background_index

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from segapp.imaging.tiles import Box
    from segapp.model.classes import ClassInfo
    from segapp.model.labelling import Labelling
    from segapp.model.picture import EncoderFeatures, Picture, Scale

    TilePainter = Callable[[Box], NDArray[np.uint8]]
    """From rows and columns of an image to their ``height x width x 4`` bytes."""


_PCA_PERCENTILES = (1.0, 99.0)  # of the cells, between black and full colour
# From undecided to certain; each colour is brighter than the one before, so that the order shows
# in grey as well.
_CONFIDENCE_RAMP = ((20, 18, 60), (0, 80, 140), (40, 150, 160), (170, 205, 90), (253, 240, 140))
_SHADOW, _MAX_SHADE = 24.0, 0.8  # grey that a code far from every codeword fades to, and its share
_SCALE_SIDE = 1024  # pixels of a side that suffice to find the brightest margin
_GOLDEN = 0.6180339887498949  # steps of this part of a circle never come close to each other


ALL = (slice(None), slice(None))
"""The box of the whole image."""


def pca_colours(encoded: EncoderFeatures) -> NDArray[np.uint8]:
    """Return an RGB colour for each cell by its three principal components.

    The strongest component is green, which the eye sees best; the sign of each is the one in
    which more of its weight is positive, so that an image has the same colours every time.
    """
    cells = encoded.cells.astype(np.float64)
    rows, columns, channels = cells.shape
    values = cells.reshape(rows * columns, channels)
    values -= values.mean(axis=0)
    _, directions = np.linalg.eigh(values.T @ values)  # weakest first
    strongest = directions[:, ::-1][:, :3]
    strongest = strongest * np.where(strongest.sum(axis=0) < 0, -1.0, 1.0)
    levels = np.zeros((rows * columns, 3))
    levels[:, : strongest.shape[1]] = values @ strongest
    low, high = np.percentile(levels, _PCA_PERCENTILES, axis=0)
    spread = np.where(high > low, high - low, 1.0)
    shares = np.clip((levels - low) / spread, 0.0, 1.0)[:, [1, 0, 2]]
    colours: NDArray[np.uint8] = np.rint(255 * shares).astype(np.uint8)
    return colours.reshape(rows, columns, 3)


def pca_picture(
    colours: NDArray[np.uint8], step: tuple[float, float], box: tuple[range, range]
) -> NDArray[np.uint8]:
    """Interpolate cell colours linearly, for some rows and columns of an image.

    Parameters
    ----------
    colours
        From `pca_colours`.
    step
        Height and width of a cell in pixels.
    """
    between = colours.astype(np.float32)
    for axis, side in enumerate(box):
        cells = (np.arange(side.start, side.stop) + 0.5) / step[axis] - 0.5
        cells = np.clip(cells, 0, between.shape[axis] - 1)
        first = np.minimum(cells.astype(np.intp), max(between.shape[axis] - 2, 0))
        second = np.minimum(first + 1, between.shape[axis] - 1)
        share = np.expand_dims((cells - first).astype(np.float32), (1 - axis, 2))
        between = (1 - share) * between.take(first, axis) + share * between.take(second, axis)
    return np.rint(between).astype(np.uint8)


class ViewMode(StrEnum):
    """View modes of an answer."""

    OVERLAY = "overlay"
    OUTLINE = "outline"
    MASK = "mask"
    CUTOUT = "cut-out"
    CONFIDENCE = "confidence"
    CODES = "codes"
    COMPONENTS = "components"

    @property
    def replaces_image(self) -> bool:
        """Whether it is shown instead of the image and not over it."""
        return self not in (ViewMode.OVERLAY, ViewMode.OUTLINE)

    @property
    def is_bare(self) -> bool:
        """Whether strokes and other marks are hidden, as they would cover the answer."""
        return self in (ViewMode.MASK, ViewMode.CUTOUT, ViewMode.CODES, ViewMode.COMPONENTS)


def overlay_painter(
    mode: ViewMode,
    labelling: Labelling,
    classes: Sequence[ClassInfo],
    picture: Picture,
    codewords: NDArray[np.int8] | None = None,
    backdrop: NDArray[np.uint8] | None = None,
) -> TilePainter | None:
    """Return a painter of the answer in a view mode; None where it paints nothing.

    It paints box by box, so that of a large image no more is painted than has changed. Codes are
    compared with ``codewords`` (classes x codewords x bits), and a cut-out is put before a
    ``backdrop`` of the image's size.
    """
    table = label_colours(mode, labelling, classes)
    if table is not None:
        return partial(_by_label, labelling, table)
    match mode:
        case ViewMode.CUTOUT:
            return partial(_cutout, labelling, classes, picture, backdrop)
        case ViewMode.CONFIDENCE:
            return partial(_by_margin, labelling, bright_margin(labelling))
        case ViewMode.CODES:
            return partial(_by_code, labelling, classes, codewords)
        case _:  # lines alone, or no answer at all
            return None


def label_colours(
    mode: ViewMode, labelling: Labelling, classes: Sequence[ClassInfo]
) -> NDArray[np.uint8] | None:
    """Return RGBA a class, where a view mode shows labels alone."""
    if mode is ViewMode.OVERLAY:
        return _tints(classes, 1.0)
    return _mask_colours(labelling, classes) if mode is ViewMode.MASK else None


def overlay(
    labels: NDArray[np.uint8], classes: Sequence[ClassInfo], opacity: float = 1.0
) -> NDArray[np.uint8]:
    """Tint every class in its colour, except a background, which stays clear."""
    return _look_up(_tints(classes, opacity), labels)


def mask(labelling: Labelling, classes: Sequence[ClassInfo]) -> NDArray[np.uint8]:
    """Paint the mask: white on black with two classes, else in colours."""
    return _by_label(labelling, _mask_colours(labelling, classes), ALL)


def premultiplied_cutout(
    labelling: Labelling, classes: Sequence[ClassInfo], picture: Picture
) -> NDArray[np.uint8]:
    """Paint the image where the objects are; the background is clear. For the screen."""
    return _cutout(labelling, classes, picture, None, ALL)


def premultiplied(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return straight RGBA, or opaque RGB, as the screen takes it."""
    if pixels.shape[2] == 3:
        return np.dstack([pixels, np.full(pixels.shape[:2], 255, np.uint8)])
    rgba = pixels.copy()
    alpha = pixels[..., 3:].astype(np.uint16)
    rgba[..., :3] = (pixels[..., :3] * alpha + 127) // 255
    return rgba


def confidence(labelling: Labelling) -> NDArray[np.uint8]:
    """Paint the margin from dark (undecided) to bright (certain)."""
    return _by_margin(labelling, bright_margin(labelling), ALL)


def codes(
    labelling: Labelling,
    classes: Sequence[ClassInfo],
    codewords: NDArray[np.int8] | None = None,
) -> NDArray[np.uint8]:
    """Paint hash codes in the nearest codeword's class colour, darker with distance.

    Without codewords each code has a colour of its own, the same in every image.
    """
    return _by_code(labelling, classes, codewords, ALL)


def components_painter(encoded: EncoderFeatures, size: tuple[int, int]) -> TilePainter:
    """Return a painter of the encoder features' similarity; needs no answer."""
    return partial(_by_cell, pca_colours(encoded.finest), encoded.finest.step, size)


def _by_cell(
    colours: NDArray[np.uint8], step: tuple[float, float], size: tuple[int, int], box: Box
) -> NDArray[np.uint8]:
    rows, columns = (range(*part.indices(length)) for part, length in zip(box, size, strict=True))
    rgba = np.full((len(rows), len(columns), 4), 255, np.uint8)
    rgba[:, :, :3] = pca_picture(colours, step, (rows, columns))
    return rgba


def _by_label(labelling: Labelling, table: NDArray[np.uint8], box: Box) -> NDArray[np.uint8]:
    return _look_up(table, labelling.labels[box])


def _cutout(
    labelling: Labelling,
    classes: Sequence[ClassInfo],
    picture: Picture,
    backdrop: NDArray[np.uint8] | None,
    box: Box,
) -> NDArray[np.uint8]:
    inside = labelling.labels[box] != background_index(classes)
    rgba = np.zeros((*inside.shape, 4), np.uint8)
    if inside.any():  # not so in most tiles of a large image
        _cut(rgba, inside, picture, box)
    if backdrop is not None:
        missing = (255 - rgba[..., 3:]).astype(np.uint16)
        rgba[..., :3] += ((backdrop[box] * missing + 127) // 255).astype(np.uint8)
        rgba[..., 3] = 255
    return rgba


def _cut(rgba: NDArray[np.uint8], inside: NDArray[np.bool_], picture: Picture, box: Box) -> None:
    """Paint the image's pixels of a mask into a clear box."""
    rgba[:, :, :3], rgba[:, :, 3] = picture.rgb[box], 255
    rgba.view(np.uint32)[~inside] = 0
    if picture.alpha is not None:
        # The image is blended with white: premultiplied, that white is subtracted again.
        alpha = picture.alpha[box][inside]
        rgba[inside, 3] = alpha
        rgba[inside, :3] -= np.minimum(rgba[inside, :3], 255 - alpha[:, np.newaxis])


def bright_margin(labelling: Labelling) -> float:
    """Return the margin that is painted brightest.

    Strokes hold the maximum, however far above the rest; they must not make all else dark.
    """
    step = 1 + max(labelling.labels.shape) // _SCALE_SIDE
    margin = labelling.margins[::step, ::step]
    return float(np.percentile(margin, 98)) or float(margin.max()) or 1.0


def _by_margin(labelling: Labelling, bright: float, box: Box) -> NDArray[np.uint8]:
    level = np.minimum(labelling.margins[box] * (255.0 / bright), 255.0).astype(np.uint8)
    table = np.full((256, 4), 255, np.uint8)
    table[:, :3] = confidence_colours(np.linspace(0, 1, 256))
    return _look_up(table, level)


def confidence_colours(shares: NDArray[np.floating]) -> NDArray[np.uint8]:
    """Return RGB for shares of the brightest margin, from 0 to 1."""
    steps = np.linspace(0, 1, len(_CONFIDENCE_RAMP))
    channels = zip(*_CONFIDENCE_RAMP, strict=True)
    mixed = np.stack([np.interp(shares, steps, values) for values in channels], axis=-1)
    colours: NDArray[np.uint8] = np.rint(mixed).astype(np.uint8)
    return colours


def _by_code(
    labelling: Labelling,
    classes: Sequence[ClassInfo],
    codewords: NDArray[np.int8] | None,
    box: Box,
) -> NDArray[np.uint8]:
    # Longer codes are counted first: there are far fewer of them than codes are possible.
    values = np.arange(1 << min(labelling.n_bits, 16), dtype=np.uint32)
    index: NDArray[np.integer] = labelling.hash_codes[box]
    if labelling.n_bits > 16:
        shape = index.shape
        values, inverse = np.unique(index, return_inverse=True)
        index = inverse.reshape(shape)
    table = np.full((len(values), 4), 255, np.uint8)
    if codewords is None or codewords.shape[2] != labelling.n_bits or not codewords.any():
        table[:, :3] = code_colours(values)
    else:
        distances = codeword_distances(values, codewords)
        nearest = distances.argmin(axis=1)
        colours = np.array([info.colour for info in classes])[nearest]
        table[:, :3] = shade_by_distance(colours, distances.min(axis=1), labelling.n_bits)
    return _look_up(table, index)


def _mask_colours(labelling: Labelling, classes: Sequence[ClassInfo]) -> NDArray[np.uint8]:
    table = np.full((max(len(classes), labelling.n_classes), 4), 255, np.uint8)
    if len(classes) == 2:
        table[background_index(classes), :3] = 0
    else:
        for row, info in enumerate(classes):
            table[row, :3] = info.colour
    return table


def codeword_distances(
    values: NDArray[np.uint32], codewords: NDArray[np.int8]
) -> NDArray[np.intp]:
    """Return the Hamming distance of each code to the nearest codeword of each class.

    A class without codewords, whose rows are 0, is farther than any other.
    """
    n_bits = codewords.shape[2]
    powers = np.left_shift(np.uint32(1), np.arange(n_bits, dtype=np.uint32))
    words = ((codewords > 0) * powers).sum(axis=2).astype(np.uint32)
    differing = np.bitwise_count(values[:, np.newaxis, np.newaxis] ^ words).astype(np.intp)
    differing[:, ~codewords.any(axis=2)] = n_bits + 1
    nearest: NDArray[np.intp] = differing.min(axis=2)
    return nearest


def shade_by_distance(
    colours: NDArray[np.integer], distances: NDArray[np.intp], n_bits: int
) -> NDArray[np.uint8]:
    """Darken a row of RGB for each bit that a code lies away from its codeword."""
    part = np.minimum(distances / max(n_bits / 2, 1), 1.0)[:, np.newaxis] * _MAX_SHADE
    return np.rint(colours * (1 - part) + _SHADOW * part).astype(np.uint8)


def code_colours(values: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """Return RGB of each code: hue by the golden ratio, brightness in three steps."""
    from skimage.color import hsv2rgb  # slow to import, and used in one view mode alone

    hsv = np.empty((len(values), 3))
    hsv[:, 0] = (values * _GOLDEN) % 1.0
    # No channel falls below a third of the brightness, so that no code looks black.
    hsv[:, 1] = 0.65
    hsv[:, 2] = 0.62 + 0.19 * (values % 3)
    colours: NDArray[np.uint8] = np.rint(255.0 * hsv2rgb(hsv)).astype(np.uint8)
    return colours


def _tints(classes: Sequence[ClassInfo], opacity: float) -> NDArray[np.uint8]:
    table = np.zeros((len(classes), 4), np.uint8)
    for row, info in enumerate(classes):
        if not info.is_background:
            table[row] = np.rint(np.array([*info.colour, 255]) * opacity)
    return table


def _look_up(table: NDArray[np.uint8], index: NDArray[np.integer]) -> NDArray[np.uint8]:
    """Take a row of four bytes for each index; as whole words that is much faster."""
    words = np.ascontiguousarray(table).view(np.uint32)[:, 0]
    rgba: NDArray[np.uint8] = words[index][:, :, np.newaxis].view(np.uint8)
    return rgba


_SHARE = 0.2  # of the width that a bar takes at most
_HEIGHT = 0.012  # of the bar, of the image's longer side
_WHITE, _BLACK = (255, 255, 255), (0, 0, 0)


@dataclass(frozen=True, slots=True)
class ScaleBar:
    """A bar of a round length.

    Parameters
    ----------
    pixels
        Its length in pixels of the image.
    text
        The same in the scale's unit, "50 µm" for instance.
    """

    pixels: float
    text: str


def scale_bar(scale: Scale, width: float) -> ScaleBar:
    """Return the longest bar of 1, 2 or 5 and zeros in a fifth of some pixels.

    >>> from segapp.model.picture import Scale
    >>> scale_bar(Scale(0.25, "µm"), 1000)
    ScaleBar(pixels=200.0, text='50 µm')
    """
    longest = _SHARE * width * scale.pixel
    power = 10.0 ** math.floor(math.log10(longest))
    length = max(step * power for step in (1, 2, 5) if step * power <= longest * (1 + 1e-9))
    return ScaleBar(length / scale.pixel, f"{length:g} {scale.unit}")


def with_scale_bar(rgb: NDArray[np.uint8], scale: Scale) -> NDArray[np.uint8]:
    """Draw a white bar with a black rim and its length into a copy of an image."""
    height, width = rgb.shape[:2]
    bar = scale_bar(scale, width)
    thick = max(round(_HEIGHT * max(height, width)), 2)
    image = Image.fromarray(rgb)
    draw = ImageDraw.Draw(image)
    left, top = 2 * thick, height - 4 * thick
    right = left + max(round(bar.pixels), 1)
    draw.rectangle((left - 1, top - 1, right, top + thick), fill=_BLACK)
    draw.rectangle((left, top, right - 1, top + thick - 1), fill=_WHITE)
    font = ImageFont.load_default(max(2.5 * thick, 9))
    text = bar.text.replace("µ", "u")  # the font that comes with Pillow has no µ
    draw.text(
        (left, top - thick),
        text,
        _WHITE,
        font,
        "ls",
        stroke_width=max(thick // 4, 1),
        stroke_fill=_BLACK,
    )
    return np.asarray(image)
