"""Another order of the classes, which all that was marked follows."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from segapp.values.document import Document


def with_class_moved(document: Document, index: int, place: int) -> Document:
    """Move a class to another place of the list; strokes, retouches and the start go along.

    A background that is so by being the last is marked as such, so that it stays one.
    """
    order = list(range(len(document.classes)))
    order.insert(place, order.pop(index))
    places = [order.index(old) for old in range(len(order))]
    ground = places[document.background]
    moved = document.with_classes(tuple(document.classes[old] for old in order), places)
    return moved if moved.background == ground else moved.with_background(ground)
