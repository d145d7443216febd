"""Pictures from the clipboard, as files that can be opened again."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QStandardPaths
from PySide6.QtGui import QImage

if TYPE_CHECKING:
    from PySide6.QtCore import QMimeData


def pasted_folder() -> Path:
    """Return where pasted pictures are kept."""
    place = QStandardPaths.StandardLocation.GenericDataLocation
    return Path(QStandardPaths.writableLocation(place)) / "segapp" / "pasted"


def pasted_paths(data: QMimeData | None) -> list[Path]:
    """Return the files in the clipboard; a picture without a file is written to one.

    Raises `OSError` when it cannot be written.
    """
    if data is None:
        return []
    paths = [Path(url.toLocalFile()) for url in data.urls() if url.isLocalFile()]
    if paths or not data.hasImage():
        return paths
    image = QImage(data.imageData())
    folder = pasted_folder()
    folder.mkdir(parents=True, exist_ok=True)
    name = datetime.now().astimezone().strftime("pasted %Y-%m-%d %H.%M.%S")
    path = folder / f"{name}.png"
    number = 2
    while path.exists():
        path = folder / f"{name} ({number}).png"
        number += 1
    if image.isNull() or not image.save(str(path)):
        raise OSError(f"The pasted picture cannot be written to {path}.")
    return [path]
