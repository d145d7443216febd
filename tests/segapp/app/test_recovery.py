"""Recovery copies after a crash, and the projects that they continue."""

import os
import time

import pytest

from segapp.app import recovery
from segapp.app.project_files import (
    ChangedByOthersError,
    write_project,
)
from segapp.app.project_store import (
    ProjectStore,
    SaveLocation,
    SaveTask,
)
from segapp.app.recovery import RecoveryFolder, UnreadableCopy, orphaned_folders
from segapp.app.state import Content, PictureState
from segapp.io.control_files import FileLock
from segapp.io.project import ProjectLocation, save_project
from segapp.model.settings import DEFAULT_SETTINGS
from tests.segapp.app.projects import dots, numbers, project, work_on


def restored(store):
    (copy,) = store.recovery_copies()
    return copy


@pytest.mark.parametrize("name", ["cat.segapp", "cat.png.segapp", "chosen/cat.segapp", "x.segapp"])
def test_a_crash_does_not_block_saving_to_the_project(picture, store, crash, name, tmp_path):
    image, path = picture(), tmp_path / name
    path.parent.mkdir(exist_ok=True)
    saved = write_project(ProjectLocation(path), project(1, image=image))
    store.policy.choose(SaveLocation.FOLDER, path.parent)
    content = Content(dots(1), DEFAULT_SETTINGS)
    state = PictureState(image, "").with_project("", content, saved)
    crash(state.edit("", dots(1, 2)))

    copy = restored(store)
    assert (copy.outdated, copy.state.location) == (False, saved)
    store.restore(copy)
    result = store.run(SaveTask(copy.state, store.policy.writing_folder(image)))
    assert (result.error, result.location.path) == (None, path)
    store.settle(result)
    assert numbers(path) == [1, 2]
    assert not copy.file.exists()


@pytest.mark.parametrize("name", ["cat.segapp", "cat.png.segapp", "chosen/cat.segapp"])
def test_copies_of_older_versions_continue_the_project_that_the_image_opens_with(
    picture, store, crash, name, tmp_path
):
    image, path = picture(), tmp_path / name
    path.parent.mkdir(exist_ok=True)
    saved = write_project(ProjectLocation(path), project(1, image=image))
    os.utime(path, (time.time() - 60,) * 2)
    store.policy.choose(SaveLocation.FOLDER, path.parent)
    crash(work_on(image, 1, 2))  # without a word about its project
    copy = restored(store)
    assert copy.state.location == saved
    assert copy.state.saved.document == dots(1)


@pytest.mark.parametrize("foreign", [b"damaged", None])
def test_restored_work_replaces_no_project_of_other_images(picture, store, crash, foreign):
    image, other = picture(), picture("dog.png")
    path = image.with_suffix(".segapp")
    save_project(path, project(1, image=other))
    path.write_bytes(foreign or path.read_bytes())
    os.utime(path, (time.time() - 60,) * 2)
    crash(work_on(image, 2))
    assert restored(store).state.location is None


def test_a_clock_that_is_set_back_does_not_make_a_copy_outdated(picture, store, crash):
    image = picture()
    saved = write_project(ProjectLocation(image.with_suffix(".segapp")), project(1, image=image))
    state = PictureState(image, "").with_project("", Content(dots(1)), saved)
    crash(state.edit("", dots(1, 2)), age=86400)
    assert not restored(store).outdated


def test_a_copy_is_outdated_by_a_later_save(picture, store, crash):
    image = picture()
    crash(work_on(image, 1), age=60)
    path = image.with_suffix(".segapp")
    save_project(path, project(1, 2, image=image))
    copy = restored(store)
    assert (copy.outdated, copy.state.location) == (True, None)
    result = store.run(SaveTask(copy.state, image.parent))  # as the user wants it all the same
    assert isinstance(result.error, ChangedByOthersError)
    assert numbers(path) == [1, 2]


def test_no_clock_makes_newer_work_outdated(picture, store, crash):
    image = picture()
    save_project(image.with_suffix(".segapp"), project(1, image=image))
    crash(work_on(image, 1, 2), age=3600)  # after the clock was set back by an hour
    copy = restored(store)
    assert (copy.outdated, copy.state.saved.document) == (False, dots(1))


@pytest.mark.parametrize("age", [-3600, 0, 3600])
def test_a_copy_from_before_the_last_save_is_outdated_whatever_the_clock_says(picture, store, age):
    """The program was stopped after the save, before it removed the copy."""
    image = picture()
    begun = work_on(image, 1).edit("", dots(1, 2)).edit("", dots(1, 2, 3))
    store.run(SaveTask(begun))
    (file,) = store.root.glob("*/*.segapp")
    content = file.read_bytes()
    store.run(SaveTask(begun.undo(), image.parent))
    store._recovery._release()
    file.write_bytes(content)
    os.utime(file, (time.time() - age,) * 2)
    copy = restored(ProjectStore(store.policy, store.root))
    assert copy.outdated


@pytest.mark.parametrize("age", [-3600, 3600])
def test_the_copy_with_more_edits_comes_first_whatever_the_clock_says(picture, store, crash, age):
    image = picture()
    state = work_on(image, 1).edit("", dots(1, 2))
    crash(state, age=0)
    crash(state.undo(), age=age)
    counts = [len(copy.state.document.strokes) for copy in store.recovery_copies()]
    assert counts == [1, 2]


def test_work_on_a_project_of_another_window_is_neither_outdated_nor_saved_over_it(
    picture, store, crash
):
    image = picture()
    path = image.with_suffix(".segapp")
    save_project(path, project(1, 2, image=image))
    crash(work_on(image, 7), age=60)
    copy = restored(store)
    assert not copy.outdated
    result = store.run(SaveTask(copy.state, image.parent))
    assert isinstance(result.error, ChangedByOthersError)
    assert numbers(path) == [1, 2]


@pytest.mark.parametrize("half", [False, True])
def test_a_copy_that_was_not_moved_into_place_is_offered(picture, store, crash, half):
    file = crash(work_on(picture(), 1))
    left = file.rename(file.with_name(f".{file.name}.unfinished"))
    if half:
        left.write_bytes(left.read_bytes()[:-9])
        assert store.recovery_copies() == []
    else:
        copy = restored(store)
        assert len(copy.state.document.strokes) == 1
        copy.folder.discard(copy)
    assert not file.parent.exists()


def test_a_copy_that_another_window_has_saved_over_asks_before_it_replaces_that(
    picture, store, crash
):
    image = picture()
    saved = write_project(ProjectLocation(image.with_suffix(".segapp")), project(1, image=image))
    state = PictureState(image, "").with_project("", Content(dots(1)), saved)
    write_project(saved, project(1, 9, image=image))
    os.utime(saved.path, (time.time() - 60,) * 2)
    crash(state.edit("", dots(1, 2)))
    result = store.run(SaveTask(restored(store).state, image.parent))
    assert isinstance(result.error, ChangedByOthersError)
    assert numbers(saved.path) == [1, 9]


def test_copies_of_one_window_are_not_offered_by_another(picture, store, crash):
    crash(work_on(picture(), 1))
    assert len(store.recovery_copies()) == 1
    other = ProjectStore(store.policy, store.root)
    assert other.recovery_copies() == []
    store.release_orphaned()
    assert len(other.recovery_copies()) == 1
    other.close()


@pytest.mark.parametrize("content", [b"", b"4711\nsegapp\nanother-machine\n"])
def test_the_content_of_a_lock_is_of_no_importance(picture, store, crash, content):
    file = crash(work_on(picture(), 3))
    (file.parent / "lock").write_bytes(content)
    assert [len(copy.state.document.strokes) for copy in store.recovery_copies()] == [1]
    store.release_orphaned()


def test_newest_copies_come_first_and_unreadable_ones_last(picture, store, crash):
    files = [crash(work_on(picture(f"{age}.png"), 1), age=age) for age in (60, 600, 6)]
    damaged = crash(work_on(picture(), 1))
    damaged.write_bytes(b"half a copy")
    copies = store.recovery_copies()
    assert [copy.file for copy in copies] == [files[2], files[0], files[1], damaged]
    assert isinstance(copies[-1], UnreadableCopy)
    copies[-1].folder.discard(copies[-1])
    assert not damaged.parent.exists()
    store.close()


def test_a_window_that_starts_does_not_take_the_folder_of_another_that_starts(
    picture, store, monkeypatch
):
    """The other one looks exactly between the making of the folder and its locking."""
    rounds, root = [], store.root

    class Interrupted(FileLock):
        def __init__(self, file, *, create):
            if create and not rounds:
                rounds.append("before the lock's file")
                assert orphaned_folders(root, store.search) == []
                assert file.parent.is_dir()
            elif create and len(rounds) == 1:
                rounds.append("before its locking")
                file.touch()
                assert orphaned_folders(root, store.search) == []  # removes it: nothing is in it
            super().__init__(file, create=create)

    monkeypatch.setattr(recovery, "FileLock", Interrupted)
    for _ in range(2):
        own = RecoveryFolder(root)
        own.copy(work_on(picture(), 1))
        assert len(list(root.glob("*/*.segapp"))) == 1
        assert orphaned_folders(root, store.search) == []
        own.close()
    assert len(rounds) == 2
