"""A disk that forgets what was not synced, and saves that are cut off at every step."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch


class ForgetfulDisk:
    """A folder after a power failure: the contents and names that were synced.

    A file's bytes are on the disk after `os.fsync` of the file, a name (new, replaced or
    removed) after `os.fsync` of its folder. ``on_step`` is called before each sync, rename and
    removal.
    """

    def __init__(self, root, on_step=lambda: None):
        self.root, self._on_step = Path(root), on_step
        self._is_stepping = False
        self._contents: dict[int, bytes] = {}
        self._names: dict[int, dict[str, int]] = {}
        self._held: list[int] = []  # open files, so that no number is given a second time
        for folder, _, names in os.walk(self.root):
            self._sync_path(folder)
            for name in names:
                self._sync_path(os.path.join(folder, name))

    def _sync_path(self, path):
        handle = os.open(path, os.O_RDONLY)
        self._sync(handle)
        self._held.append(handle)

    def _sync(self, handle):
        number, place = os.fstat(handle).st_ino, f"/proc/self/fd/{handle}"
        if os.path.isdir(place):
            entries = {entry.name: entry.inode() for entry in os.scandir(place)}
            self._names[number] = entries
            for name in entries:
                self._held.append(os.open(os.path.join(place, name), os.O_RDONLY))
        else:
            self._contents[number] = Path(place).read_bytes()
            self._held.append(os.open(place, os.O_RDONLY))

    def _step(self):
        if not self._is_stepping:
            self._is_stepping = True
            self._on_step()
            self._is_stepping = False

    @contextmanager
    def mounted(self):
        """Record what this process syncs."""
        kept = {name: getattr(os, name) for name in ("fsync", "replace", "unlink", "rename")}

        def fsync(file):
            self._step()
            kept["fsync"](file)
            self._sync(file if isinstance(file, int) else file.fileno())

        def step(name):
            def call(*arguments, **named):
                self._step()
                return kept[name](*arguments, **named)

            return call

        steps = {name: step(name) for name in ("replace", "unlink", "rename")}
        with patch.multiple(os, fsync=fsync, **steps):
            try:
                yield self
            finally:
                for handle in self._held:
                    os.close(handle)
                self._held = []

    def survivors(self, target):
        """Make a new folder as the root would be found after a power failure now."""
        self._restore(self.root.stat().st_ino, Path(target))
        return Path(target)

    def _restore(self, number, target):
        if number in self._names:
            target.mkdir()
            for name, inner in self._names[number].items():
                self._restore(inner, target / name)
        else:  # the name of a file whose bytes were never synced leads to an empty one
            target.write_bytes(self._contents.get(number, b""))
