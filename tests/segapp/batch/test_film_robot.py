"""A robot user marks the first page of a film and corrects the worst ones."""

import json

import numpy as np
import pytest
from PIL import Image

from segapp.__main__ import main
from segapp.batch.film_robot import END_LEVEL, find_films
from segapp.model.validation import SegappError


def make_film(folder, count=4):
    """Write a textured square that moves, with its masks."""
    rng = np.random.default_rng(1)
    ground, square = rng.integers(20, 70, (60, 90)), rng.integers(150, 240, (26, 26))
    for name in ("images", "masks"):
        (folder / name).mkdir(parents=True)
    for page in range(count):
        rgb, mask = ground.copy(), np.zeros((60, 90), np.uint8)
        place = slice(16, 42), slice(20 + 5 * page, 46 + 5 * page)
        rgb[place], mask[place] = square, 255
        Image.fromarray(rgb.astype(np.uint8)).save(folder / "images" / f"{page:03}.png")
        Image.fromarray(mask).save(folder / "masks" / f"{page:03}.png")


@pytest.mark.slow
def test_a_film_is_corrected_until_all_pages_are_right(tmp_path, capsys):
    make_film(tmp_path / "films" / "one")
    words = ["batch", str(tmp_path / "films"), "--film", "--out", str(tmp_path / "out"), "--json"]
    assert main(words) == 0
    told = json.loads(capsys.readouterr().out)
    (row,) = told["results"]
    assert row["film"] == "one"
    assert row["worst_iou"] >= END_LEVEL
    assert row["strokes"] >= row["first_strokes"] >= 2
    assert json.loads((tmp_path / "out" / "summary.json").read_text()) == told
    assert len(list((tmp_path / "out" / "one" / "masks").iterdir())) == 4
    assert list((tmp_path / "out" / "one" / "projects").glob("*.segapp"))


def test_films_need_a_truth_for_each_page(tmp_path):
    make_film(tmp_path / "one")
    assert [film.name for film in find_films(tmp_path)] == ["one"]
    assert [film.name for film in find_films(tmp_path / "one")] == ["one"]
    (tmp_path / "one" / "masks" / "002.png").unlink()
    with pytest.raises(SegappError, match=r"002\.png"):
        find_films(tmp_path)
    (tmp_path / "none").mkdir()
    with pytest.raises(SegappError, match="wanted films"):
        find_films(tmp_path / "none")
