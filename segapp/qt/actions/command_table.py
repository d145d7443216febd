"""Every command of the window: its text, shortcut, icon and explanation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtGui import QKeySequence

from segapp.qt.actions.command import Command, tr
from segapp.qt.actions.folder_commands import folder_commands
from segapp.qt.actions.mark_commands import retouch_commands, shape_commands
from segapp.qt.actions.view_commands import view_commands

if TYPE_CHECKING:
    from collections.abc import Iterator

_Standard = QKeySequence.StandardKey


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
    """Return every command, in the order of the menus."""
    yield from _file_commands()
    yield from folder_commands()
    yield from _edit_commands()
    yield from _paint_commands()
    yield from shape_commands()
    yield from retouch_commands()
    yield from _answer_commands()
    yield from view_commands()
    yield from _help_commands()
