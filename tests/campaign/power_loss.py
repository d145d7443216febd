"""Power losses: disks that forget what was not synced, under the real program.

Root gets an ext4 file system in a file, which is shut down without flushing its journal while the
program paints; the next life starts on what the disk then holds. Elsewhere, and besides, a disk
in Python forgets what was not synced, and saves are cut off at every step.
"""

from __future__ import annotations

import itertools
import os
import random
import struct
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from segapp.app.project_files import write_project
from segapp.io.project import ProjectLocation, load_project
from tests.campaign import kills
from tests.campaign.results import Failure, Row
from tests.segapp.app.projects import project

_SHUTDOWN, _WITHOUT_FLUSHING = 0x8004587D, 2  # EXT4_IOC_SHUTDOWN and its flag
_MEGABYTES = 64


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


class Ext4:
    """A mounted ext4 file system in a file, whose power can be cut."""

    def __init__(self, folder):
        self._image, self.root = Path(folder, "disk"), Path(folder, "mounted")
        self.root.mkdir()
        with self._image.open("wb") as file:
            file.truncate(_MEGABYTES << 20)
        _run("mkfs.ext4", "-q", "-F", self._image)
        self.mount()

    def mount(self):
        _run("mount", "-o", "loop", self._image, self.root)

    def cut(self):
        """Forget what is not on the disk; nothing can be written or read any more."""
        import fcntl

        handle = os.open(self.root, os.O_RDONLY)
        try:
            fcntl.ioctl(handle, _SHUTDOWN, struct.pack("I", _WITHOUT_FLUSHING))
        finally:
            os.close(handle)

    def unmount(self):
        for _ in range(100):
            if subprocess.run(["umount", self.root], check=False, capture_output=True).returncode:
                time.sleep(0.05)
            else:
                return
        _run("umount", "-l", self.root)


def _run(*words):
    subprocess.run([str(word) for word in words], check=True, capture_output=True)


def can_mount():
    """Tell whether this user may mount a file."""
    if sys.platform != "linux" or os.geteuid():
        return False
    with tempfile.TemporaryDirectory(prefix="power-") as folder:
        try:
            disk = Ext4(folder)
            disk.cut()
            disk.unmount()
        except (OSError, subprocess.CalledProcessError):
            return False
    return True


class PowerChain(kills.Chain):
    """Lives on a disk whose power is cut; the log is on another one."""

    def __init__(self, disk, log, seed, nursery):
        self._disk = disk
        super().__init__(disk.root / "home", seed, nursery)
        self.log = log
        os.sync()

    def stop(self, pid):
        """Cut the power, end the program, and mount what the disk holds."""
        self._disk.cut()
        super().stop(pid)
        self._disk.unmount()
        self._disk.mount()


@contextmanager
def _on_a_disk(seed, nursery):
    with tempfile.TemporaryDirectory(prefix="power-") as folder:
        disk = Ext4(folder)
        try:
            yield PowerChain(disk, Path(folder, "log"), seed, nursery)
        finally:
            disk.unmount()


def chain(seed, count, rows, nursery=None):
    """Cut the power ``count`` times; return whether all was well."""
    return kills.chain(seed, count, rows, nursery, "power", _on_a_disk)


def cut_saves(seed, n_saves):
    """Cut each of some saves off at every step, on a disk in Python."""
    row, rng = (
        Row("power", "a save cut off at every step, on a disk in Python"),
        random.Random(seed),
    )
    with tempfile.TemporaryDirectory(prefix="power-") as name:
        folder = Path(name, "disk")
        folder.mkdir()
        path, ended = folder / "x.segapp", [[0]]
        location = write_project(ProjectLocation(path), project(0))

        def fail():
            row.tried += 1
            left = disk.survivors(Path(name, f"left{row.tried}"))
            found = [int(m.points[0][0]) for m in load_project(left / path.name).document.strokes]
            if found not in (ended[-1], under_way[-1]):
                row.failures.append(Failure(f"power:saves:{seed}:{n_saves}", f"found {found}"))

        under_way = [[0]]
        with ForgetfulDisk(folder, fail).mounted() as disk:
            for number in range(1, n_saves + 1):
                under_way.append(list(range(rng.randint(1, 9) + number)))
                location = write_project(location, project(*under_way[-1]))
                ended.append(under_way[-1])
            fail()
    return row


def run(seed, count, seconds=None, chain_length=5):
    """Cut the power ``count`` times, or until ``seconds`` are over."""
    rows = {}
    until = time.monotonic() + seconds if seconds else None
    if can_mount():
        with kills.Nursery() as nursery:
            for number in itertools.count(0, chain_length):
                if number >= count or (until is not None and time.monotonic() > until):
                    break
                chain(f"{seed}.{number}", chain_length, rows, nursery)
    return [*rows.values(), cut_saves(seed, min(count, 20))]
