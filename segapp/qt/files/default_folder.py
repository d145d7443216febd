"""Where a file goes unless the user says otherwise."""

from __future__ import annotations

import os
from pathlib import Path

from PySide6.QtCore import QStandardPaths

from segapp.files.resources import ASSETS
from segapp.qt.files.pasting import pasted_folder


def saving_folder(image: Path, last: Path | None = None) -> Path:
    """Return the image's own folder, if that is the user's and can be written.

    Else it is the folder used ``last``, and before there is one, the documents folder.
    """
    own = image.parent
    if is_the_users(own) and os.access(own, os.W_OK):
        return own
    return last if last is not None else documents_folder()


def opening_folder(image: Path | None, last: Path | None = None) -> Path:
    """Return where to look for files: beside the open image, if that is the user's.

    Else it is the folder used ``last``, and before there is one, the documents folder.
    """
    if image is not None and is_the_users(image.parent):
        return image.parent
    return last if last is not None and last.is_dir() else documents_folder()


def is_the_users(folder: Path) -> bool:
    """Tell a folder of the user's from those that come with the program."""
    return not any(folder.is_relative_to(ours) for ours in (ASSETS, pasted_folder()))


def documents_folder() -> Path:
    """Return where the user's documents are."""
    place = QStandardPaths.StandardLocation.DocumentsLocation
    documents = Path(QStandardPaths.writableLocation(place))
    return documents if documents.is_dir() else Path.home()
