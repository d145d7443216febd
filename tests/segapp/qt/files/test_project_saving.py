"""Two windows that save one project at the same moment: nobody's strokes are lost unseen."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from segapp.app.project_store import FolderLock, LockHeldError
from segapp.io.project import Project, load_project, save_project
from segapp.model.document import Document, Stroke
from segapp.model.settings import DEFAULT_SETTINGS
from segapp.qt.files import recovery
from segapp.qt.files.opening import digest_of
from segapp.qt.files.recovery import ChangedByOthersError, save_over


def project(*places):
    strokes = tuple(Stroke(((float(x), 1.0),), 2.0, 0) for x in places)
    return Project(Document(strokes=strokes), DEFAULT_SETTINGS, Path("/a/picture.png"), "")


def places(path):
    return [int(mark.points[0][0]) for mark in load_project(path).document.strokes]


def test_only_what_is_known_is_replaced(tmp_path):
    path = tmp_path / "x.segapp"
    first = save_over(path, project(1), "")
    assert first == digest_of(path)
    with pytest.raises(ChangedByOthersError) as changed:
        save_over(path, project(2), "")
    assert changed.value.digest == first
    second = save_over(path, project(3), first)
    path.unlink()
    save_over(path, project(4), second)  # somebody has taken the file away
    assert places(path) == [4]
    assert os.listdir(tmp_path) == ["x.segapp"]


def test_nobody_saves_between_the_look_and_the_writing_of_another(tmp_path, monkeypatch):
    path = tmp_path / "x.segapp"
    known = save_over(path, project(1), "")
    writing, go_on = threading.Event(), threading.Event()

    def slow(*args):
        writing.set()
        go_on.wait(20)
        save_project(*args)

    with ThreadPoolExecutor(2) as pool:
        monkeypatch.setattr(recovery, "save_project", slow)
        mine = pool.submit(save_over, path, project(1, 2), known)
        writing.wait(20)
        monkeypatch.setattr(recovery, "save_project", save_project)
        other = pool.submit(save_over, path, project(1, 3), known)
        threading.Timer(0.2, go_on.set).start()
        with pytest.raises(ChangedByOthersError):
            other.result()
        assert mine.result() == digest_of(path)
    assert places(path) == [1, 2]


def test_many_who_add_to_one_project_lose_nothing(tmp_path):
    path = tmp_path / "x.segapp"
    save_over(path, project(0), "")

    def add(number):
        for step in range(5):
            while True:
                known = digest_of(path)
                there = places(path)
                if digest_of(path) != known:
                    continue
                try:
                    save_over(path, project(*there, 10 * number + step), known)
                    break
                except ChangedByOthersError:
                    continue

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(add, range(1, 5)))
    wanted = {0} | {10 * number + step for number in range(1, 5) for step in range(5)}
    assert sorted(places(path)) == sorted(wanted)
    assert os.listdir(tmp_path) == ["x.segapp"]


def test_a_lock_that_a_killed_program_left_is_taken_over(tmp_path):
    path = tmp_path / "x.segapp"
    (tmp_path / ".x.segapp.lock").touch()
    save_over(path, project(1), "")
    assert os.listdir(tmp_path) == ["x.segapp"]


def test_a_program_that_hangs_in_its_turn_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(recovery, "_PATIENCE", 0.05)
    lock = FolderLock(tmp_path / ".x.segapp.lock", create=True)
    with pytest.raises(LockHeldError):
        save_over(tmp_path / "x.segapp", project(1), "")
    lock.remove()


def test_where_no_lock_can_be_made_the_writing_itself_says_why(tmp_path):
    with pytest.raises(FileNotFoundError):
        save_over(tmp_path / "nowhere" / "x.segapp", project(1), "")
