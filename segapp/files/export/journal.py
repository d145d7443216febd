"""What of a data set is written: a line a picture, so that a run can go on where it was cut."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from segapp.files.export.dataset import Written
from segapp.values.checked import field, fields, from_json, listed, text

if TYPE_CHECKING:
    from pathlib import Path


class Journal:
    """Remembers by key what each picture has left; a line that is damaged counts for nothing."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._entries: dict[str, tuple[str, Written]] = {}
        try:
            lines = path.read_bytes().splitlines()
        except OSError:
            lines = []
        for line in lines:
            try:
                self._take(line)
            except ValueError:
                continue

    def _take(self, line: bytes) -> None:
        entry = fields(from_json(line, "journal"), "journal")
        files = [text(name, "files", 20_000) for name in listed(field(entry, "files"), "files")]
        written = Written(tuple(files), fields(field(entry, "data"), "data"))
        name, key = text(field(entry, "name"), "name", 20_000), text(field(entry, "key"), "key")
        self._entries[name] = (key, written)

    def found(self, name: str, key: str) -> Written | None:
        """Return what a picture has left, if it is what ``key`` describes and all there."""
        known, written = self._entries.get(name, ("", None))
        if written is None or known != key:
            return None
        folder = self._path.parent
        return written if all((folder / file).is_file() for file in written.files) else None

    def add(self, name: str, key: str, written: Written) -> None:
        """Append a line; what is lost when the machine goes down is only made again."""
        entry = {"name": name, "key": key, "files": written.files, "data": written.data}
        with self._path.open("ab") as file:
            file.write(b"\n" + json.dumps(entry).encode("ascii") + b"\n")
        self._entries[name] = (key, written)
