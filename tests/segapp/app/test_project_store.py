"""The project store: where projects go, what waits to be saved, and replaced work."""

import os
import re
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from segapp.app import project_files, project_store
from segapp.app.project_files import (
    ChangedByOthersError,
    find_project,
    with_projects,
    write_project,
)
from segapp.app.project_store import (
    ProjectLocationPolicy,
    ProjectStore,
    ReplacedWork,
    SaveLocation,
    SaveQueue,
    SaveTask,
)
from segapp.app.state import PictureState
from segapp.io import control_files
from segapp.io.project import ProjectLocation, save_project
from tests.segapp.app.projects import numbers, project, work_on

PACKAGE = Path(project_store.__file__).parents[1]


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
        saved[image] = store.save(SaveTask(work_on(image, len(saved)), common))
    for image, location in saved.items():
        assert store.search(image).location == location
        assert image in with_projects(list(saved), common)
    assert len({location.path for location in saved.values()}) == len(images)


def test_no_name_is_proposed_that_opening_does_not_look_for(picture, store, tmp_path):
    image = picture("cat.png")
    save_project(tmp_path / "cat.segapp", project(1, image=picture("cat.bmp")))
    location = store.proposed(PictureState(image, ""))
    assert location.path.name == "cat.png.segapp"  # and not cat-2.segapp
    store.save(SaveTask(work_on(image, 2), tmp_path))
    assert store.search(image).location.path == location.path


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


def test_the_second_of_two_windows_neither_replaces_nor_hides_the_firsts_project(
    picture, store, tmp_path
):
    image = picture()
    store.policy.choose(SaveLocation.BESIDE)
    other = ProjectStore(store.policy, tmp_path / "other")
    first, second = work_on(image, 1), work_on(image, 2)
    saved = store.save(SaveTask(first))
    for path in (None, other.proposed(second).path):
        with pytest.raises(ChangedByOthersError):
            other.save(SaveTask(second, path=path))
    assert other.run(SaveTask(second, image.parent)).location is None
    assert os.listdir(tmp_path / "other") != []  # the strokes are kept for recovery
    assert [path.name for path in tmp_path.glob("*.segapp")] == [saved.path.name]
    assert numbers(saved.path) == [1]


def test_saves_of_one_window_wait_for_each_other(picture, store, monkeypatch):
    image, release = picture(), threading.Event()
    state = work_on(image, 1)
    monkeypatch.setattr(control_files, "_PATIENCE", 0.0)
    save, begun = project_files.save_project, threading.Event()

    def slow(path, project):
        begun.set()
        release.wait(5)
        save(path, project)

    monkeypatch.setattr(project_files, "save_project", slow)
    with ThreadPoolExecutor(2) as pool:
        autosave = pool.submit(store.run, SaveTask(state, image.parent))
        begun.wait(5)
        by_hand = pool.submit(store.save, SaveTask(state))
        release.set()
        assert autosave.result().error is None
        assert numbers(by_hand.result().path) == [1]


def test_own_saves_are_recognised_before_the_session_knows_of_them(picture, store):
    image = picture()
    task = SaveTask(work_on(image, 1), image.parent)
    assert store.run(task).error is None
    assert store.run(replace(task, state=work_on(image, 1, 2))).error is None
    assert numbers(image.with_suffix(".segapp")) == [1, 2]


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


# The only writers ------------------------------------------------------------------------------


def test_projects_of_the_window_are_written_by_the_store_alone():
    """The public API and the batch write the file that their caller has named."""
    writers, makers = set(), set()
    for path in PACKAGE.rglob("*.py"):
        text, name = path.read_text(encoding="utf-8"), path.relative_to(PACKAGE).as_posix()
        if re.search(r"(?<!def )\bsave_project\(", text):
            writers.add(name)
        if re.search(r"\bProjectLocation\(", text):
            makers.add(name)
    assert writers == {
        "app/project_files.py",
        "app/recovery.py",
        "app/segmenter.py",
        "app/stack.py",
        "batch/task.py",
    }
    assert makers == {"app/project_files.py", "app/project_store.py", "io/project.py"}
