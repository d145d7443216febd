"""The maps name what is there, and everything that is there."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from segapp.io.export.formats import FORMATS
from segapp.io.images import load_image
from segapp.model.document import Document
from segapp.model.labelling import Labelling
from tests.markdown_map import Map, definitions_in, names_in

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "segapp"
MAP = Map(PACKAGE / "README.md")
TEXTS = ("segapp/README.md", ".github/CONTRIBUTING.md", "README.md")
# Words in code that are no names of ours: formats, files, other programs' fields.
KNOWN = {
    *("mask", "indexed", "classes", "cutout", "labelme", "confidence", "numpy", "strokes"),
    *("alpha", "measures"),
    *("segment", "export", "apply", "batch", "qt"),
    *("segapp", "scores.csv", "summary.json", "pyproject.toml", "annotations", "shapes"),
    *("__main__.py", "__init__", "__all__"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_every_link_leads_somewhere(name):
    text = Map(ROOT / name)
    assert not text.missing_links()
    assert not text.missing_headings()


@pytest.mark.parametrize("name", TEXTS)
def test_a_name_beside_a_file_is_defined_in_that_file(name):
    assert not Map(ROOT / name).wrong_names()


def test_the_map_names_much():
    assert len(list(MAP.named())) > 100


def test_every_name_in_code_exists():
    every = set().union(*(names_in(path) for path in PACKAGE.rglob("*.py")))
    every |= names_in(ROOT / "shlcore" / "atomic_file.py")
    told = {
        name
        for name in re.findall(r"`([^`\n]+)`", MAP.text)
        if re.fullmatch(r"[A-Za-z_][\w.]*", name)
    }
    assert told - every - KNOWN == set()


def test_every_module_is_on_the_map():
    assert not MAP.unlinked(PACKAGE)


def test_a_name_that_is_not_there_is_found(tmp_path):
    (tmp_path / "here.py").write_text("class Here:\n    def there(self): ...\n")
    planted = tmp_path / "map.md"
    planted.write_text(
        "| a | [here.py](here.py) `Here.there` |\n| b | [here.py](here.py) `Nowhere` |\n"
        "`gone` ([here.py](here.py)), `Here` in [here.py](here.py), [gone](gone.py), [x](#none)\n"
    )
    told = Map(planted)
    assert told.wrong_names() == {("here.py", "Nowhere"), ("here.py", "gone")}
    assert told.missing_links() == ["gone.py"]
    assert told.missing_headings() == {"none"}


def test_an_import_is_no_definition(tmp_path):
    module = tmp_path / "module.py"
    module.write_text("from math import pi\nTAU = 2 * pi\n")
    assert definitions_in(module) == {"TAU"}


def test_an_empty_mask_writes_what_the_map_says(tmp_path):
    Image.new("RGB", (7, 5), (90, 80, 70)).save(tmp_path / "plain.png")
    nothing = np.zeros((5, 7))
    labels, margin = nothing.astype(np.uint8) + 1, nothing.astype(np.float32)
    empty = Labelling(labels, margin, nothing.astype(np.uint32), 2, 1)
    picture = load_image(tmp_path / "plain.png")
    written = {
        name: form.write(tmp_path / f"{name}{form.suffix}", empty, Document(), picture)
        for name, form in FORMATS.items()
    }
    section = MAP.text.split("## What an empty mask writes")[1].split("##")[0]
    rows = re.findall(r"^\| (`.+?`) \|", section, re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"`([^`]+)`", row)} == set(written)
    assert len(written["measures"][0].read_text().splitlines()) == 2
    zeros = ("mask", "cutout", "alpha", "confidence", "confidence-tiff", "strokes")
    for path in (*(written[name][0] for name in zeros), written["classes"][0]):
        with Image.open(path) as image:
            assert image.size == (7, 5)
            assert not np.array(image).any()
    assert len(written["classes"]) == 2
    with Image.open(written["indexed"][0]) as image:
        assert image.getpalette()[:3] == list(Document().classes[0].colour)
    with Image.open(written["confidence"][0]) as image:
        assert image.info["Description"].endswith("65535 = 0")
    for name in ("coco-rle", "coco-polygons"):
        content = json.loads(written[name][0].read_text())
        assert len(content["categories"]) == 2
        assert content["annotations"] == []
    assert json.loads(written["labelme"][0].read_text())["shapes"] == []
    with np.load(written["numpy"][0]) as arrays:
        assert list(arrays["classes"]) == ["foreground", "background"]
