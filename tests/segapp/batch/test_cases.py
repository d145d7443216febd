import os
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from segapp.batch.cases import Case, CaseError, bundled_cases, find_cases, load_truth
from segapp.imaging.rasterise import rasterize
from segapp.io.images import load_image
from segapp.io.masks import load_strokes
from segapp.io.project import Project, save_project
from segapp.model.document import Document
from segapp.model.settings import Settings

BESIDE = Path(__file__).parents[4] / "shared" / "data"
GULSHAN = Path(os.environ.get("SEGAPP_DATA", BESIDE)) / "gulshan"


def save(path, values, palette=False):
    path.parent.mkdir(parents=True, exist_ok=True)
    image = Image.fromarray(np.asarray(values, np.uint8), mode="L")
    if palette:
        image.putpalette([0, 0, 0, 255, 0, 0, 0, 0, 255] * 85 + [9, 9, 9])
    image.save(path)


def test_the_gulshan_layout(tmp_path):
    for name in ("a.jpg", "b.bmp", "c.png", "unlabelled.png"):
        save(tmp_path / "images" / name, np.zeros((4, 5)))
    for name in "abc":
        save(tmp_path / "images-labels" / f"{name}-anno.png", np.ones((4, 5)), palette=True)
    save(tmp_path / "images-gt" / "b.png", np.zeros((4, 5)))
    (tmp_path / "images" / "Thumbs.db").write_bytes(b"x")
    assert find_cases(tmp_path) == (
        Case("a", tmp_path / "images/a.jpg", tmp_path / "images-labels/a-anno.png", None),
        Case(
            "b",
            tmp_path / "images/b.bmp",
            tmp_path / "images-labels/b-anno.png",
            tmp_path / "images-gt/b.png",
        ),
        Case("c", tmp_path / "images/c.png", tmp_path / "images-labels/c-anno.png", None),
    )


def test_a_plain_folder(tmp_path):
    for name in ("é 中.JPG", "two.png", "alone.png"):
        save(tmp_path / name, np.zeros((4, 5)))
    save(tmp_path / "é 中-strokes.png", np.zeros((4, 5)))
    save(tmp_path / "é 中-truth.png", np.zeros((4, 5)))
    save_project(
        tmp_path / "two.segapp", Project(Document(), Settings(), tmp_path / "two.png", "")
    )
    assert find_cases(tmp_path) == (
        Case("two", tmp_path / "two.png", tmp_path / "two.segapp", None),
        Case(
            "é 中",
            tmp_path / "é 中.JPG",
            tmp_path / "é 中-strokes.png",
            tmp_path / "é 中-truth.png",
        ),
    )


def test_images_that_differ_in_the_suffix_alone_keep_apart(tmp_path):
    save(tmp_path / "a.jpg", np.zeros((4, 5)))
    save(tmp_path / "a.png", np.zeros((4, 5)))
    save(tmp_path / "a-strokes.png", np.zeros((4, 5)))
    assert {case.name for case in find_cases(tmp_path)} == {"a.jpg", "a.png"}


def test_nothing_to_do_gives_a_sentence(tmp_path):
    with pytest.raises(CaseError, match="There is no folder"):
        find_cases(tmp_path / "none")
    save(tmp_path / "a.jpg", np.zeros((4, 5)))
    with pytest.raises(CaseError, match=r"no image with strokes in .*: wanted X\.jpg with"):
        find_cases(tmp_path)


def test_a_grey_truth(tmp_path):
    save(tmp_path / "t.png", [[0, 128, 255]])
    assert load_truth(tmp_path / "t.png", (1, 3), 2).tolist() == [[1, -1, 0]]


def test_a_truth_with_a_palette(tmp_path):
    save(tmp_path / "t.png", [[0, 1, 3, 255]], palette=True)
    assert load_truth(tmp_path / "t.png", (1, 4), 4).tolist() == [[0, 1, 3, -1]]


def test_a_wrong_truth_gives_a_sentence(tmp_path):
    save(tmp_path / "t.png", [[0, 128, 77]])
    with pytest.raises(CaseError, match=r"t\.png: wanted grey values of 0, 128 and 255, got 77"):
        load_truth(tmp_path / "t.png", (1, 3), 2)
    with pytest.raises(CaseError, match="has 3 x 1 pixels: wanted the image's 4 x 2"):
        load_truth(tmp_path / "t.png", (2, 4), 2)
    save(tmp_path / "p.png", [[0, 1, 2]], palette=True)
    with pytest.raises(CaseError, match=r"p\.png: wanted classes from 0 to 1, got 2"):
        load_truth(tmp_path / "p.png", (1, 3), 2)


def test_the_bundled_samples_are_complete():
    cases = bundled_cases()
    assert len(cases) >= 4
    counts = []
    for case in cases:
        picture = load_image(case.image)
        document = load_strokes(case.strokes, picture.size).document
        truth = load_truth(case.truth, picture.size, len(document.classes))
        labels = rasterize(document, picture.size)
        assert set(np.unique(labels)) == {-1, *range(len(document.classes))}
        judged = (labels >= 0) & (truth >= 0)
        assert (labels[judged] == truth[judged]).mean() > 0.99, case.name
        counts.append(len(document.classes))
    assert 4 in counts
    total = sum(path.stat().st_size for path in cases[0].image.parent.iterdir())
    assert total < 2_000_000


@pytest.mark.data
@pytest.mark.skipif(not GULSHAN.is_dir(), reason="the Gulshan set is not beside the project")
def test_the_gulshan_set():
    cases = find_cases(GULSHAN)
    assert len(cases) == 151
    assert all(case.truth is not None for case in cases)
    for case in cases[::25]:
        picture = load_image(case.image)
        document = load_strokes(case.strokes, picture.size).document
        truth = load_truth(case.truth, picture.size, len(document.classes))
        labels = rasterize(document, picture.size)
        # Foreground strokes lie on the object: the index, not the palette's colour, was read.
        assert (truth[labels == 0] != 1).mean() > 0.95
        assert (truth[labels == 1] != 0).mean() > 0.95


@pytest.mark.parametrize(
    "names",
    [
        ("a.png", "a.jpg", "a.jpg.png"),
        ("a.png", "A.png", "a.PNG"),
        ("a.png", "A.jpg", "a.png 2.png", "A.png", "a.png.gif"),
        ("e\u0301.png", "\u00e9.png"),
        ("ß.png", "ss.png", "SS.jpg"),
    ],
)
def test_case_names_are_unique_even_without_case(tmp_path, names):
    """Two cases of one name shared a mask."""
    for name in names:
        save(tmp_path / name, np.zeros((4, 5)))
        stem = name.rsplit(".", 1)[0]
        save(tmp_path / f"{stem}-strokes.png", np.zeros((4, 5)))
    cases = find_cases(tmp_path)
    assert {case.image.name for case in cases} == set(names)
    folded = {unicodedata.normalize("NFC", case.name.casefold()) for case in cases}
    assert len(folded) == len(names)


def test_names_say_which_image_is_meant(tmp_path):
    for name in ("a.png", "a.jpg", "a.jpg.png", "b.png"):
        save(tmp_path / name, np.zeros((4, 5)))
    for name in ("a", "a.jpg", "b"):
        save(tmp_path / f"{name}-strokes.png", np.zeros((4, 5)))
    named = {case.name: case.image.name for case in find_cases(tmp_path)}
    assert named == {"a.png": "a.png", "a.jpg": "a.jpg", "a.jpg.png": "a.jpg.png", "b": "b.png"}
