"""Classes of an annotation: names, colours and shortcut keys."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from segapp.model.validation import SegappError, is_unicode, short_repr

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray


MAX_CLASSES = 255
"""Labels are bytes, and pictures of strokes and truths need one value for "none"."""

DIGITS = "123456789"
"""The keys of classes; 0 would be the tenth and is too far from 1 to be found."""

# Okabe and Ito's colours, which stay apart for colour-blind people.
PALETTE: tuple[tuple[int, int, int], ...] = (
    (230, 159, 0),
    (0, 114, 178),
    (0, 158, 115),
    (204, 121, 167),
    (86, 180, 233),
    (213, 94, 0),
    (240, 228, 66),
    (128, 128, 128),
)


@dataclass(frozen=True, slots=True)
class ClassInfo:
    """Name and colour (RGB) of a class.

    ``key`` is the digit that chooses it, from 1 to 9; empty takes one that is free
    (`shortcut_keys`). ``background`` says that it is what is left over, whatever its name.
    """

    name: str
    colour: tuple[int, int, int]
    key: str = ""
    background: bool = False

    def __post_init__(self) -> None:
        if self.key and self.key not in DIGITS:
            raise SegappError(f"key: wanted a digit from 1 to 9, got {short_repr(self.key)}")
        if not is_unicode(self.name):
            raise SegappError(f"name: wanted whole characters, got {short_repr(self.name)}")
        parts: Sequence[int] = self.colour
        if len(parts) != 3 or not all(0 <= part <= 255 for part in parts):
            raise SegappError(
                f"colour: wanted three numbers from 0 to 255, got {short_repr(self.colour)}"
            )

    @property
    def is_background(self) -> bool:
        """Whether it is called or named so; such a class is no object for other programs."""
        return self.background or self.name.strip().casefold() == "background"


def background_index(classes: Sequence[ClassInfo]) -> int:
    """Return the place of what is left over: the class marked or named so, else the last."""
    marked = [index for index, info in enumerate(classes) if info.background]
    named = [index for index, info in enumerate(classes) if info.is_background]
    return next(iter((*marked, *named)), len(classes) - 1)


def object_indices(classes: Sequence[ClassInfo], only: str | None = None) -> tuple[int, ...]:
    """Return the classes that a mask or a cut-out is of: all but the background, or one by name.

    >>> object_indices([ClassInfo(name, (0, 0, 0)) for name in ("background", "cat", "dog")])
    (1, 2)
    """
    if only is None:
        ground = background_index(classes)
        return tuple(index for index in range(len(classes)) if index != ground)
    named = tuple(index for index, info in enumerate(classes) if info.name == only)
    if not named:
        listed = ", ".join(short_repr(info.name) for info in classes)
        raise SegappError(f"class: wanted one of {listed}, got {short_repr(only)}.")
    return named


def shortcut_keys(classes: Sequence[ClassInfo]) -> tuple[str, ...]:
    """Return the digit that chooses each class, empty where none is left.

    Who has a key of its own keeps it; the others have the digit of their place if that is
    free, and then those that are left.

    >>> names = ("leaf", "stem", "soil")
    >>> shortcut_keys([ClassInfo(name, (0, 0, 0)) for name in names])
    ('1', '2', '3')
    >>> shortcut_keys([ClassInfo("leaf", (0, 0, 0)), ClassInfo("stem", (0, 0, 0), key="1")])
    ('2', '1')
    """
    keys: dict[int, str] = {}
    for index, info in enumerate(classes):
        if info.key and info.key not in keys.values():
            keys[index] = info.key
    for index in range(min(len(classes), len(DIGITS))):
        if index not in keys and DIGITS[index] not in keys.values():
            keys[index] = DIGITS[index]
    free = iter([digit for digit in DIGITS if digit not in keys.values()])
    return tuple(keys[index] if index in keys else next(free, "") for index in range(len(classes)))


TWO_CLASSES: tuple[ClassInfo, ...] = (
    ClassInfo("foreground", PALETTE[0]),
    ClassInfo("background", PALETTE[1]),
)


# Those that a picture itself has much of would not be seen on it, and are passed over.

Colour = tuple[int, int, int]

# Candidates beyond the palette: a grid fine enough for dozens of classes.
_STEPS = (0, 43, 85, 128, 170, 213, 255)
# Lightness (CIELAB) of a colour that is neither lost in shadow nor taken for paper.
_DARKEST, _LIGHTEST = 35.0, 90.0
# At half its strength a colour of less distance (CIELAB) hardly tints; where more than this share
# of a picture is so near to it, it does not tell what is marked.
_NEAR, _MUCH = 30.0, 0.05
_SAMPLES = 64  # pixels along a picture's longer side that stand for all
# From linear sRGB to XYZ relative to its white, D65.
_XYZ = np.array(
    [
        [0.4339534, 0.3762130, 0.1898430],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0177578, 0.1094756, 0.8727664],
    ]
)


def unused_colour(used: Collection[Colour], rgb: NDArray[np.uint8] | None = None) -> Colour:
    """Return a colour far from all used ones: of the palette while it lasts.

    On a picture ``rgb`` the first that is seen well there, or else the one that is seen best.
    """
    free = [colour for colour in PALETTE if colour not in used]
    if free:
        shares = _shares(free, rgb)
        seen = shares <= _MUCH
        return free[int(seen.argmax() if seen.any() else shares.argmin())]
    candidates, places = _candidates()
    taken = lab(np.array(list(used)))
    nearest = np.linalg.norm(places[:, np.newaxis] - taken, axis=2).min(axis=1)
    return candidates[int(nearest.argmax())]


def default_classes(rgb: NDArray[np.uint8]) -> tuple[ClassInfo, ...]:
    """Return object and background in their usual colours, or others where a picture has those."""
    usual = [info.colour for info in TWO_CLASSES]
    colours = list(usual)
    for index, share in enumerate(_shares(usual, rgb)):
        if share > _MUCH:
            colours[index] = unused_colour({*usual, *colours}, rgb)
    return tuple(
        replace(info, colour=colour) for info, colour in zip(TWO_CLASSES, colours, strict=True)
    )


def lab(rgb: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return sRGB colours (0 to 255) in CIELAB, where distance is what the eye sees."""
    share = rgb / 255.0
    linear = np.where(share > 0.04045, ((share + 0.055) / 1.055) ** 2.4, share / 12.92)
    xyz = linear @ _XYZ.T
    root = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz * (29 / 6) ** 2 / 3 + 4 / 29)
    x, y, z = (root[..., k] for k in range(3))
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)


def _shares(colours: Sequence[Colour], rgb: NDArray[np.uint8] | None) -> NDArray[np.float64]:
    """Return how much of a picture looks nearly like each colour."""
    if rgb is None:
        return np.zeros(len(colours))
    step = max(max(rgb.shape[:2]) // _SAMPLES, 1)
    seen = lab(rgb[::step, ::step].reshape(-1, 3))
    apart = np.linalg.norm(seen[:, np.newaxis] - lab(np.array(colours)), axis=2)
    shares: NDArray[np.float64] = (apart < _NEAR).mean(axis=0)
    return shares


@cache
def _candidates() -> tuple[tuple[Colour, ...], NDArray[np.float64]]:
    colours = tuple(itertools.product(_STEPS, _STEPS, _STEPS))
    places = lab(np.array(colours))
    seen = (places[:, 0] >= _DARKEST) & (places[:, 0] <= _LIGHTEST)
    kept = tuple(colour for colour, fits in zip(colours, seen, strict=True) if fits)
    return kept, places[seen]
