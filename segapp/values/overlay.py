"""Answers as pictures: RGBA arrays (alpha premultiplied) that are laid over an image or shown."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np
from scipy import ndimage
from skimage.color import hsv2rgb

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from segapp.values.document import ClassInfo
    from segapp.values.labelling import Labelling
    from segapp.values.picture import Picture

# From undecided to sure; each colour is brighter than the one before, so that the order shows
# in grey as well.
_CONFIDENCE_RAMP = ((20, 18, 60), (0, 80, 140), (40, 150, 160), (170, 205, 90), (253, 240, 140))
_RIM = (0, 0, 0, 150)  # half-transparent black beside an outline
_GOLDEN = 0.6180339887498949  # steps of this part of a circle never come close to each other


class ViewMode(StrEnum):
    """Ways to look at an answer."""

    OVERLAY = "overlay"
    OUTLINE = "outline"
    MASK = "mask"
    CUTOUT = "cut-out"
    CONFIDENCE = "confidence"
    CODES = "codes"

    @property
    def replaces_image(self) -> bool:
        """Whether it is shown instead of the image and not over it."""
        return self not in (ViewMode.OVERLAY, ViewMode.OUTLINE)


def render(
    mode: ViewMode, labelling: Labelling, classes: Sequence[ClassInfo], picture: Picture
) -> NDArray[np.uint8]:
    """Return the answer in a view mode, ``H x W x 4``."""
    match mode:
        case ViewMode.OVERLAY:
            return overlay(labelling, classes)
        case ViewMode.OUTLINE:
            return outline(labelling, classes)
        case ViewMode.MASK:
            return mask(labelling, classes)
        case ViewMode.CUTOUT:
            return premultiplied_cutout(labelling, picture)
        case ViewMode.CONFIDENCE:
            return confidence(labelling)
        case ViewMode.CODES:
            return codes(labelling)


def overlay(
    labelling: Labelling, classes: Sequence[ClassInfo], opacity: float = 1.0
) -> NDArray[np.uint8]:
    """Tint every class in its colour, except a background, which stays clear."""
    return _look_up(_tints(classes, opacity), labelling.labels)


def outline(labelling: Labelling, classes: Sequence[ClassInfo]) -> NDArray[np.uint8]:
    """Draw the inner edge of every class in its colour, thicker in larger images.

    A background's edge is a dark rim, so that the line shows on a picture of its own colour.
    """
    labels = labelling.labels
    edge = np.zeros(labels.shape, bool)
    for here, there in ((np.s_[1:], np.s_[:-1]), (np.s_[:, 1:], np.s_[:, :-1])):
        differ = labels[here] != labels[there]
        edge[here] |= differ
        edge[there] |= differ
    width = max(1, round(min(labels.shape) / 300))
    if width > 1:
        for axis in (0, 1):
            edge = ndimage.maximum_filter1d(edge, 2 * width - 1, axis)
    rgba = np.zeros((*labels.shape, 4), np.uint8)
    tints = _tints(classes, 1.0)
    tints[[info.is_background for info in classes]] = _RIM
    rgba[edge] = tints[labels[edge]]
    return rgba


def mask(labelling: Labelling, classes: Sequence[ClassInfo]) -> NDArray[np.uint8]:
    """Show what is exported: white on black with two classes, else the classes' colours."""
    table = np.full((max(len(classes), labelling.n_classes), 4), 255, np.uint8)
    if len(classes) == 2:
        table[1, :3] = 0
    else:
        for row, info in enumerate(classes):
            table[row, :3] = info.colour
    return _look_up(table, labelling.labels)


def premultiplied_cutout(labelling: Labelling, picture: Picture) -> NDArray[np.uint8]:
    """Show the picture where the first class is; the rest is clear. For the screen."""
    inside = labelling.labels == 0
    opacity = inside.astype(np.uint8) * np.uint8(255)
    rgba = np.empty((*inside.shape, 4), np.uint8)
    np.multiply(picture.rgb, inside[:, :, np.newaxis], out=rgba[:, :, :3])
    if picture.alpha is not None:
        # The picture is blended with white: premultiplied, that white is taken off again.
        opacity[inside] = picture.alpha[inside]
        rgba[inside, :3] -= np.minimum(rgba[inside, :3], 255 - picture.alpha[inside, np.newaxis])
    rgba[:, :, 3] = opacity
    return rgba


def confidence(labelling: Labelling) -> NDArray[np.uint8]:
    """Show the margin from dark (undecided) to bright (sure)."""
    margin = labelling.margin
    # Strokes hold the maximum, however far above the rest; they must not make it all dark.
    sure = float(np.percentile(margin, 98)) or float(margin.max()) or 1.0
    level = np.minimum(margin * (255.0 / sure), 255.0).astype(np.uint8)
    steps = np.linspace(0, 255, len(_CONFIDENCE_RAMP))
    table = np.full((256, 4), 255, np.uint8)
    for channel in range(3):
        values = [colour[channel] for colour in _CONFIDENCE_RAMP]
        table[:, channel] = np.rint(np.interp(np.arange(256), steps, values))
    return _look_up(table, level)


def codes(labelling: Labelling) -> NDArray[np.uint8]:
    """Give each hash code a colour of its own, the same in every image."""
    # Longer codes are folded to 16 bits, more than there are colours to tell apart.
    folded = labelling.codes & 0xFFFF
    if labelling.n_bits > 16:
        folded ^= labelling.codes >> 16
    table = np.full((1 << min(labelling.n_bits, 16), 4), 255, np.uint8)
    table[:, :3] = code_colours(np.arange(len(table), dtype=np.uint32))
    return _look_up(table, folded)


def code_colours(values: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """Return an RGB row for each code: hue by the golden ratio, brightness in three steps."""
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
