"""Commands for marks other than strokes: shapes, retouches, locks, masks from elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segapp.qt.actions.command import Command, tr

if TYPE_CHECKING:
    from collections.abc import Iterator


def shape_commands() -> Iterator[Command]:
    """Return the tools that draw shapes."""
    for name, text, tip, keys in (
        ("line", tr("Straight &Line"), tr("Paint from where you press to where you let go"), "L"),
        ("box", tr("Bo&x"), tr("Mark a box from corner to corner"), "Shift+B"),
        ("lasso", tr("L&asso"), tr("Mark all that you draw around"), "A"),
        (
            "polygon",
            tr("&Polygon"),
            tr("Mark what lies between corners: click each, double-click or Return ends"),
            "P",
        ),
        (
            "around_box",
            tr("Box Aro&und the Object"),
            tr("What lies outside the box is background, and its middle the object"),
            "Shift+O",
        ),
        (
            "around",
            tr("Lasso Aroun&d the Object"),
            tr("What lies outside is background, and the middle the object"),
            "O",
        ),
        ("fill", tr("F&ill"), tr("Give the part of the answer that you click to a class"), "F"),
    ):
        yield Command(name, text, tip, keys, name, "tool", checkable=True)


def retouch_commands() -> Iterator[Command]:
    """Return what is done to the answer itself."""
    yield Command(
        "retouch",
        tr("Re&touch the Answer"),
        tr("Paint over the answer itself: nothing is learnt from it, and nothing undoes it"),
        "R",
        "retouch",
        checkable=True,
    )
    yield Command(
        "lock_class",
        tr("L&ock Class"),
        tr("Keep the left button's class as it is, whatever is learnt later"),
        "Ctrl+K",
    )
    yield Command(
        "lock_part",
        tr("Lock Part u&nder the Pointer"),
        tr("Keep the part that you point at as it is, whatever is learnt later"),
        "Shift+K",
    )
    yield Command(
        "drop_retouches",
        tr("Drop Reto&uches and Locks"),
        tr("Show the answer as it was learnt"),
    )
    yield Command(
        "import_mask",
        tr("Import Mas&k…"),
        tr("Begin with a mask of another program: black and white, classes, COCO or LabelMe"),
    )
