"""Table of all commands: text, shortcut, icon and help."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QKeySequence

from segapp.qt.i18n import LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Command:
    """A row of the table; commands of a ``group`` are exclusive."""

    name: str
    text: str
    tip: str
    keys: str | QKeySequence.StandardKey | None = None
    icon: str | None = None
    group: str | None = None
    checkable: bool = False


def tr(text: str) -> str:
    """Translate a text of the table."""
    return QCoreApplication.translate("Actions", text)


def without_mnemonic(text: str) -> str:
    """Return a menu text without its mnemonic, as in "&Open…" or "打开(&O)…"."""
    return re.sub(r"\(&.\)|&", "", text).rstrip("…")


def folder_commands() -> Iterator[Command]:
    """Yield the commands in the order of the menu."""
    yield Command(
        "done", tr("&Done"), tr("Flag this image as done, or take that back"), "D", checkable=True
    )
    yield Command(
        "next_undone",
        tr("Next &Undone"),
        tr("Go to the next image that is not done"),
        "Shift+PgDown",
    )
    yield Command(
        "carry_over",
        tr("&Carry Over"),
        tr("Answer each image that has no strokes with what was learnt on the one before"),
        "Ctrl+Shift+K",
        checkable=True,
    )
    yield Command(
        "apply_to_undone",
        tr("&Apply to All Undone"),
        tr("Answer all images that are not done and have no strokes with what is learnt here"),
    )
    yield Command(
        "share_classes",
        tr("Use These Classes in the &Folder"),
        tr("Let all images of the folder have these classes"),
        "Ctrl+Shift+L",
    )
    yield Command(
        "take_classes",
        tr("&Take the Folder's Classes"),
        tr("Give this image the classes of its folder"),
    )
    yield Command(
        "import_classes",
        tr("&Import Class List…"),
        tr("Read classes of segapp, labelme (labels.txt) or CVAT (JSON)"),
    )
    yield Command(
        "export_folder",
        tr("E&xport Folder"),
        tr("Write all images of the folder as COCO, YOLO, Pascal VOC, masks, …"),
        "Ctrl+Shift+E",
    )


def shape_commands() -> Iterator[Command]:
    """Yield the tools that draw shapes."""
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
    """Yield the commands that edit the answer itself."""
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


_Standard = QKeySequence.StandardKey


def view_commands() -> Iterator[Command]:
    """Yield the commands in the order of the menu."""
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


def _file_commands() -> Iterator[Command]:
    yield Command(
        "open", tr("&Open…"), tr("Open an image or a project"), _Standard.Open, "open-image"
    )
    yield Command(
        "open_folder",
        tr("Open &Folder…"),
        tr("Work through all images of a folder"),
        "Ctrl+Shift+O",
        "open-folder",
    )
    yield Command(
        "previous",
        tr("&Previous Image"),
        tr("Go to the previous image of the folder"),
        "PgUp",
        "previous",
    )
    yield Command(
        "next", tr("&Next Image"), tr("Go to the next image of the folder"), "PgDown", "next"
    )
    yield Command(
        "save",
        tr("&Save Project"),
        tr("Save strokes and settings as a project"),
        _Standard.Save,
        "save",
    )
    yield Command(
        "save_as",
        tr("Save Project &As…"),
        tr("Save the project under another name"),
        "Ctrl+Shift+S",
    )
    yield Command(
        "export",
        tr("&Export…"),
        tr("Write the answer as mask, cut-out, COCO, …"),
        "Ctrl+E",
        "export",
    )
    yield Command(
        "save_model",
        tr("Save Learnt &Model…"),
        tr("Save what was learnt, to apply it to other images"),
    )
    yield Command(
        "apply_model", tr("Appl&y Model…"), tr("Let a saved model answer for this image")
    )
    yield Command("quit", tr("&Quit"), tr("Close the window"), "Ctrl+Q")


def _edit_commands() -> Iterator[Command]:
    yield Command("undo", tr("&Undo"), tr("Take the last edit back"), _Standard.Undo, "undo")
    yield Command("redo", tr("&Redo"), tr("Make the undone edit again"), "Ctrl+Shift+Z", "redo")
    yield Command(
        "clear",
        tr("&Clear Strokes"),
        tr("Remove all strokes (undo brings them back)"),
        "Ctrl+Del",
        "clear",
    )
    yield Command(
        "import_strokes",
        tr("&Import Strokes…"),
        tr("Take strokes from a palette PNG: 0 nothing, 1 first class, 2 second class, …"),
    )
    yield Command(
        "copy_picture",
        tr("C&opy Picture"),
        tr("Copy the picture to the clipboard"),
        "Ctrl+Alt+C",
    )
    yield Command(
        "copy_mask",
        tr("Copy &Mask"),
        tr("Copy the black and white mask to the clipboard"),
        _Standard.Copy,
        "copy",
    )
    yield Command(
        "copy_cutout",
        tr("Copy Cu&t-Out"),
        tr("Copy the cut-out object to the clipboard"),
        "Ctrl+Shift+C",
    )
    yield Command(
        "paste",
        tr("&Paste Picture"),
        tr("Open the picture, or the file, that is in the clipboard"),
        _Standard.Paste,
        "paste",
    )


def _paint_commands() -> Iterator[Command]:
    yield Command(
        "brush",
        tr("&Brush"),
        tr("Paint: each button has its class, as the list of classes shows"),
        "B",
        "brush",
        "tool",
        checkable=True,
    )
    yield Command(
        "eraser",
        tr("&Eraser"),
        tr("Take strokes away where you paint"),
        "E",
        "eraser",
        "tool",
        checkable=True,
    )
    yield Command(
        "hand",
        tr("&Hand"),
        tr("Move the picture (or hold Space, or the middle button, at any time)"),
        "M",
        "hand",
        "tool",
        checkable=True,
    )
    yield Command("larger", tr("&Larger Brush"), tr("Make the brush larger (Ctrl+wheel)"), "]")
    yield Command("smaller", tr("&Smaller Brush"), tr("Make the brush smaller (Ctrl+wheel)"), "[")
    yield Command(
        "swap",
        tr("S&wap Classes"),
        tr("Exchange the classes of left and right button"),
        "X",
        "swap",
    )
    yield Command(
        "keep_others",
        tr("&Keep Other Classes"),
        tr("Paint around what other classes have marked, instead of over it"),
        "K",
        checkable=True,
    )
    yield Command("add_class", tr("&Add Class"), tr("Add a further class"), "Ctrl+Shift+N", "add")
    yield Command(
        "rename_class",
        tr("&Rename Class…"),
        tr("Give the chosen class another name"),
        "F2",
        "rename",
    )
    yield Command(
        "recolour_class", tr("Class &Colour…"), tr("Give the chosen class another colour")
    )
    yield Command(
        "background_class",
        tr("Class &Is Background"),
        tr("Let the chosen class be what is left over: no object for other programs"),
    )
    yield Command(
        "class_up",
        tr("&Move Class Up"),
        tr("Move the chosen class up the list, with its strokes"),
        "Alt+Up",
        "up",
    )
    yield Command(
        "class_down",
        tr("Mo&ve Class Down"),
        tr("Move the chosen class down the list, with its strokes"),
        "Alt+Down",
        "down",
    )
    yield Command(
        "delete_class",
        tr("&Delete Class"),
        tr("Delete the chosen class with its strokes"),
        None,
        "delete",
    )


def _answer_commands() -> Iterator[Command]:
    yield Command(
        "live",
        tr("&Live Update"),
        tr("Learn anew after every stroke"),
        "Ctrl+L",
        "live",
        checkable=True,
    )
    yield Command(
        "update", tr("&Update Now"), tr("Learn from the strokes as they are"), "F5", "update"
    )
    yield Command(
        "learn_anew",
        tr("Learn &Anew"),
        tr("Learn from all strokes at once, as if they had just been made together"),
        "Ctrl+F5",
    )
    yield Command(
        "stop", tr("&Stop"), tr("Stop learning and keep what is shown"), "Shift+F5", "stop"
    )
    yield Command(
        "spot", tr("&Where to Scribble Next"), tr("Go to the least certain region"), "N", "spot"
    )
    yield Command(
        "mark_spot",
        tr("&Mark the Least Certain Region"),
        tr("Ring the region where a stroke helps most"),
        None,
        None,
        checkable=True,
    )


def _help_commands() -> Iterator[Command]:
    yield Command(
        "shortcuts", tr("&Shortcuts"), tr("All keys and what the mouse does"), "F1", "help"
    )
    yield Command(
        "problem",
        tr("Report a &Problem…"),
        tr("Collect versions and the log as a text; nothing is sent"),
    )
    yield Command("about", tr("&About"), tr("What this program is"))


def all_commands() -> Iterator[Command]:
    """Yield all commands in the order of the menus."""
    yield from _file_commands()
    yield from folder_commands()
    yield from _edit_commands()
    yield from _paint_commands()
    yield from shape_commands()
    yield from retouch_commands()
    yield from _answer_commands()
    yield from view_commands()
    yield from _help_commands()
