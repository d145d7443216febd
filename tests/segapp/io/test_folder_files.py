"""Files of a folder: progress, names and thumbnails."""

import numpy as np
import pytest
from PIL import Image

from segapp.io.folder_files import (
    PROGRESS_FILE,
    FolderProgress,
    ImageStatus,
    read_progress,
    write_progress,
)
from segapp.io.images import load_image, load_thumbnail
from segapp.io.pages import ImageError
from segapp.io.project import Project, load_project, save_project
from segapp.model.document import Document
from segapp.model.labelling import InitialLabels, Labelling
from segapp.model.settings import DEFAULT_SETTINGS


def test_progress_comes_back(tmp_path):
    path = tmp_path / PROGRESS_FILE
    write_progress(path, {"a é.png": ImageStatus.DONE, "b.png": ImageStatus.ANSWERED}, "a é.png")
    assert read_progress(path) == FolderProgress(
        {"a é.png": ImageStatus.DONE, "b.png": ImageStatus.ANSWERED}, "a é.png"
    )


def test_two_windows_keep_each_others_flags(tmp_path):
    path = tmp_path / PROGRESS_FILE
    write_progress(path, {"a.png": ImageStatus.DONE}, "a.png")
    write_progress(path, {"b.png": ImageStatus.DONE}, None)
    write_progress(path, {"a.png": None}, None)
    assert read_progress(path) == FolderProgress({"b.png": ImageStatus.DONE}, "a.png")


def test_a_name_that_is_not_utf8(tmp_path):
    path, name = tmp_path / PROGRESS_FILE, b"odd\xff.png".decode("utf-8", "surrogateescape")
    write_progress(path, {name: ImageStatus.DONE}, name)
    assert read_progress(path) == FolderProgress({name: ImageStatus.DONE}, name)


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b'{"format": "segapp progress"}', b"\xff"])
def test_damaged_progress_is_none(tmp_path, content):
    path = tmp_path / PROGRESS_FILE
    path.write_bytes(content)
    assert read_progress(path) == FolderProgress()
    assert read_progress(tmp_path / "missing") == FolderProgress()


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
