"""NumPy arrays as Qt images, without a copy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtGui import QImage

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray


SCREEN_FORMAT = QImage.Format.Format_ARGB32_Premultiplied
"""What Qt draws as it is, twice as fast as RGBA: bytes of blue, green, red and alpha."""


def qimage_over(
    rgba: NDArray[np.uint8],
    box: tuple[int, int, int, int] | None = None,
    form: QImage.Format = QImage.Format.Format_RGBA8888_Premultiplied,
) -> QImage:
    """Show a C-contiguous ``H x W x 4`` RGBA array (alpha premultiplied) as an image.

    The image reads the array's memory: keep the array alive as long as the image lives, and
    what is written into the array later is what the image shows. ``box`` (left, top, right,
    bottom) shows a part of the array only; ``form`` tells another order of the bytes.
    """
    height, width, _ = rgba.shape
    left, top, right, bottom = box or (0, 0, width, height)
    first = (top * width + left) * 4
    last = ((bottom - 1) * width + right) * 4
    return QImage(
        rgba.reshape(-1)[first:last].data,
        right - left,
        bottom - top,
        rgba.strides[0],
        form,
    )


def rgb_image(rgb: NDArray[np.uint8]) -> QImage:
    """Show a C-contiguous ``H x W x 3`` array in the same way."""
    height, width, _ = rgb.shape
    return QImage(rgb.reshape(-1).data, width, height, 3 * width, QImage.Format.Format_RGB888)


def indexed_image(values: NDArray[np.uint8], colours: Sequence[int]) -> QImage:
    """Show a C-contiguous ``H x W`` array in the same way, with a colour (0xAARRGGBB) a value."""
    height, width = values.shape
    form = QImage.Format.Format_Indexed8
    image = QImage(values.reshape(-1).data, width, height, width, form)
    image.setColorTable(colours)
    return image
