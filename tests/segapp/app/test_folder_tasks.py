"""Shared classes and models applied to images of a folder that are not open."""

import numpy as np
import pytest
from PIL import Image

from segapp.app.folder_tasks import AnnotatedImage, apply_to_all, share_classes
from segapp.app.project_store import ProjectLocationPolicy, ProjectStore
from segapp.app.state import Content
from segapp.io.images import load_image
from segapp.io.project import Project, load_project, save_project
from segapp.model.classes import ClassInfo
from segapp.model.document import Document, Stroke
from segapp.model.settings import DEFAULT_SETTINGS
from tests.segapp.app.projects import Preferences, workspace

STROKES = (Stroke(((5.0, 8.0), (8.0, 20.0)), 2.0, 0), Stroke(((30.0, 8.0), (32.0, 20.0)), 2.0, 1))


@pytest.fixture
def folders(tmp_path):
    """Return two folders with pictures of the same names, half red and half blue."""
    rgb = np.zeros((30, 40, 3), np.uint8)
    rgb[:, :20], rgb[:, 20:] = (200, 40, 40), (40, 40, 200)
    for folder in "ab":
        (tmp_path / folder).mkdir()
        for number in range(1, 4):
            Image.fromarray(rgb).save(tmp_path / folder / f"{number}.png")
    return [sorted((tmp_path / folder).iterdir()) for folder in "ab"]


@pytest.fixture
def store(tmp_path):
    return ProjectStore(ProjectLocationPolicy(Preferences()), tmp_path / "recovery")


def test_projects_go_to_the_folder_of_their_images_whichever_is_opened_meanwhile(folders, store):
    first, second = folders
    workspace(first, first[0].parent, store.policy)
    source = AnnotatedImage(load_image(first[0]), Content(Document(strokes=STROKES)))
    steps = apply_to_all(source, first[1:], store, Document(), lambda _: False)
    next(steps)
    workspace(second, second[0].parent, store.policy)
    changed = [step.path for step in steps if step is not None and step.changed]
    assert changed == first[1:]
    assert not list(second[0].parent.glob("*.segapp"))
    for path in first[1:]:
        labels = load_project(path.with_suffix(".segapp")).document.initial.labelling(2).labels
        assert (labels[:, :18] == 0).all()
        assert (labels[:, 22:] == 1).all()


def test_busy_annotated_and_damaged_images_are_left_alone(folders, store):
    images = folders[0]
    workspace(images, images[0].parent, store.policy)
    annotated = Project(Document(strokes=STROKES[:1]), DEFAULT_SETTINGS, images[0], "")
    save_project(images[0].with_suffix(".segapp"), annotated)
    images[1].with_suffix(".segapp").write_bytes(b"half a project")
    source = AnnotatedImage(load_image(images[0]), Content(Document(strokes=STROKES)))
    steps = apply_to_all(source, images, store, Document(), lambda path: path == images[2])
    steps = [step for step in steps if step is not None]
    assert [step.changed for step in steps] == [False] * 3
    assert "damaged or not a project" in str(steps[1].error)
    assert tuple(load_project(images[0].with_suffix(".segapp")).document.strokes) == STROKES[:1]
    assert not images[2].with_suffix(".segapp").exists()


def test_classes_are_shared_with_projects_that_have_the_old_ones(folders, store):
    images = folders[0]
    workspace(images, images[0].parent, store.policy)
    before = Document().classes
    after = (ClassInfo("leaf", (1, 2, 3)), *before[1:])
    own = (*before, ClassInfo("own", (9, 9, 9)))
    for image, classes in zip(images, (before, own), strict=False):
        save_project(
            image.with_suffix(".segapp"), Project(Document(classes), DEFAULT_SETTINGS, image, "")
        )
    steps = list(share_classes(images, store, before, after))
    assert [(step.number, step.changed) for step in steps] == [(1, True), (2, False), (3, False)]
    assert load_project(images[0].with_suffix(".segapp")).document.classes == after
    assert load_project(images[1].with_suffix(".segapp")).document.classes == own
