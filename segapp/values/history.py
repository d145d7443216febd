"""Undo and redo as a value: a document, the way that led to it, and the way back."""

from __future__ import annotations

from dataclasses import dataclass

from segapp.values.document import Document

_BLANK = Document()


@dataclass(frozen=True, slots=True)
class History:
    """A document with the way that led to it and the way back: undo and redo as a value.

    ``past`` holds ``(name of the edit, document before it)``, oldest first; ``future`` holds
    ``(name of the edit, document after it)``, the one that redo brings last.
    """

    present: Document = _BLANK
    past: tuple[tuple[str, Document], ...] = ()
    future: tuple[tuple[str, Document], ...] = ()

    def edited(self, name: str, document: Document) -> History:
        """Go on to ``document``; what had been undone is forgotten. No change is no edit.

        >>> from segapp.values.document import Stroke
        >>> stroked = Document().with_stroke(Stroke(((3.5, 2.5),), radius=2.0, label=0))
        >>> history = History().edited("a stroke", stroked)
        >>> history.undo_name, history.undone().present == Document()
        ('a stroke', True)
        """
        if document == self.present:
            return self
        return History(document, (*self.past, (name, self.present)))

    def undone(self) -> History:
        """Go one edit back, or stay when there is none."""
        if not self.past:
            return self
        name, before = self.past[-1]
        return History(before, self.past[:-1], (*self.future, (name, self.present)))

    def redone(self) -> History:
        """Make the edit that was undone last once more, or stay when there is none."""
        if not self.future:
            return self
        name, after = self.future[-1]
        return History(after, (*self.past, (name, self.present)), self.future[:-1])

    @property
    def undo_name(self) -> str | None:
        """What undo would take back, for the menu."""
        return self.past[-1][0] if self.past else None

    @property
    def redo_name(self) -> str | None:
        """What redo would bring again, for the menu."""
        return self.future[-1][0] if self.future else None
