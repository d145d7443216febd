"""Projects of images: names, locations, locks, recovery copies and replaced work."""

import os
import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from segapp.app import project_store
from segapp.app.project_store import (
    ChangedByOthersError,
    FileLock,
    LockHeldError,
    ProjectLocationPolicy,
    ProjectStore,
    RecoveryFolder,
    ReplacedWork,
    SaveLocation,
    SaveQueue,
    SaveTask,
    UnreadableCopy,
    digest_of,
    find_project,
    free_location,
    new_location,
    orphaned_folders,
    with_projects,
    write_project,
)
from segapp.app.state import Content, PictureState
from segapp.io.project import Project, ProjectLocation, load_project, save_project
from segapp.model.document import Document, Stroke
from segapp.model.settings import DEFAULT_SETTINGS


class Preferences:
    """Preferences in memory."""

    def __init__(self):
        self.values = {}

    def get(self, name, default):
        return self.values.get(name, default)

    set_folder = set = lambda self, name, value: self.values.__setitem__(name, value)

    def folder(self, name):
        return self.values.get(name)


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory, monkeypatch):
    """Keep the user's own folders out of the tests."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    for name in ("CONFIG", "STATE", "DATA", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(home / name.lower()))


@pytest.fixture
def store(tmp_path):
    return ProjectStore(ProjectLocationPolicy(Preferences()), tmp_path / "recovery")


@pytest.fixture
def picture(tmp_path):
    """Save a small image."""

    def make(name="cat.png"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (4, 4)).save(path)
        return path

    return make


def dots(*numbers):
    return Document(strokes=tuple(Stroke(((float(x), 1.0),), 2.0, 0) for x in numbers))


def project(*numbers, image=Path("/a/picture.png")):
    return Project(dots(*numbers), DEFAULT_SETTINGS, image, "")


def numbers(path):
    return [int(mark.points[0][0]) for mark in load_project(path).document.strokes]


def work_on(image, *numbers, **fields):
    return PictureState(image, "", **fields).edit("", dots(*numbers))


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


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    images=st.lists(
        st.sampled_from([f"{folder}/{name}" for folder in "abc" for name in ("x.png", "x.bmp")]),
        unique=True,
    ),
    strangers=st.sets(st.sampled_from(["x.segapp", "x.png.segapp", "x.bmp.segapp"])),
)
def test_a_proposed_project_is_found_again(picture, store, tmp_path, images, strangers):
    """In one folder for the projects of several, whatever else is there."""
    common = tmp_path / "common"
    shutil.rmtree(common, ignore_errors=True)
    common.mkdir()
    for name in strangers:
        save_project(common / name, project(image=Path("/elsewhere/y.png")))
    store.policy.choose(SaveLocation.FOLDER, common)
    saved = {}
    for name in images:
        image = picture(name)
        location = store.proposed(PictureState(image, ""))
        assert not location.path.exists()
        saved[image] = store.save(work_on(image, len(saved)), location)
    for image, location in saved.items():
        assert store.search(image).location == location
        assert image in with_projects(list(saved), common)
    assert len({location.path for location in saved.values()}) == len(images)


def test_no_name_is_proposed_that_opening_does_not_look_for(picture, store, tmp_path):
    image = picture("cat.png")
    save_project(tmp_path / "cat.segapp", project(1, image=picture("cat.bmp")))
    location = store.proposed(PictureState(image, ""))
    assert location.path.name == "cat.png.segapp"  # and not cat-2.segapp
    store.save(work_on(image, 2), location)
    assert store.search(image).location.path == location.path


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
        monkeypatch.setattr(project_store, "save_project", slow)
        mine = pool.submit(save_over, path, project(1, 2), known)
        writing.wait(20)
        monkeypatch.setattr(project_store, "save_project", save_project)
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
    monkeypatch.setattr(project_store, "_PATIENCE", 0.05)
    lock = FileLock(tmp_path / ".x.segapp.lock", create=True)
    with pytest.raises(LockHeldError):
        save_over(tmp_path / "x.segapp", project(1), "")
    lock.remove()


def test_where_no_lock_can_be_made_the_writing_itself_fails(tmp_path):
    with pytest.raises(FileNotFoundError):
        save_over(tmp_path / "nowhere" / "x.segapp", project(1), "")


# Where projects go -----------------------------------------------------------------------------


def test_the_answer_for_an_image_does_not_change_when_another_folder_is_opened(picture, store):
    first, second = picture("first/cat.png"), picture("second/cat.png")
    store.policy.begin([first], first.parent)
    store.policy.begin([second], second.parent)
    assert store.policy.writing_folder(first) == first.parent
    result = store.run(SaveTask(work_on(first, 1), store.policy.writing_folder(first)))
    assert result.location.path == first.with_suffix(".segapp")
    assert not list(second.parent.glob("*.segapp"))


def test_single_images_are_saved_as_the_user_has_chosen(picture, store, tmp_path):
    image, policy = picture(), store.policy
    assert policy.writing_folder(image) is None
    policy.choose(SaveLocation.BESIDE)
    assert policy.writing_folder(image) == tmp_path
    policy.choose(SaveLocation.FOLDER, tmp_path / "work")
    assert policy.writing_folder(image) == tmp_path / "work"
    assert policy.search_folders(image) == (tmp_path, tmp_path / "work")
    policy.choose(SaveLocation.NEVER)
    assert policy.writing_folder(image) is None
    policy._preferences.set("keep/wish", "of a newer version")
    assert policy.choice is SaveLocation.UNSAID


def test_a_folder_that_cannot_be_written_asks_once_for_another(
    picture, store, tmp_path, monkeypatch
):
    image, policy = picture("disc/cat.png"), store.policy
    disc, chosen = image.parent, tmp_path / "chosen"
    monkeypatch.setattr(project_store.os, "access", lambda path, _: path != disc)
    old = write_project(ProjectLocation(disc / "cat.segapp"), project(1, image=image))
    policy.begin([image], disc)
    assert policy.root_folder(disc) is None
    assert policy.proposed_folder(image) == Path.home()
    state = work_on(image, 1, 2, location=old)
    assert store.run(SaveTask(state, policy.writing_folder(image))).location is None
    chosen.mkdir()
    policy.choose_for_root(disc, chosen)
    assert policy.search_folders(image) == (chosen, disc)
    result = store.run(SaveTask(state, policy.writing_folder(image)))
    assert result.location.path == chosen / "cat.segapp"  # and not over the old one on the disc
    again = ProjectLocationPolicy(policy._preferences)
    again.begin([image], disc)
    assert again.root_folder(disc) == chosen
    assert find_project(image, *again.search_folders(image)).location == result.location


def test_work_that_does_not_come_from_a_project_does_not_replace_it(picture, store):
    image = picture()
    save_project(image.with_suffix(".segapp"), project(1, image=image))
    result = store.run(SaveTask(work_on(image, 2), image.parent))
    assert isinstance(result.error, ChangedByOthersError)
    assert numbers(image.with_suffix(".segapp")) == [1]
    assert len(list(store.root.glob("*/*.segapp"))) == 1  # a recovery copy instead


def test_own_saves_are_recognised_before_the_session_knows_of_them(picture, store):
    image = picture()
    task = SaveTask(work_on(image, 1), image.parent)
    assert store.run(task).error is None
    assert store.run(replace(task, state=work_on(image, 1, 2))).error is None
    assert numbers(image.with_suffix(".segapp")) == [1, 2]


# Recovery --------------------------------------------------------------------------------------


@pytest.fixture
def crash(store):
    """Leave a recovery copy behind, as a program that is killed does."""

    def leave(state, age=0.0):
        folder = RecoveryFolder(store.root)
        folder.copy(state)
        folder._lock.release()
        (file,) = folder._folder.glob("*.segapp")
        os.utime(file, (time.time() - age,) * 2)
        return file

    return leave


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
                assert orphaned_folders(root, store) == []
                assert file.parent.is_dir()
            elif create and len(rounds) == 1:
                rounds.append("before its locking")
                file.touch()
                assert orphaned_folders(root, store) == []  # removes it: nothing is in it
            super().__init__(file, create=create)

    monkeypatch.setattr(project_store, "FileLock", Interrupted)
    for _ in range(2):
        own = RecoveryFolder(root)
        own.copy(work_on(picture(), 1))
        assert len(list(root.glob("*/*.segapp"))) == 1
        assert orphaned_folders(root, store) == []
        own.close()
    assert len(rounds) == 2


# Queue and replaced work -----------------------------------------------------------------------


def test_the_queue_takes_replaced_work_first_and_images_in_the_order_of_their_edits():
    queue, state = SaveQueue(), work_on(Path("/a/c.png"), 1)
    first, second = Path("/a/a.png"), Path("/a/b.png")
    for item in (first, second, first, state):
        queue.add(item)
    assert [queue.take() for _ in range(3)] == [state, first, second]
    assert not queue
    assert queue.take() is None


def test_failed_items_are_tried_again_ever_later():
    queue, first, second = SaveQueue(), Path("/a/a.png"), Path("/a/b.png")
    for item, is_first in ((first, True), (second, False)):
        queue.add(item)
        queue.take()
        assert queue.fail() is is_first
    assert [queue.begin_delay() for _ in range(6)] == [2, 4, 8, 15, 30, 30]
    queue.retry()
    assert queue.take() == first
    assert not queue.succeed()
    assert queue.take() == second
    assert queue.succeed()
    assert queue.begin_delay() == 2


def test_replaced_work_is_lost_until_undo_or_a_save_brings_it_back():
    image, replaced = Path("/a/a.png"), ReplacedWork()
    state = work_on(image, 1)
    for _ in range(2):
        replaced.add(state)
    assert replaced.lost({image: work_on(image, 2)}.get) == [state]
    assert replaced.lost({}.get) == [state]
    assert replaced.lost({image: work_on(image, 1, 2)}.get) == []
    replaced.forget_saved(state.written(state.content, ProjectLocation(Path("/a/a.segapp"))))
    assert replaced.lost({}.get) == []
