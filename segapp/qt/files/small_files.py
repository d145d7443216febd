"""Small files that the user asks for: where they go, written whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QFileDialog

from segapp.qt.files.file_dialogs import complain
from shlcore.atomic_file import replacing

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget


def ask_where(parent: QWidget, title: str, proposed: Path, kinds: tuple[str, ...]) -> Path | None:
    """Ask where to save; ``kinds`` are filters such as "CSV (*.csv)", the first one chosen.

    A name without a suffix gets that of the chosen kind.
    """
    chosen, kind = QFileDialog.getSaveFileName(parent, title, str(proposed), ";;".join(kinds))
    if not chosen:
        return None
    path = Path(chosen)
    suffix = (kind or kinds[0]).rpartition("*")[2].rstrip(")")
    return path if path.suffix else path.with_name(path.name + suffix)


def save_bytes(parent: QWidget, path: Path, content: bytes) -> bool:
    """Write a file, or say in one sentence why not; return whether it is there."""
    try:
        with replacing(path) as file:
            file.write(content)
    except OSError as error:
        told = QCoreApplication.translate("SmallFiles", "{} cannot be written: {}.")
        complain(parent, told.format(path, error.strerror or error))
        return False
    return True
