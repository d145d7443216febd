"""A picture in strips of rows, for work whose steps need much more memory than the picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_VALUES = 1 << 19


def row_strips(shape: tuple[int, ...]) -> Iterator[slice]:
    """Yield slices of the first axis that hold about half a million values each."""
    per_row = 1
    for length in shape[1:]:
        per_row *= length
    height = max(1, _VALUES // max(per_row, 1))
    for top in range(0, shape[0], height):
        yield slice(top, min(top + height, shape[0]))
