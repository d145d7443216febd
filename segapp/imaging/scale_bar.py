"""Scale bars: a round length, and the bar drawn into an image."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image, ImageDraw, ImageFont

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from segapp.model.picture import Scale

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
