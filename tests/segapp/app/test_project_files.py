"""Project files of images: names, locks and safe writing."""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from segapp.app import project_files
from segapp.app.project_files import (
    ChangedByOthersError,
    digest_of,
    find_project,
    free_location,
    new_location,
    read_project,
    with_projects,
    write_project,
)
from segapp.io import control_files
from segapp.io.control_files import FileLock, LockHeldError
from segapp.io.project import ProjectError, ProjectLocation, load_project, save_project
from tests.campaign.power_loss import ForgetfulDisk
from tests.segapp.app.projects import numbers, project

# Names -----------------------------------------------------------------------------------------


def test_images_of_one_stem_have_projects_of_their_own(picture, tmp_path):
    png, bmp = picture("cat.png"), picture("cat.bmp")
    assert find_project(png, tmp_path) is None
    for image, name in ((png, "cat.segapp"), (bmp, "cat.bmp.segapp")):
        location = free_location(image, tmp_path)
        assert location == ProjectLocation(tmp_path / name)
        write_project(location, project(image=image))
        assert find_project(image, tmp_path).location.path == tmp_path / name
        assert with_projects([png, bmp], tmp_path) == ({png} if image == png else {png, bmp})


def test_a_project_belongs_to_an_image_also_through_a_link(picture, tmp_path):
    image = picture("real/cat.png")
    save_project(tmp_path / "real" / "cat.segapp", project(image=image))
    (tmp_path / "link").symlink_to(tmp_path / "real", target_is_directory=True)
    assert find_project(tmp_path / "link" / "cat.png", tmp_path / "link") is not None


def test_an_unreadable_project_is_the_images_own_unless_there_is_another(picture, tmp_path):
    image, damaged = picture(), tmp_path / "cat.segapp"
    damaged.write_bytes(b"half a project")
    found = find_project(image, tmp_path)
    assert (found.location, found.project) == (ProjectLocation(damaged), None)
    with pytest.raises(type(found.error)):
        found.require()
    with pytest.raises(ChangedByOthersError):
        write_project(new_location(image, tmp_path), project(image=image))
    write_project(free_location(image, tmp_path), project(image=image))
    assert find_project(image, tmp_path).location.path.name == "cat.png.segapp"
    assert damaged.read_bytes() == b"half a project"


# Locks and safe writing ------------------------------------------------------------------------


def save_over(path, content, known):
    return write_project(ProjectLocation(path, known), content).digest


def test_only_a_known_project_is_replaced(tmp_path):
    path = tmp_path / "x.segapp"
    first = save_over(path, project(1), "")
    assert first == digest_of(path)
    with pytest.raises(ChangedByOthersError) as changed:
        save_over(path, project(2), "")
    assert changed.value.digest == first
    second = save_over(path, project(3), first)
    path.unlink()
    save_over(path, project(4), second)  # another program has taken the file away
    assert numbers(path) == [4]
    assert os.listdir(tmp_path) == ["x.segapp"]


def test_no_window_saves_between_another_ones_check_and_its_writing(tmp_path, monkeypatch):
    path = tmp_path / "x.segapp"
    known = save_over(path, project(1), "")
    writing, go_on = threading.Event(), threading.Event()

    def slow(*args):
        writing.set()
        go_on.wait(20)
        save_project(*args)

    with ThreadPoolExecutor(2) as pool:
        monkeypatch.setattr(project_files, "save_project", slow)
        mine = pool.submit(save_over, path, project(1, 2), known)
        writing.wait(20)
        monkeypatch.setattr(project_files, "save_project", save_project)
        other = pool.submit(save_over, path, project(1, 3), known)
        threading.Timer(0.2, go_on.set).start()
        with pytest.raises(ChangedByOthersError):
            other.result()
        assert mine.result() == digest_of(path)
    assert numbers(path) == [1, 2]


def test_many_windows_that_add_to_one_project_lose_nothing(tmp_path):
    path = tmp_path / "x.segapp"
    save_over(path, project(0), "")

    def add(number):
        for step in range(5):
            while True:
                known = digest_of(path)
                there = numbers(path)
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
    assert sorted(numbers(path)) == sorted(wanted)
    assert os.listdir(tmp_path) == ["x.segapp"]


def test_the_lock_of_a_killed_program_is_taken_over(tmp_path):
    path = tmp_path / "x.segapp"
    (tmp_path / ".x.segapp.lock").touch()
    save_over(path, project(1), "")
    assert os.listdir(tmp_path) == ["x.segapp"]


def test_a_program_that_hangs_in_its_turn_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(control_files, "_PATIENCE", 0.05)
    lock = FileLock(tmp_path / ".x.segapp.lock", create=True)
    with pytest.raises(LockHeldError):
        save_over(tmp_path / "x.segapp", project(1), "")
    lock.remove()


def test_without_a_lock_the_writing_itself_fails(tmp_path):
    with pytest.raises(FileNotFoundError):
        save_over(tmp_path / "nowhere" / "x.segapp", project(1), "")


@pytest.mark.skipif(sys.platform != "linux", reason="the disk is read through /proc")
def test_a_power_failure_at_any_step_leaves_the_newest_save_that_has_ended(tmp_path):
    folder, ended, found = tmp_path / "disk", [[0]], []
    folder.mkdir()
    path = folder / "x.segapp"
    location = write_project(ProjectLocation(path), project(0))

    def fail():
        left = disk.survivors(tmp_path / f"left {len(found)}")
        found.append((numbers(left / path.name), list(ended)))

    with ForgetfulDisk(folder, fail).mounted() as disk:
        for number in range(1, 4):
            location = write_project(location, project(number))
            ended.append([number])
        fail()
    assert len(found) > 12
    for survivor, before in found:
        assert survivor == before[-1] or survivor[0] > before[-1][0]
    assert found[-1][0] == [3]


def test_the_temporary_file_of_a_killed_program_is_the_project(picture, tmp_path):
    image, path = picture(), tmp_path / "cat.segapp"
    write_project(ProjectLocation(path), project(1, image=image))
    save_project(tmp_path / "y.segapp", project(1, 2, image=image))
    (tmp_path / "y.segapp").rename(tmp_path / ".cat.segapp.unfinished")
    found = find_project(image, tmp_path)
    assert len(found.project.document.strokes) == 2
    write_project(found.location, project(1, 2, 3, image=image))
    assert (sorted(os.listdir(tmp_path)), numbers(path)) == (["cat.png", "cat.segapp"], [1, 2, 3])
    (tmp_path / ".cat.segapp.unfinished").write_bytes(path.read_bytes()[:-9])
    assert numbers(path) == [1, 2, 3]


# Hostile folders -------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege")
@pytest.mark.parametrize("name", ["cat.segapp", ".cat.segapp.unfinished", ".cat.segapp.lock"])
@pytest.mark.parametrize("there", [True, False])
def test_no_project_is_written_through_a_link(picture, tmp_path, name, there):
    image, secret = picture("a/cat.png"), tmp_path / "secret"
    if there:
        secret.write_text("of the user")
    (tmp_path / "a" / name).symlink_to(secret)
    with suppress(OSError):
        write_project(free_location(image, image.parent), project(1, image=image))
    with suppress(OSError, ChangedByOthersError):
        write_project(ProjectLocation(image.with_suffix(".segapp")), project(1, image=image))
    assert (secret.read_text() if secret.exists() else None) == ("of the user" if there else None)


@pytest.mark.skipif(sys.platform == "win32", reason="has no such pipes")
@pytest.mark.parametrize("name", ["cat.segapp", ".cat.segapp.unfinished", ".cat.segapp.lock"])
def test_no_pipe_keeps_a_project_waiting(picture, tmp_path, name):
    image = picture()
    os.mkfifo(tmp_path / name)
    assert find_project(image, tmp_path) is None
    with pytest.raises(ProjectError):
        load_project(tmp_path / "cat.segapp")
    location = write_project(new_location(image, tmp_path), project(1, image=image))
    assert numbers(location.path) == [1]


def test_a_huge_file_with_holes_is_not_read_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(project_files, "_MOST_BYTES", 1 << 20)
    path = tmp_path / "x.segapp"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    assert digest_of(path) == digest_of(path) != ""
    assert read_project(path).project is None


def test_a_project_that_cannot_be_read_now_is_not_taken_for_none(tmp_path, monkeypatch):
    path = tmp_path / "x.segapp"
    write_project(ProjectLocation(path), project(1))

    def fail(*_, **__):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(project_files, "open_regular", fail)
    with pytest.raises(ChangedByOthersError):
        write_project(ProjectLocation(path), project(2))
    assert numbers(path) == [1]
