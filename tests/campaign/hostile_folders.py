"""Folders of strangers: links, pipes, endless pages, names in disguise, very many files.

A real window opens each, works in it as far as that goes, and closes. Nothing outside of the
folder changes, the window's thread never waits for longer than a second, and no box shows a name
as HTML.
"""

from __future__ import annotations

import os
import struct
import time
import traceback
from contextlib import ExitStack, suppress
from pathlib import Path

from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMessageBox

from segapp.batch.folder_export import EXPORT_FOLDER, FolderExport, ImageExported
from segapp.io.class_list import FOLDER_LISTS
from segapp.io.export.formats import FOLDER_FORMATS
from segapp.io.folder_files import DISPLAY_FILE, PROGRESS_FILE
from segapp.model.validation import SegappError
from tests.campaign.driver import Heartbeat
from tests.campaign.faults import Desk
from tests.campaign.folders import draw, own_folders
from tests.campaign.random_users import wait
from tests.campaign.results import Failure, Row
from tests.segapp.qt.conftest import QuickSegmenter

LONGEST_HANG = 1.0
CONTROL = (
    PROGRESS_FILE,
    DISPLAY_FILE,
    *FOLDER_LISTS,
    f".{PROGRESS_FILE}.lock",
    "p0.segapp",
    "p0.png.segapp",
    ".p0.segapp.lock",
    ".p0.segapp.unfinished",
)
DISGUISED = (
    "<h1>Your disk is full.png",
    "\u202egnp.exe.png",
    "\x9b2J.png",
    "a\nb.png",
    "%s{}.png",
)


def endless_gif(path, n_frames=200_000):
    """Write a GIF of frames of one pixel."""
    frame = bytes.fromhex("21f9040005000000 2c000000000100010000 02024401 00")
    head = b"GIF89a" + bytes.fromhex("01000100800000 000000ffffff")
    path.write_bytes(head + frame * n_frames + b";")


def endless_tiff(path, n_pages=1_000_000):
    """Write a TIFF of pages of one pixel."""
    tags = ((256, 3, 1, 1), (257, 3, 1, 1), (262, 3, 1, 1), (273, 4, 1, 0), (279, 4, 1, 1))
    page = struct.pack("<H", len(tags)) + b"".join(struct.pack("<HHII", *tag) for tag in tags)
    with path.open("wb") as file:
        file.write(b"II*\0" + struct.pack("<I", 8))
        for number in range(1, n_pages + 1):
            following = 8 + number * (len(page) + 4) if number < n_pages else 0
            file.write(page + struct.pack("<I", following))


def sparse(path, terabytes=3):
    """Write a file of holes."""
    with path.open("wb") as file:
        file.truncate(terabytes << 40)


def state_of(folder):
    """Return names, links, sizes, times and small contents below a folder."""
    found = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = Path(place, name)
            at = path.lstat()
            content = path.read_bytes() if path.is_file() and at.st_size < 1 << 16 else b""
            found[path] = at.st_mode, at.st_size, at.st_mtime_ns, content
    return found


class Visit:
    """A window that goes into a folder, works and leaves."""

    def __init__(self, folder, stack):
        self.desk = Desk(folder, stack)
        self.heart = Heartbeat(self.desk.window)
        self.secret = folder / "home" / "authorized_keys"
        self.secret.parent.mkdir()
        self.secret.write_text("ssh-ed25519 AAAA of the user\n")
        self.folder = folder / "theirs"
        for number in range(3):
            draw(self.folder / f"p{number}.png", number)

    def enter(self):
        """Open the folder, and wait for its first picture or a complaint."""
        window, told = self.desk.window, len(self.desk.told)
        window.files.open(self.folder)
        wait(lambda: window.files.workspace.root == self.folder, "the folder")
        there = lambda: not window.files.is_reading or len(self.desk.told) > told  # noqa: E731
        wait(there, "its first picture")

    def work(self):
        """Go through all pictures; paint, flag and save where one is open."""
        window = self.desk.window
        for _ in range(min(len(window.files.workspace.images), 12)):
            if window.session.state is not None and not window.files.is_reading:
                self.desk.stroke()
                self.desk.stroke(label=1)
                window.commands["done"].trigger()
                window.commands["save"].trigger()
            window.commands["next"].trigger()
            QTest.qWait(30)
        wait(lambda: not window.files.is_reading, "the last picture")
        QTest.qWait(1200)
        for path in self.folder.iterdir():
            if path.is_fifo():
                window.files.open(path)
                wait(lambda: not window.files.is_reading, path.name)

    def export(self):
        """Export the folder to where that is proposed, as far as it goes."""
        out = self.folder / EXPORT_FOLDER / "mask"
        export = FolderExport.of_folder(self.folder, FOLDER_FORMATS["mask"], out)
        with suppress(SegappError, OSError):
            return [step for step in export.run(QuickSegmenter) if isinstance(step, ImageExported)]

    def leave(self):
        """Close the window, and all boxes before."""
        for box in self.desk.window.findChildren(QMessageBox):
            box.close()
        window = self.desk.window
        for _ in range(2):  # the second time nothing is waited for
            if window.isVisible():
                window.close()
        assert self.heart.longest < LONGEST_HANG, f"hung for {self.heart.longest:.2f} s"


def _visit(make, look_only=False):
    with own_folders() as folder, ExitStack() as stack:
        visit = Visit(folder, stack)
        make(visit)
        outside, inside = state_of(visit.secret.parent), state_of(visit.folder)
        visit.enter()
        if look_only:
            QTest.qWait(900)
            assert state_of(visit.folder) == inside, "something was written by looking"
        else:
            visit.work()
            visit.export()
        visit.leave()
        assert state_of(visit.secret.parent) == outside, "something outside was written"
        QApplication.processEvents()


def links_to_a_file_of_the_user(visit):
    for name in CONTROL:
        (visit.folder / name).symlink_to(visit.secret)


def links_to_nothing(visit):
    for name in CONTROL:
        (visit.folder / name).symlink_to(visit.secret.with_name(f"new{name}"))


def links_where_exports_go(visit):
    out = visit.folder / EXPORT_FOLDER / "mask"
    out.mkdir(parents=True)
    for name in ("p0.png", "p1.png", ".mask.jsonl"):
        (out / name).symlink_to(visit.secret)


def a_link_instead_of_the_exports(visit):
    (visit.folder / EXPORT_FOLDER).symlink_to(visit.secret.parent)


def links_to_a_folder(visit):
    for name in CONTROL:
        (visit.folder / name).symlink_to(visit.secret.parent)


def pipes(visit):
    for name in (*CONTROL, "q0.png", "q1.tif"):
        os.mkfifo(visit.folder / name)


def folders_in_their_place(visit):
    for name in CONTROL:
        (visit.folder / name).mkdir()


def endless_pages(visit):
    endless_gif(visit.folder / "a.gif")
    endless_tiff(visit.folder / "b.tif")
    sparse(visit.folder / "c.jpg")
    sparse(visit.folder / "d.tif", 1)
    sparse(visit.folder / "p0.segapp", 1)


def names_in_disguise(visit):
    for name in DISGUISED:
        draw(visit.folder / name)
    (visit.folder / DISGUISED[0]).write_bytes(b"no image")


def a_link_to_the_folder_itself(visit):
    (visit.folder / "again").symlink_to(visit.folder)
    (visit.folder / "again.png").symlink_to(visit.folder / "again.png")


FOLDERS = {
    each.__name__: each
    for each in (
        links_to_a_file_of_the_user,
        links_to_nothing,
        links_where_exports_go,
        a_link_instead_of_the_exports,
        links_to_a_folder,
        pipes,
        folders_in_their_place,
        endless_pages,
        names_in_disguise,
        a_link_to_the_folder_itself,
    )
}


def very_many_files(count):
    """Open a folder of many images, go to some, and close; return the longest hang."""
    with own_folders() as folder, ExitStack() as stack:
        visit = Visit(folder, stack)
        first = visit.folder / "p0.png"
        for number in range(count):
            os.link(first, visit.folder / f"image {number:06}.png")
        began = time.monotonic()
        visit.enter()
        opened, window = time.monotonic() - began, visit.desk.window
        assert len(window.files.workspace.images) == count + 3
        visit.work()
        window.files.open(visit.folder / f"image {count // 2:06}.png")
        wait(lambda: not window.files.is_reading, "a picture in the middle")
        window.file_list.search.setText("99")
        QTest.qWait(500)
        visit.leave()
        return opened, visit.heart.longest


def run(names=FOLDERS, count=30_000):
    """Visit the named folders, first by a look alone, and one with many files."""
    rows = []
    for name in names:
        row = Row("folders", name.replace("_", " "))
        for look_only in (True, False):
            row.tried += 1
            try:
                _visit(FOLDERS[name], look_only)
            except Exception:  # noqa: BLE001 - all that may go wrong is the result
                row.failures.append(Failure(f"folders:{name}", traceback.format_exc()[-900:]))
        rows.append(row)
    if count:
        row = Row("folders", f"{count} images", 1)
        try:
            opened, hang = very_many_files(count)
            row.note = f"listed and open in {opened:.1f} s, longest hang {hang:.2f} s"
        except Exception:  # noqa: BLE001
            row.failures.append(Failure("folders:many", traceback.format_exc()[-900:]))
        rows.append(row)
    return rows
