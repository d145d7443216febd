"""What is refused before any pixel is decoded: too large, or more than the bytes can hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segapp.values.wording import shown

if TYPE_CHECKING:
    from pathlib import Path

    from PIL import Image

LARGEST = 250_000_000  # pixels; three bytes each and some more to work with
LARGEST_DECODED = 4 << 30  # bytes of all channels of a deep picture

# How many bytes one byte of the file can become at the most, by format or TIFF's compression.
_GAINS: dict[str | int, int] = {
    "PNG": 1100,
    "BMP": 260,
    "GIF": 4000,
    "raw": 1,
    "packbits": 130,
    "tiff_lzw": 4000,
    "tiff_adobe_deflate": 1100,
    "tiff_deflate": 1100,
    1: 1,
    5: 4000,
    8: 1100,
    32773: 130,
    32946: 1100,
}
_SLACK = 1 << 16
# Others have no such bound, as WebP holds any flat colour in a hundred bytes; but larger
# pictures than these have more to show.
_OTHER_GAIN, _OTHER_SLACK = 5000, 32 << 20
_CHANNELS_OF = {"1": 1 / 8, "L": 1, "P": 1 / 8, "LA": 2, "RGBA": 4, "CMYK": 4, "I;16": 2, "F": 4}


class ImageError(ValueError):
    """An image cannot be read; the message is one sentence that says why."""


def check_size(path: Path, width: int, height: int) -> None:
    """Refuse a picture without pixels, or with too many."""
    if width < 1 or height < 1:
        raise ImageError(f"{shown(path.name)} has {width} x {height} pixels: wanted some.")
    if width * height > LARGEST:
        raise ImageError(
            f"{shown(path.name)} has {width} x {height} pixels: "
            f"at most {LARGEST // 1_000_000} million can be worked on."
        )


def check_promise(path: Path, image: Image.Image, file_size: int) -> None:
    """Refuse a picture that cannot be as large as it says, which would be filled with nothing."""
    kind = image.info.get("compression") if image.format == "TIFF" else image.format
    wanted = int(image.width * image.height * _CHANNELS_OF.get(image.mode, 1))
    check_gain(path, kind, wanted, file_size)


def check_gain(path: Path, kind: str | int | None, wanted: int, stored: int) -> None:
    """Refuse ``wanted`` bytes of pixels where ``stored`` ones cannot become as many."""
    gain, slack = _OTHER_GAIN, _OTHER_SLACK
    if kind is not None and kind in _GAINS:
        gain, slack = _GAINS[kind], _SLACK
    if wanted > gain * stored + slack:
        raise ImageError(
            f"{shown(path.name)} is damaged: its {stored} bytes cannot hold the "
            f"{wanted} that its size asks for."
        )
