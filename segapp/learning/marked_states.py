"""The marked pixels of a document, made from those of a document before it."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from segapp.values.marked import Marked

if TYPE_CHECKING:
    from segapp.values.document import Mark

_KEPT = 16
"""States whose marks are kept: they share all tiles but those that the last strokes touched."""


class MarkedStates:
    """Paints no mark again that the last few documents had; what it returns is as if it did.

    Parameters
    ----------
    shape, times
        Of the picture, and how many of its pixels are one where is learnt, along a side.
    """

    def __init__(self, shape: tuple[int, int], times: int) -> None:
        self._nothing = Marked.nothing(shape, times)
        self._kept: OrderedDict[tuple[Mark, ...], Marked] = OrderedDict()

    def of(self, marks: tuple[Mark, ...]) -> Marked:
        """Return what some marks cover, in their order."""
        known = [state for state in self._kept if marks[: len(state)] == state]
        begun = max(known, key=len, default=())
        found = self._kept.get(begun, self._nothing).with_marks(marks[len(begun) :])
        self._kept[marks] = found
        self._kept.move_to_end(marks)
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return found
