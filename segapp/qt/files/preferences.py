"""Preferences, and default folders of file dialogs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote_to_bytes

from PySide6.QtCore import QSettings

from segapp.app.project_store import documents_folder, is_the_users
from segapp.io.export.datasets import AnnotationScope
from segapp.io.export.formats import DEFAULT_EXPORT, ExportChoices
from segapp.io.export.rasters import Backdrop, backdrop_from_text
from segapp.model.validation import is_unicode

# Recent files: as many as a menu holds without hiding its other entries.
_MOST_RECENT = 12
Value = TypeVar("Value", int, float, bool, str)
_URI = "file://"


class Preferences:
    """A thin wrapper of `QSettings`; a value of the wrong type counts as absent."""

    def __init__(self) -> None:
        self._store = QSettings(
            QSettings.Format.IniFormat, QSettings.Scope.UserScope, "segapp", "segapp"
        )

    def get(self, name: str, default: Value) -> Value:
        """Read a value of the default's type."""
        kind = type(default)
        try:
            value = self._store.value(name, default, type=kind)
        except (TypeError, ValueError):
            return default
        return value if isinstance(value, kind) else default

    def set(self, name: str, value: Value) -> None:
        """Remember a value."""
        self._store.setValue(name, value)

    def state(self, name: str) -> bytes:
        """Read what `set_state` stored; empty when there is nothing."""
        try:
            return bytes.fromhex(self.get(name, ""))
        except ValueError:
            return b""

    def set_state(self, name: str, value: bytes) -> None:
        """Remember bytes of Qt, such as the layout of the docks."""
        self._store.setValue(name, value.hex())

    def recent(self) -> list[Path]:
        """Return the files opened last, the newest first."""
        names = self._store.value("recent", [])
        if isinstance(names, str):  # QSettings reads a list of one as the one
            names = [names]
        if not isinstance(names, list):
            return []
        return [_read(name) for name in names if isinstance(name, str) and name]

    def add_recent(self, path: Path) -> None:
        """Put a file at the head of the recent ones."""
        paths = [path, *(other for other in self.recent() if other != path)]
        self._store.setValue("recent", [_written(each) for each in paths[:_MOST_RECENT]])

    def drop_recent(self, path: Path) -> None:
        """Forget a file that is not there any more."""
        self._store.setValue("recent", [_written(each) for each in self.recent() if each != path])

    def folder(self, name: str) -> Path | None:
        """Read a folder; None when there is none, or none any more."""
        text = self.get(name, "")
        folder = _read(text) if text else None
        return folder if folder is not None and folder.is_dir() else None

    def set_folder(self, name: str, folder: Path) -> None:
        """Remember a folder."""
        self.set(name, _written(folder))

    def flush(self) -> None:
        """Write to disk now."""
        self._store.sync()


def _written(path: Path) -> str:
    """Return a path as text, as a URI if its name is not UTF-8."""
    return str(path) if is_unicode(str(path)) else path.absolute().as_uri()


def _read(text: str) -> Path:
    if not text.startswith(_URI):
        return Path(text)
    return Path(os.fsdecode(unquote_to_bytes(text.removeprefix(_URI))))


def opening_folder(image: Path | None, last: Path | None = None) -> Path:
    """Return where dialogs for opening begin: beside an open image of the user.

    Else it is the folder used ``last``, and before there is one, the documents folder.
    """
    if image is not None and is_the_users(image.parent):
        return image.parent
    return last if last is not None and last.is_dir() else documents_folder()


_AUTOMATIC = -1.0
"""The stored number for an edge that depends on the picture."""


def remembered_choices(preferences: Preferences) -> ExportChoices:
    """Return the last choices for exports; invalid ones have defaults."""
    edge = preferences.get("export/edge", _AUTOMATIC)
    try:
        return ExportChoices(
            None if edge < 0 else edge,
            backdrop=_read_backdrop(preferences.get("export/background", "")),
            per=AnnotationScope(preferences.get("export/per", AnnotationScope.OBJECT.value)),
        )
    except ValueError:
        return DEFAULT_EXPORT


def remember_choices(preferences: Preferences, choices: ExportChoices) -> None:
    """Store choices for exports."""
    preferences.set("export/edge", _AUTOMATIC if choices.edge is None else choices.edge)
    preferences.set("export/background", _written_backdrop(choices.backdrop))
    preferences.set("export/per", choices.per.value)


def _written_backdrop(backdrop: Backdrop | None) -> str:
    if isinstance(backdrop, tuple):
        return "#{:02x}{:02x}{:02x}".format(*backdrop)
    return "" if backdrop is None else _written(backdrop)


def _read_backdrop(text: str) -> Backdrop | None:
    """Return the stored background; a file that is gone counts as none."""
    if text.startswith("#"):
        return backdrop_from_text(text)
    path = _read(text) if text else None
    return path if path is not None and path.is_file() else None
