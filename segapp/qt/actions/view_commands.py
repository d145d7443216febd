"""The commands that change how things look: view modes, zoom, theme."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtGui import QKeySequence

from segapp.qt.actions.command import Command, tr
from segapp.qt.language import LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Iterator

_Standard = QKeySequence.StandardKey


def view_commands() -> Iterator[Command]:
    """Return them in the order of the menu."""
    yield Command(
        "view_overlay",
        tr("&Overlay"),
        tr("The classes' colours over the picture"),
        "Ctrl+1",
        "view-overlay",
        "view",
        checkable=True,
    )
    yield Command(
        "view_outline",
        tr("O&utline"),
        tr("The edge of each class"),
        "Ctrl+2",
        "view-outline",
        "view",
        checkable=True,
    )
    yield Command(
        "view_mask",
        tr("&Mask"),
        tr("Black and white, or the classes' colours"),
        "Ctrl+3",
        "view-mask",
        "view",
        checkable=True,
    )
    yield Command(
        "view_cut-out",
        tr("&Cut-Out"),
        tr("Everything but the background, on a chequerboard"),
        "Ctrl+4",
        "view-cutout",
        "view",
        checkable=True,
    )
    yield Command(
        "view_confidence",
        tr("Con&fidence"),
        tr("Dark where the learner is undecided, bright where it is sure"),
        "Ctrl+5",
        "view-confidence",
        "view",
        checkable=True,
    )
    yield Command(
        "view_codes",
        tr("&Hash Codes"),
        tr("A colour for each hash code"),
        "Ctrl+6",
        "view-codes",
        "view",
        checkable=True,
    )
    yield Command(
        "view_components",
        tr("What the E&ncoder Sees"),
        tr("Places that are alike to the encoder have like colours"),
        "Ctrl+7",
        None,
        "view",
        checkable=True,
    )
    yield Command(
        "show_strokes",
        tr("Show &Strokes"),
        tr("Show or hide what you painted"),
        "S",
        None,
        checkable=True,
    )
    yield Command(
        "hide_answer",
        tr("Hide Ans&wer"),
        tr("See the bare picture (or hold H)"),
        "Shift+H",
        None,
        checkable=True,
    )
    yield Command(
        "levels",
        tr("Le&vels and Channels…"),
        tr("Choose what is black and white, and which channels are shown"),
        "Ctrl+Shift+V",
        None,
    )
    yield Command("zoom_in", tr("Zoom &In"), tr("Zoom in"), _Standard.ZoomIn, "zoom-in")
    yield Command("zoom_out", tr("&Zoom Out"), tr("Zoom out"), _Standard.ZoomOut, "zoom-out")
    yield Command("fit", tr("Fi&t in Window"), tr("Show the whole picture"), "Ctrl+0", "fit")
    yield Command(
        "actual_size",
        tr("&Actual Size"),
        tr("One image pixel on one screen pixel"),
        "Ctrl+Alt+0",
        "actual-size",
    )
    yield Command(
        "full_screen", tr("Full Sc&reen"), tr("Use the whole screen"), "F11", None, checkable=True
    )
    yield Command(
        "theme_system",
        tr("As the &System"),
        tr("Light or dark as the system says"),
        None,
        None,
        "theme",
        checkable=True,
    )
    yield Command(
        "theme_light",
        tr("&Light"),
        tr("Dark text on a light ground"),
        None,
        None,
        "theme",
        checkable=True,
    )
    yield Command(
        "theme_dark",
        tr("&Dark"),
        tr("Light text on a dark ground"),
        None,
        None,
        "theme",
        checkable=True,
    )
    yield Command(
        "language_system",
        tr("As the &System"),
        tr("The window's language as the system says, from the next start on"),
        group="language",
        checkable=True,
    )
    for language, name in LANGUAGES.items():
        yield Command(
            f"language_{language}",
            name,
            tr("The window's language from the next start on"),
            group="language",
            checkable=True,
        )
