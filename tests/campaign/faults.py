"""Injected faults: full disks, read-only folders, lost images, lying schedulers.

Each fault gives one sentence, costs no work of the user, and is recovered from.
"""

from __future__ import annotations

import os
import resource
import shutil
import socket
import subprocess
import sys
import textwrap
import threading
import time
import traceback
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from unittest import mock

import pytest
from PIL import Image
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication, QMessageBox

from segapp.app import project_store
from segapp.app.project_store import SaveLocation
from segapp.app.recovery import newest_first, orphaned_folders
from segapp.batch.cases import find_cases
from segapp.batch.execution import run_tasks, run_tasks_remotely
from segapp.batch.task import Task
from segapp.io.images import load_image
from segapp.io.project import load_project
from segapp.model.document import Stroke
from segapp.model.settings import SettingsChoice
from segapp.qt.dialogs.export_dialog import ExportDialog
from segapp.qt.files import file_dialogs
from segapp.qt.files.file_dialogs import Unsaved
from segapp.qt.files.preferences import Preferences
from segapp.qt.session.session import Session
from segapp.qt.window import main_window, startup
from segapp.qt.window.startup import build_window
from shlcore import parallel
from shlcore.parallel import ClusterError
from tests.campaign.driver import Heartbeat
from tests.campaign.folders import application, draw, own_folders
from tests.campaign.kills import ROOT, _batch, _cases
from tests.campaign.random_users import wait
from tests.campaign.results import Failure, Row
from tests.segapp.fake_segmenter import Deadly, NearestColour
from tests.segapp.qt.conftest import QuickSegmenter, save_now

UNPRIVILEGED = 65534


class Desk:
    """A window whose boxes are read by the test."""

    def __init__(self, folder, stack, make=QuickSegmenter):
        self.told, self.folder = [], folder
        for module in (file_dialogs, startup, main_window):
            stack.enter_context(
                mock.patch.object(module, "complain", lambda _, *told: self.told.append(told[0]))
            )
        stack.enter_context(
            mock.patch.object(file_dialogs, "ask_unsaved", return_value=Unsaved.DISCARD)
        )
        stack.enter_context(mock.patch.object(project_store, "_RETRY_SECONDS", (0.1,)))
        self.root = folder / "recovery"
        self.image = draw(folder / "picture.png")
        self.window = build_window(Session(make), Preferences(), self.root)
        self.window.show()
        stack.callback(self.close)
        self.open(self.image)

    def open(self, path):
        opened, failed = [], len(self.told)
        self.window.files.opened.connect(opened.append)
        self.window.files.open(path)
        wait(lambda: opened or len(self.told) > failed, "the picture")

    def stroke(self, number=0, label=0):
        x = 4.0 + number % 16 + 24 * label
        self.window.session.add_stroke(Stroke(((x, 5.0), (x, 25.0)), 2.0, label))

    def copies(self):
        found = []
        for file in self.root.glob("*/*.segapp"):
            found.append(len(load_project(file).document.strokes))
        return found

    def close(self):
        self.window.close()
        self.window.deleteLater()
        QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


@contextmanager
def desk(make=QuickSegmenter):
    with own_folders() as folder, ExitStack() as stack:
        yield Desk(folder, stack, make)


@contextmanager
def full_disk(place):
    """Mount a small disk; gives a function that fills it and one that makes room."""
    place.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)],
        capture_output=True,
        check=False,
    )
    if done.returncode:
        yield from _small_files()
        return
    filler = place / "filler"

    def fill():
        with filler.open("wb", buffering=0) as file, suppress(OSError):
            while file.write(bytes(1024)):
                pass

    try:
        yield fill, lambda: filler.unlink(missing_ok=True)
    finally:
        subprocess.run(["umount", "-l", str(place)], check=False)


def _small_files():
    """Without the right to mount: let no file grow."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def room():
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, hard))

    try:
        yield lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard)), room
    finally:
        room()


# The disk -----------------------------------------------------------------------------------


def a_full_disk_for_the_copies():
    with desk() as at, full_disk(at.root) as (fill, make_room):
        fill()
        for number in range(5):
            at.stroke(number)
        wait(lambda: at.told, "a complaint")
        assert len(at.window.session.document.strokes) == 5
        make_room()
        wait(lambda: at.copies() == [5], "a copy without another edit")
        assert len(at.told) == 1


def a_full_disk_for_a_project():
    with desk() as at, full_disk(at.folder / "disk") as (fill, make_room):
        target = at.folder / "disk" / "work.segapp"
        at.stroke()
        assert save_now(at.window, target)
        before = target.read_bytes()
        at.stroke(1)
        fill()
        assert not save_now(at.window, target)
        assert len(at.told) == 1
        assert at.window.isWindowModified()
        assert target.read_bytes() == before
        make_room()
        assert save_now(at.window, target)
        assert len(load_project(target).document.strokes) == 2


def a_full_disk_for_an_export():
    with desk() as at, full_disk(at.folder / "disk") as (fill, make_room):
        at.stroke(0, 0)
        at.stroke(0, 1)
        session, told = at.window.session, []
        wait(lambda: session.answers.is_current, "the answer")
        target = at.folder / "disk" / "mask.png"
        with mock.patch.object(QMessageBox, "warning", lambda *words: told.append(words[2])):
            fill()
            dialog = ExportDialog(session, target.parent, "mask", parent=at.window)
            dialog._path.setText(str(target))
            dialog.open()
            wait(dialog._export.isEnabled, "the export")
            dialog._export.click()
            wait(lambda: told, "a complaint")
            assert not target.exists()
            make_room()
            dialog._export.click()
            wait(target.exists, "the export")
            wait(lambda: not dialog.isVisible(), "its end")
        load_image(target)


def a_full_disk_for_a_batch():
    with own_folders() as folder, full_disk(folder / "disk") as (fill, _):
        _cases(folder / "data")
        (folder / "disk" / "out").mkdir()
        fill()
        process = _batch(folder / "data", folder / "disk" / "out")
        told = process.communicate(timeout=120)[1]
        assert process.returncode != 0
        assert "Traceback" not in told, told[-400:]
        assert told.strip()


def a_read_only_folder_for_an_ordinary_user():
    if os.geteuid():
        return  # an ordinary user's tests run there anyway
    with own_folders() as folder:
        folder.chmod(0o755)
        draw(folder / "data" / "picture.png")
        script = f"""
            from pathlib import Path
            from tests.campaign.faults import desk_for_an_ordinary_user
            desk_for_an_ordinary_user(Path({str(folder)!r}))
        """
        place = str(folder / "home")
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(script)],
            cwd=ROOT,
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT),
                "PYTHONDONTWRITEBYTECODE": "1",
                "HOME": place,
                **{f"XDG_{kind}_HOME": place for kind in ("STATE", "CONFIG", "CACHE")},
            },
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-800:]
        assert list((folder / "data").iterdir()) == [folder / "data" / "picture.png"]


def desk_for_an_ordinary_user(folder):
    """Be an ordinary user in folders of root."""
    application()
    import_module("segapp.encoders.registry")  # unreadable for other users, perhaps
    os.setgroups([])
    os.setgid(UNPRIVILEGED)
    os.setuid(UNPRIVILEGED)  # only now: other users may not be able to read the interpreter
    told = []
    for module in (file_dialogs, startup, main_window):
        module.complain = lambda _, *words: told.append(words[0])
    file_dialogs.ask_unsaved = lambda *_: Unsaved.DISCARD
    window = build_window(Session(QuickSegmenter), Preferences(), folder / "state")
    window.show()
    window.files.open(folder / "data" / "picture.png")
    wait(lambda: window.session.state is not None, "the picture")
    window.session.add_stroke(Stroke(((5.0, 5.0),), 2.0, 0))
    wait(lambda: len(told) == 1, "a complaint about the copies")
    state = window.session.state
    assert window.store.proposed(state).path.parent == Path.home()
    assert not save_now(window, folder / "data" / "picture.segapp")
    assert len(told) == 2, told
    assert window.isWindowModified()
    assert len(window.session.document.strokes) == 1
    window.close()


# What changes behind the window -----------------------------------------------------------------


def an_image_that_is_deleted():
    with desk() as at:
        at.stroke()
        at.image.unlink()
        at.open(at.image)
        assert len(at.told) == 1
        assert len(at.window.session.document.strokes) == 1
        assert save_now(at.window, at.folder / "kept.segapp")


def an_image_that_is_changed():
    with desk() as at:
        at.stroke()
        draw(at.image, seed=9, size=(60, 70))
        at.open(at.image)
        assert "not the same file" in at.window.status.currentMessage()
        assert len(at.window.session.document.strokes) == 1


def a_clock_that_is_set_back():
    with desk() as at:
        at.stroke()
        wait(lambda: at.copies() == [1], "a copy")
        now = time.time()
        with mock.patch("time.time", return_value=now - 86400):
            at.stroke(1)
            wait(lambda: at.copies() == [2], "a copy")
        for file in at.root.glob("*/*.segapp"):
            os.utime(file, (now - 86400, now - 86400))
        crashed = at.folder / "crashed"
        shutil.copytree(at.root, crashed)
        folders = orphaned_folders(crashed, lambda _: None)
        counts = [len(copy.state.document.strokes) for f in folders for copy in f.copies]
        assert counts == [2]
        for folder in folders:
            folder.release()


def a_clock_that_jumps():
    """Two crashes on one picture while the clock goes wrong: the work with more edits is newer."""
    for jump in (-86400, 86400):
        with desk() as at:
            at.stroke()
            assert save_now(at.window, at.folder / "picture.segapp")
            at.stroke(1)
            wait(lambda a=at: a.copies() == [2], "a copy")
            crashed = at.folder / "crashed"
            shutil.copytree(at.root, crashed / "first", dirs_exist_ok=True)
            at.window.session.undo()
            at.stroke(2)
            at.stroke(3)
            wait(lambda a=at: a.copies() == [3], "a copy")
            shutil.copytree(at.root, crashed / "second", dirs_exist_ok=True)
            for number, name in enumerate(("first", "second")):
                for file in (crashed / name).glob("*/*.segapp"):
                    moment = time.time() + number * jump
                    os.utime(file, (moment, moment))
            folders = [
                each
                for name in ("first", "second")
                for each in orphaned_folders(crashed / name, at.window.store.search)
            ]
            copies = newest_first([copy for folder in folders for copy in folder.copies])
            assert [len(copy.state.document.strokes) for copy in copies] == [3, 2]
            assert not any(copy.outdated for copy in copies)
            for folder in folders:
                folder.release()


def a_slow_disk(seconds=4.0):
    """Each sync takes seconds: painting, saving by hand and closing go on."""
    real = os.fsync

    def slow(handle):
        time.sleep(seconds)
        real(handle)

    with desk() as at:
        at.window.store.policy.choose(SaveLocation.BESIDE)
        heart, target = Heartbeat(at.window), at.image.with_suffix(".segapp")
        with mock.patch("os.fsync", slow):
            for number in range(4):
                at.stroke(number)
                at.window.commands["save"].trigger()
                wait_a_moment()
            at.window.close()  # which goes on in the background
            wait(lambda: not at.window.isVisible(), "the end")
        assert len(load_project(target).document.strokes) == 4
        assert not at.told, at.told
        assert heart.longest < 1, f"hung for {heart.longest:.2f} s"


def wait_a_moment():
    until = time.monotonic() + 0.3
    wait(lambda: time.monotonic() > until, "a moment")


def a_state_folder_that_is_missing():
    with desk() as at:
        at.stroke()
        wait(lambda: at.copies() == [1], "a copy")
        shutil.rmtree(at.root)
        at.stroke(1)
        wait(lambda: at.copies() == [2], "a copy")
        assert not at.told


def a_memory_that_is_too_small():
    class Hungry(QuickSegmenter):
        fed = False

        def updates(self, document, settings):
            if len(document.strokes) == 2 and not Hungry.fed:
                Hungry.fed = True
                raise MemoryError
            yield from super().updates(document, settings)

    with desk(Hungry) as at:
        at.stroke(0, 0)
        at.stroke(0, 1)
        wait(lambda: at.told, "a complaint")
        assert "MemoryError" in at.told[0]
        at.stroke(1, 1)
        wait(lambda: at.window.session.answers.is_current, "the next answer")


# Other processes ------------------------------------------------------------------------------


def a_batch_whose_worker_is_killed():
    with own_folders() as folder:
        _cases(folder / "data")
        red = load_image(folder / "data" / "b.png").rgb.copy()
        red[0, 0] = (255, 0, 0)
        Image.fromarray(red).save(folder / "data" / "b.png")
        cases = find_cases(folder / "data")
        tasks = [Task(case, folder / "out", SettingsChoice()) for case in cases]
        found = {outcome.name: outcome.error for outcome in run_tasks(tasks, Deadly, 2)}
        assert found["b"]
        assert {name for name, error in found.items() if not error} == {"a", "c", "d"}


def _scheduler(behave):
    """Answer on a port in a way of its own; return the address."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve():
        kept = []
        while True:
            try:
                client, _ = server.accept()
            except OSError:
                return
            kept.append(client)
            try:
                behave(client)
            except OSError:
                continue

    threading.Thread(target=serve, daemon=True).start()
    return server, f"tcp://127.0.0.1:{server.getsockname()[1]}"


def _bad_scheduler(behave):
    server, address = _scheduler(behave)
    try:
        with own_folders() as folder, mock.patch.object(parallel, "_CONNECT_TIMEOUT", "3s"):
            _cases(folder / "data")
            cases = find_cases(folder / "data")
            tasks = [Task(case, folder / "out", SettingsChoice()) for case in cases]
            with pytest.raises(ClusterError, match="wanted a Dask scheduler"):
                list(run_tasks_remotely(tasks, NearestColour, address))
    finally:
        server.close()


def a_scheduler_that_is_mute():
    _bad_scheduler(lambda client: None)


def a_scheduler_that_lies():
    _bad_scheduler(lambda client: client.sendall(os.urandom(4096)))


def a_scheduler_that_hangs_up():
    _bad_scheduler(lambda client: client.close())


def a_scheduler_that_dies():
    script = """
        import distributed, time
        if __name__ == "__main__":
            with distributed.LocalCluster(
                n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
            ) as cluster:
                print(cluster.scheduler_address, flush=True)
                time.sleep(300)
    """
    with own_folders() as folder:
        _cases(folder / "data")
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(script)],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            address = process.stdout.readline().strip()
            batch = _batch(folder / "data", folder / "out", "--scheduler", address)
            time.sleep(4)
        finally:
            process.kill()
            process.communicate()
        told = batch.communicate(timeout=180)[1]
        assert "Traceback" not in told, told[-600:]
        if batch.returncode:
            assert told.strip()
        again = _batch(folder / "data", folder / "out", "--resume")
        told = again.communicate(timeout=120)[1]
        assert again.returncode == 0, told


FAULTS = {
    each.__name__: each
    for each in (
        a_full_disk_for_the_copies,
        a_full_disk_for_a_project,
        a_full_disk_for_an_export,
        a_full_disk_for_a_batch,
        a_read_only_folder_for_an_ordinary_user,
        an_image_that_is_deleted,
        an_image_that_is_changed,
        a_clock_that_is_set_back,
        a_clock_that_jumps,
        a_slow_disk,
        a_state_folder_that_is_missing,
        a_memory_that_is_too_small,
        a_batch_whose_worker_is_killed,
        a_scheduler_that_is_mute,
        a_scheduler_that_lies,
        a_scheduler_that_hangs_up,
        a_scheduler_that_dies,
    )
}


def run(names=FAULTS):
    """Try the named faults; each is one line."""
    rows = []
    for name in names:
        row = Row("faults", name.replace("_", " "), 1)
        began = time.monotonic()
        try:
            FAULTS[name]()
        except Exception:  # noqa: BLE001 - all that may go wrong is the result
            row.failures.append(Failure(f"faults:{name}", traceback.format_exc()[-900:]))
        row.note = f"{time.monotonic() - began:.1f} s"
        rows.append(row)
    return rows
