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
    is_ours = any(own.is_relative_to(folder) for folder in (ASSETS, pasted_folder()))
    if not is_ours and os.access(own, os.W_OK):
        return own
    if last is not None:
        return last
    place = QStandardPaths.StandardLocation.DocumentsLocation
    documents = Path(QStandardPaths.writableLocation(place))
    return documents if documents.is_dir() else Path.home()
