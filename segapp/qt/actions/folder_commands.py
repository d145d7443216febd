"""The commands for working through a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segapp.qt.actions.command import Command, tr

if TYPE_CHECKING:
    from collections.abc import Iterator


def folder_commands() -> Iterator[Command]:
    """Return them in the order of the menu."""
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
