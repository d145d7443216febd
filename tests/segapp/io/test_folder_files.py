"""Files of a folder: progress, names and thumbnails."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import pytest
from PIL import Image

from segapp.io import control_files
from segapp.io.class_list import (
    CLASS_LIST_FILE,
    FOLDER_LISTS,
    ClassList,
    find_class_list,
    import_class_list,
    write_class_list,
)
from segapp.io.folder_files import (
    DISPLAY_FILE,
    PROGRESS_FILE,
    FolderProgress,
    ProgressChanges,
    ProgressError,
    read_display,
    read_progress,
    update_progress,
    write_display,
)
from segapp.io.images import load_image, load_thumbnail
from segapp.io.pages import ImageError
from segapp.io.project import Project, load_project, save_project
from segapp.model.classes import TWO_CLASSES
from segapp.model.display import DisplaySettings
from segapp.model.document import Document
from segapp.model.labelling import InitialLabels, Labelling
from segapp.model.settings import DEFAULT_SETTINGS
from segapp.model.validation import SegappError


def test_progress_comes_back(tmp_path):
    path = tmp_path / PROGRESS_FILE
    changes = ProgressChanges({"b.png": True}, {"a é.png": True}, "a é.png")
    wanted = FolderProgress(frozenset({"b.png"}), frozenset({"a é.png"}), "a é.png")
    assert update_progress(path, changes) == wanted
    assert read_progress(path) == wanted
    assert read_progress(tmp_path / "missing") == FolderProgress()


def test_windows_keep_each_others_flags(tmp_path):
    path, names = tmp_path / PROGRESS_FILE, [f"{number}.png" for number in range(60)]

    def flag(first):
        for name in names[first::4]:
            update_progress(path, ProgressChanges(done={name: True}))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(flag, range(4)))
    update_progress(path, ProgressChanges(done={"0.png": False}))
    assert read_progress(path).done == set(names[1:])
    assert os.listdir(tmp_path) == [PROGRESS_FILE]


def test_an_image_that_is_no_longer_done_still_has_its_result(tmp_path):
    path = tmp_path / PROGRESS_FILE
    update_progress(path, ProgressChanges({"a.png": True}, {"a.png": True}))
    update_progress(path, ProgressChanges(done={"a.png": False}))
    assert read_progress(path) == FolderProgress(answered=frozenset({"a.png"}))


def test_a_name_that_is_not_utf8(tmp_path):
    path, name = tmp_path / PROGRESS_FILE, b"odd\xff.png".decode("utf-8", "surrogateescape")
    update_progress(path, ProgressChanges(done={name: True}, last=name))
    assert read_progress(path) == FolderProgress(done=frozenset({name}), last=name)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{",
        b"\xff",
        b'{"format": "segapp progress"}',
        b'{"format": "segapp progress", "version": 2, "done": {"a.png": "me"}}',
        b'<<<<<<< HEAD\n{"format": "segapp progress", "version": 1, "done": []}\n',
    ],
)
def test_progress_that_cannot_be_read_is_never_replaced(tmp_path, content):
    path = tmp_path / PROGRESS_FILE
    path.write_bytes(content)
    with pytest.raises(ProgressError, match=r"^segapp-progress.json is not .*\.$"):
        update_progress(path, ProgressChanges(done={"a.png": True}))
    assert path.read_bytes() == content


def test_progress_that_cannot_be_read_now_is_not_replaced(tmp_path, monkeypatch):
    path = tmp_path / PROGRESS_FILE
    before = update_progress(path, ProgressChanges(done={"a.png": True}))

    def fail(*_, **__):
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(control_files, "open_regular", fail)
        with pytest.raises(ProgressError, match="Input/output error"):
            update_progress(path, ProgressChanges(done={"b.png": True}))
    assert read_progress(path) == before


# Folders of strangers --------------------------------------------------------------------------


def write_all(folder):
    update_progress(folder / PROGRESS_FILE, ProgressChanges(done={"a.png": True}))


def share_display(folder):
    write_display(folder, DisplaySettings((1,)))


def share_classes(folder):
    write_class_list(folder / CLASS_LIST_FILE, ClassList.from_classes(TWO_CLASSES))


WRITERS = {PROGRESS_FILE: write_all, DISPLAY_FILE: share_display, CLASS_LIST_FILE: share_classes}


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege")
@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("name", [*WRITERS, f".{PROGRESS_FILE}.lock"])
def test_no_file_of_a_folder_is_written_through_a_link(tmp_path, name, there):
    folder, secret = tmp_path / "folder", tmp_path / "secret"
    folder.mkdir()
    if there:
        secret.write_text("ssh-ed25519 AAAA of the user")
    (folder / name).symlink_to(secret)
    for write in WRITERS.values():
        with suppress(OSError, SegappError):
            write(folder)
    assert secret.exists() is there
    assert not there or secret.read_text() == "ssh-ed25519 AAAA of the user"
    assert (folder / name).is_symlink()


@pytest.mark.skipif(sys.platform == "win32", reason="has no such pipes")
@pytest.mark.parametrize("name", [*WRITERS, *FOLDER_LISTS, f".{PROGRESS_FILE}.lock"])
def test_no_pipe_of_a_folder_is_waited_for(tmp_path, name):
    os.mkfifo(tmp_path / name)
    with suppress(SegappError):
        read_progress(tmp_path / PROGRESS_FILE)
    with suppress(SegappError):
        read_display(tmp_path)
    assert find_class_list(tmp_path) is None
    with pytest.raises(SegappError):
        import_class_list(tmp_path / name)
    for write in WRITERS.values():
        with suppress(OSError, SegappError):
            write(tmp_path)


def saved(image, project, document=None):
    picture = load_image(image)
    save_project(project, Project(document or Document(), DEFAULT_SETTINGS, image, picture.sha256))


def test_a_start_is_kept_in_the_project(tmp_path):
    Image.new("RGB", (6, 4)).save(tmp_path / "cat.png")
    labels = np.array([[0, 1] * 3] * 4, np.uint8)
    answer = Labelling(labels, np.ones((4, 6), np.float32), np.zeros((4, 6), np.uint32), 2, 1)
    document = Document(initial=InitialLabels.from_labelling(answer, "dog.png"))
    saved(tmp_path / "cat.png", tmp_path / "cat.segapp", document)
    assert load_project(tmp_path / "cat.segapp").document == document


@pytest.mark.parametrize("suffix", ["jpg", "png", "tif", "webp"])
def test_thumbnails_are_small_and_upright(tmp_path, suffix):
    rgb = np.zeros((400, 200, 3), np.uint8)
    rgb[:200] = 250
    exif = Image.Exif()
    exif[274] = 6  # turned by a quarter to the right
    path = tmp_path / f"a.{suffix}"
    Image.fromarray(rgb).save(path, exif=exif)
    small = load_thumbnail(path, 64)
    assert small.shape == (32, 64, 3)
    whole = load_image(path).rgb[::6, ::6].mean(axis=2) > 100
    assert ((small.mean(axis=2) > 100)[4:28, 4:28] == whole[4:28, 4:28]).all()


def test_a_damaged_thumbnail_is_reported(tmp_path):
    path = tmp_path / "a.jpg"
    path.write_bytes(b"no")
    with pytest.raises(ImageError):
        load_thumbnail(path, 64)
