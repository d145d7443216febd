"""The workspace of a folder: progress, classes and display, and the files that hold them."""

import os

import pytest
from PIL import Image

from segapp.app import project_store
from segapp.app import workspace as module
from segapp.app.project_store import ProjectLocationPolicy
from segapp.app.workspace import UnreadableFileError, list_images
from segapp.io.class_list import CLASS_LIST_FILE, write_class_list
from segapp.io.export.formats import FORMATS
from segapp.io.folder_files import (
    DISPLAY_FILE,
    PROGRESS_FILE,
    FolderProgress,
    ImageStatus,
    ProgressChanges,
    read_progress,
    update_progress,
    write_display,
)
from segapp.io.project import Project, save_project
from segapp.model.classes import TWO_CLASSES, ClassInfo
from segapp.model.display import DisplaySettings
from segapp.model.document import Document
from segapp.model.settings import DEFAULT_SETTINGS
from tests.segapp.app.projects import Preferences, workspace

LEAF = (ClassInfo("leaf", (1, 2, 3)), *TWO_CLASSES[1:])


@pytest.fixture
def images(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    for number in range(1, 4):
        Image.new("RGB", (4, 4)).save(folder / f"{number}.png")
    return sorted(folder.iterdir())


@pytest.fixture
def policy():
    return ProjectLocationPolicy(Preferences())


@pytest.fixture
def begin(images, policy):
    return lambda: workspace(images, images[0].parent, policy)


def test_progress_is_kept_in_the_folder(begin, images):
    work = begin()
    assert work.take_changes() is None
    assert work.set_done(images[0], done=True)
    assert work.note_work(images[1], marked=True, answered=True)
    assert not work.note_open(images[1])
    work.note_last(images[1])
    assert not work.set_done(images[0].with_name("other.png"), done=True)
    assert [work.status(path) for path in images] == [
        ImageStatus.DONE,
        ImageStatus.ANSWERED,
        ImageStatus.UNTOUCHED,
    ]
    assert work.n_done == 1
    assert [work.next_undone(path) for path in images] == [images[1], images[2], images[1]]
    update_progress(*work.take_changes())
    assert work.take_changes() is None
    again = begin()
    assert again.last == images[1]
    assert again.status(images[0]) is ImageStatus.DONE
    assert again.status(images[1]) is ImageStatus.UNTOUCHED  # its project was never saved
    save_project(
        images[1].with_suffix(".segapp"), Project(Document(), DEFAULT_SETTINGS, images[1], "")
    )
    assert begin().status(images[1]) is ImageStatus.ANSWERED


def test_changes_that_could_not_be_written_are_kept_for_the_next_time(begin, images):
    work = begin()
    work.set_done(images[0], done=True)
    work.set_done(images[1], done=True)
    work.note_last(images[0])
    _, changes = work.take_changes()
    work.set_done(images[1], done=False)
    work.put_back(changes)
    update_progress(*work.take_changes())
    progress = read_progress(images[0].parent / PROGRESS_FILE)
    assert progress == FolderProgress(done=frozenset({"1.png"}), last="1.png")


def test_an_image_that_fails_is_passed_over_until_it_opens(begin, images):
    work = begin()
    assert work.note_failure(images[1], "No picture.")
    assert not work.note_failure(images[1], "No picture.")
    assert (work.status(images[1]), work.failure(images[1])) == (ImageStatus.FAILED, "No picture.")
    assert work.next_undone(images[0]) == images[2]
    assert work.note_open(images[1])
    assert work.status(images[1]) is ImageStatus.UNTOUCHED


def test_untouched_images_begin_with_the_shared_classes_and_display(begin, images):
    work, folder = begin(), images[0].parent
    assert work.new_document() == Document()
    display = DisplaySettings((1,))
    write_class_list(folder / CLASS_LIST_FILE, work.class_list(LEAF))
    write_display(folder, display)
    assert begin().new_document() == Document(LEAF, display=display)


@pytest.mark.parametrize("name", [CLASS_LIST_FILE, DISPLAY_FILE, PROGRESS_FILE])
def test_a_file_that_cannot_be_read_is_not_replaced(begin, images, name):
    path = images[0].parent / name
    path.write_text('{"version": 99}')
    work = begin()
    assert name in str(work.problems[0])
    with pytest.raises(UnreadableFileError, match="move it away first"):
        work.check_readable(name)
    assert work.new_document() == Document()


def test_the_progress_follows_other_windows_and_keeps_what_is_not_written_yet(begin, images):
    mine, theirs = begin(), begin()
    mine.set_done(images[0], done=True)
    theirs.set_done(images[1], done=True)
    theirs.note_work(images[2], marked=True, answered=True)
    update_progress(*theirs.take_changes())
    save_project(
        images[2].with_suffix(".segapp"), Project(Document(), DEFAULT_SETTINGS, images[2], "")
    )
    assert mine.stamp() == theirs.stamp()
    assert mine.update(mine.snapshot()) == images[1:]
    assert [mine.status(path) for path in images] == [
        ImageStatus.DONE,
        ImageStatus.DONE,
        ImageStatus.ANSWERED,
    ]
    assert mine.update(mine.snapshot()) == []
    update_progress(*mine.take_changes())
    assert theirs.update(theirs.snapshot()) == [images[0]]


def test_what_is_being_written_is_not_taken_back_by_what_was_read_before(begin, images):
    mine, theirs = begin(), begin()
    mine.set_done(images[0], done=True)
    file, changes = mine.take_changes()
    theirs.set_done(images[1], done=True)
    update_progress(*theirs.take_changes())
    assert mine.update(mine.snapshot()) == images[1:2]  # read before the first flag is written
    assert mine.status(images[0]) is ImageStatus.DONE
    assert mine.note_written(changes, update_progress(file, changes)) == []
    assert mine.n_done == mine.n_writes + 1 == 2


def test_older_changes_that_could_not_be_written_do_not_undo_newer_ones(begin, images):
    work = begin()
    work.set_done(images[0], done=True)
    _, first = work.take_changes()
    work.set_done(images[0], done=False)
    file, second = work.take_changes()
    work.put_back(first)
    work.note_written(second, update_progress(file, second))
    update_progress(*work.take_changes())
    assert read_progress(file).done == frozenset()
    assert work.status(images[0]) is ImageStatus.UNTOUCHED


def test_a_picture_with_a_result_that_is_done_twice_has_it_still(begin, images):
    work = begin()
    work.note_work(images[0], marked=True, answered=True)
    work.set_done(images[0], done=True)
    work.set_done(images[0], done=False)
    assert work.status(images[0]) is ImageStatus.ANSWERED


def test_work_done_before_a_folder_is_chosen_is_not_forgotten(
    begin, images, tmp_path, monkeypatch
):
    root, chosen = images[0].parent, tmp_path / "chosen"
    monkeypatch.setattr(project_store.os, "access", lambda path, _: path != root)
    work = begin()
    work.set_done(images[0], done=True)
    work.note_work(images[1], marked=True, answered=False)
    assert work.take_changes() is None
    chosen.mkdir()
    work.choose_folder(chosen)
    assert work.folder == chosen
    assert [work.status(path) for path in images[:2]] == [ImageStatus.DONE, ImageStatus.MARKED]
    update_progress(*work.take_changes())
    assert read_progress(chosen / PROGRESS_FILE).done == {"1.png"}
    assert not (root / PROGRESS_FILE).exists()


def test_images_opened_together_share_no_files(images, policy):
    save_project(
        images[1].with_suffix(".segapp"), Project(Document(), DEFAULT_SETTINGS, images[1], "")
    )
    work = workspace(images[:2], None, policy)
    assert [work.status(path) for path in images[:2]] == [
        ImageStatus.UNTOUCHED,
        ImageStatus.MARKED,
    ]
    work.set_done(images[0], done=True)
    assert (work.folder, work.take_changes()) == (None, None)
    assert policy.writing_folder(images[0]) == images[0].parent
    assert policy.writing_folder(images[2]) is None  # it is not one of them


def test_all_changes_of_one_moment_are_one_write(begin, images):
    work = begin()
    for path in images:
        work.set_done(path, done=True)
    done = dict.fromkeys(("1.png", "2.png", "3.png"), True)
    assert work.take_changes() == (images[0].parent / PROGRESS_FILE, ProgressChanges(done=done))


def listed(folder, *names):
    for name in names:
        (folder / name).touch()
    return [path.name for path in list_images(folder)]


def test_only_images_are_listed_and_by_name(tmp_path):
    (tmp_path / "folder.png").mkdir()
    names = listed(tmp_path, "b.PNG", "a.jpg", ".hidden.png", "notes.txt", "a.segapp")
    assert names == ["a.jpg", "b.PNG"]


def test_files_that_are_left_out_are_counted_in_one_pass(tmp_path, monkeypatch):
    belongs_to, seen = module._belongs_to, []

    def recorded(stem, others):
        seen.append(others)
        return belongs_to(stem, others)

    monkeypatch.setattr(module, "_belongs_to", recorded)
    for name in ("a.png", "a-mask.png", "b.png"):
        (tmp_path / name).write_bytes(b"x")
    assert module.left_out(tmp_path).companions == 1
    assert all(others is seen[0] for others in seen)  # else 30 000 images take minutes


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege")
def test_a_link_to_itself_hides_no_image(tmp_path):
    (tmp_path / "a.png").symlink_to(tmp_path / "a.png")
    assert listed(tmp_path, "b.png") == ["b.png"]


@pytest.mark.parametrize("word", ["strokes", "truth", "anno", *FORMATS])
def test_companions_of_an_image_are_not_listed(tmp_path, word):
    assert listed(tmp_path, "cat.jpg", f"cat-{word}.png") == ["cat.jpg"]


def test_class_masks_of_an_image_are_not_listed(tmp_path):
    names = ("cat-classes-fur.png", "cat-classes-a-classes-b.png", "cat-classes-.png")
    assert listed(tmp_path, "cat.jpg", *names) == ["cat.jpg"]
    (tmp_path / "cat.jpg").unlink()
    assert len(listed(tmp_path)) == 3


def test_the_name_of_an_image_may_contain_classes(tmp_path):
    names = ("x-classes-y.jpg", "x-classes-y-classes-z.png")
    assert listed(tmp_path, *names) == ["x-classes-y.jpg"]


def test_a_mask_without_its_image_is_listed(tmp_path):
    assert listed(tmp_path, "dog.jpg", "cat-mask.png") == ["cat-mask.png", "dog.jpg"]
