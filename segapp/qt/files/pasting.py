"""Pictures from the clipboard, as files that can be opened again."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QStandardPaths
from PySide6.QtGui import QImage

if TYPE_CHECKING:
    from PySide6.QtCore import QMimeData


_QUICKLY = 90  # of Qt's quality: PNG is exact at any, and this one is twice as fast


def pasted_folder() -> Path:
    """Return where pasted pictures are kept."""
    place = QStandardPaths.StandardLocation.GenericDataLocation
    return Path(QStandardPaths.writableLocation(place)) / "segapp" / "pasted"


def pasted_files(data: QMimeData | None) -> list[Path]:
    """Return the files that were pasted or dropped; an empty clipboard may have no data."""
    if data is None:
        return []
    return [Path(url.toLocalFile()) for url in data.urls() if url.isLocalFile()]


def pasted_picture(data: QMimeData | None) -> QImage | None:
    """Return a picture that is no file yet, None when there is none."""
    if data is None or not data.hasImage():
        return None
    image = QImage(data.imageData())
    return None if image.isNull() else image


def pasted_path() -> Path:
    """Return where the next pasted picture is kept, named by the time."""
    name = datetime.now().astimezone().strftime("pasted %Y-%m-%d %H.%M.%S")
    path = pasted_folder() / f"{name}.png"
    number = 2
    while path.exists():
        path = path.with_name(f"{name} ({number}).png")
        number += 1
    return path


def keep_picture(image: QImage, path: Path) -> None:
    """Write a picture to its file, or raise `OSError`; packing it well takes too long."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not image.save(str(path), None, _QUICKLY):
        raise OSError(
            QCoreApplication.translate(
                "Pasting", "The pasted picture cannot be written to {}."
            ).format(path)
        )
