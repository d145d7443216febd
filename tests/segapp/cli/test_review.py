import csv

import numpy as np
import pytest
from PIL import Image

from segapp import Segmenter


@pytest.fixture
def folder(ball, tmp_path):
    """Balls with masks, one of which lies beside its ball."""
    images, masks = tmp_path / "images", tmp_path / "masks"
    images.mkdir()
    masks.mkdir()
    for number, centre in enumerate(((30, 30), (30, 60), (28, 45))):
        ball.draw(images / f"{number}.png", seed=number, centre=centre)
        y, x = np.mgrid[:60, :90]
        shift = 30 if number == 1 else 0
        inside = (y - centre[0]) ** 2 + (x - centre[1] + shift) ** 2 <= 18**2
        Image.fromarray(np.where(inside, 255, 0).astype(np.uint8)).save(masks / f"{number}.png")
    return images, masks


def test_masks_are_reviewed_with_a_list_and_a_sheet(segapp, folder, tmp_path):
    out, sheet = tmp_path / "list.csv", tmp_path / "sheet.png"
    words = ("--masks", folder[1], "--out", out, "--sheet", sheet, "--json")
    done = segapp("review", folder[0], *words)
    assert done.code == 0
    assert (done.json["images"], done.json["failed"]) == (3, 0)
    with out.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert rows[0]["image"] == "1.png"
    assert {row["class"] for row in rows if row["image"] == "1.png"} <= {
        "foreground",
        "background",
    }
    assert [int(row["rank"]) for row in rows] == list(range(1, len(rows) + 1))
    with Image.open(sheet) as image:
        assert image.width == 1000


def test_projects_are_reviewed(segapp, folder, tmp_path):
    for path in sorted(folder[0].glob("*.png")):
        segmenter = Segmenter(path)
        centre = {"0": 30, "1": 60, "2": 45}[path.stem]
        segmenter.add_stroke([(centre, 30)], "foreground", radius=4)
        segmenter.add_stroke([(5, 5), (85, 5)], "background", radius=3)
        segmenter.save(path.with_suffix(".segapp"))
    done = segapp("review", folder[0], "--out", tmp_path / "list.csv", "--json")
    assert (done.code, done.json["images"]) == (0, 3)


def test_a_folder_without_finished_images_is_reported(segapp, folder, tmp_path):
    done = segapp("review", folder[0], "--out", tmp_path / "list.csv")
    assert done.code == 1
    assert "wanted at least two finished images, got 0" in done.err
    done = segapp("review", tmp_path / "none", "--out", tmp_path / "list.csv")
    assert "There is no folder" in done.err


def test_a_mask_of_another_size_is_passed_over(segapp, folder, tmp_path):
    Image.new("L", (5, 5)).save(folder[1] / "0.png")
    words = ("--masks", folder[1], "--out", tmp_path / "list.csv", "--json")
    done = segapp("review", folder[0], *words)
    assert (done.code, done.json["failed"], done.json["images"]) == (3, 1, 2)
