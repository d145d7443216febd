"""What is learnt from the finished images of a folder."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from segapp import Segmenter
from segapp.app.folder_learning import (
    FolderLearner,
    FolderMemory,
    ImagesRead,
    code_index,
    finished_images,
    usefulness,
)
from segapp.engine.folder_model import RegionTable
from segapp.engine.preparation import PreparedPicture
from segapp.io.folder_files import PROGRESS_FILE, ProgressChanges, update_progress
from segapp.io.images import load_image
from segapp.model.classes import TWO_CLASSES
from segapp.model.settings import PRESETS
from segapp.model.validation import SegappError

SIZE = (60, 90)


def draw(path, centre, colour=(210, 120, 40)):
    rng = np.random.default_rng(sum(centre))
    y, x = np.mgrid[: SIZE[0], : SIZE[1]]
    inside = (y - centre[0]) ** 2 + (x - centre[1]) ** 2 <= 15**2
    rgb = np.where(inside[..., None], colour, (60, 90, 140)) + rng.normal(0, 8, (*SIZE, 3))
    Image.fromarray(np.clip(rgb, 0, 255).astype(np.uint8)).save(path)
    return np.where(inside, 0, 1).astype(np.uint8)


def save_project(path, centre):
    segmenter = Segmenter(path, settings=replace(PRESETS["best"], prototypes=150))
    segmenter.add_stroke([(centre[1], centre[0])], "foreground", radius=4)
    segmenter.add_stroke([(4, 4), (86, 4)], "background", radius=3)
    segmenter.save(path.with_suffix(".segapp"))


@pytest.fixture
def folder(tmp_path):
    for number, centre in enumerate(((30, 25), (30, 60), (25, 45))):
        draw(tmp_path / f"{number}.png", centre)
        if number < 2:
            save_project(tmp_path / f"{number}.png", centre)
    draw(tmp_path / "odd.png", (30, 40), (60, 200, 60))
    return tmp_path


def finish(work):
    *_, last = work
    return last


def test_finished_are_images_with_projects_or_those_flagged(folder):
    names = [each.image.name for each in finished_images(folder)]
    assert names == ["0.png", "1.png"]
    update_progress(folder / PROGRESS_FILE, ProgressChanges(done={"1.png": True}))
    flagged = [each.image.name for each in finished_images(folder)]
    assert flagged == ["1.png"]


def test_a_folder_gives_the_first_answer_of_the_next_image(folder):
    memory = FolderMemory()
    steps = list(memory.learn(finished_images(folder)))
    assert steps == [ImagesRead(1, 2), ImagesRead(2, 2)]
    assert list(memory.learn(finished_images(folder))) == []  # nothing has changed
    labels = finish(memory.first_answer(load_image(folder / "2.png"))).labels
    assert labels[25, 45] == 0
    assert labels[5, 5] == 1
    assert 0.7 < np.mean(labels == 0) / (np.pi * 15**2 / (60 * 90)) < 1.3


def test_the_image_unlike_the_others_is_the_most_useful(folder):
    memory = FolderMemory()
    finish(memory.learn(finished_images(folder)))
    useful = finish(memory.rank_useful([folder / "2.png", folder / "odd.png"]))
    assert [each.image.name for each in useful] == ["odd.png", "2.png"]
    assert useful[0].novelty > useful[1].novelty


def test_images_with_a_similar_object_come_first(folder):
    memory = FolderMemory()
    picture = load_image(folder / "0.png")
    y, x = np.mgrid[: SIZE[0], : SIZE[1]]
    inside = (y - 30) ** 2 + (x - 25) ** 2 <= 15**2
    images = [folder / name for name in ("0.png", "odd.png", "1.png")]
    similar = finish(memory.find_similar(picture, inside, images))
    assert [each.name for each in similar] == ["1.png", "odd.png"]
    assert abs(similar[0].x - 60) < 16
    assert abs(similar[0].y - 30) < 16


def test_an_image_that_is_finished_again_is_learnt_once(folder):
    learner = FolderLearner(TWO_CLASSES)
    path = folder / "0.png"
    picture = PreparedPicture(load_image(path).rgb)
    labels = np.ones(SIZE, np.uint8)
    learner.add(picture, path, labels)
    labels[20:40, 15:35] = 0
    learner.add(picture, path, labels)
    assert learner.model.n_pictures == 1
    assert learner.model.scores(RegionTable.of(picture)).argmax(axis=1).min() == 0


def test_without_a_model_all_is_new():
    table = RegionTable.of(PreparedPicture(np.zeros((20, 20, 3), np.uint8)))
    learner = FolderLearner(TWO_CLASSES)
    index = code_index([type("Picture", (), {"table": table})])
    assert usefulness(learner, index, Path("a.png"), table).doubt == 1.0


def test_an_image_with_other_classes_is_passed_over(folder):
    from segapp.model.classes import ClassInfo

    learner = FolderLearner((ClassInfo("cat", (0, 0, 0)), ClassInfo("dog", (9, 9, 9))))
    (first, _) = learner.learn(finished_images(folder))
    assert "has classes that the folder lacks: foreground, background" in str(first.problem)


def test_a_model_that_was_wrong_begins_no_image(folder):
    learner, memory = FolderLearner(TWO_CLASSES), FolderMemory()
    memory._learner = learner
    rng = np.random.default_rng(0)
    for number in range(3):
        path = folder / f"{number}.png"
        truth = draw(path, ((30, 25), (30, 60), (25, 45))[number])
        learner.add(PreparedPicture(load_image(path).rgb), path, truth)
    assert learner.is_reliable
    assert min(learner.agreements) > 0.7
    for number in range(3):
        path = folder / f"noise{number}.png"
        Image.fromarray(rng.integers(0, 255, (*SIZE, 3)).astype(np.uint8)).save(path)
        inside = np.zeros(SIZE, np.uint8)
        inside[:, rng.integers(10, 50) :][:, :20] = 1
        learner.add(PreparedPicture(load_image(path).rgb), path, 1 - inside)
    assert not learner.is_reliable
    with pytest.raises(SegappError, match="unlike those before"):
        list(memory.first_answer(load_image(folder / "2.png")))
