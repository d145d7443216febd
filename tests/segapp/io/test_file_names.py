"""Names that are not UTF-8: ``os.fsdecode`` keeps their bytes as half surrogates."""

import json
import os
import sys

import numpy as np
import pytest
from PIL import Image

from segapp.io.export.formats import FORMATS
from segapp.io.images import load_image
from segapp.io.project import Project, load_project, save_project
from segapp.model.document import Document
from segapp.model.labelling import Labelling
from segapp.model.settings import Settings
from segapp.model.validation import load_file_name, store_file_name

ODD = os.fsdecode(b"caf\xe9 \xff.png")

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")


@pytest.fixture
def odd(tmp_path):
    path = tmp_path / os.fsdecode(b"f\xf6lder") / ODD
    path.parent.mkdir()
    Image.new("RGB", (6, 5), "red").save(path)
    return path


@pytest.mark.parametrize("name", ["plain.png", "été 中.png", ODD, "100%25 \udcff%ff"])
def test_a_name_comes_back_through_utf8(name):
    values: dict = {}
    store_file_name(values, "relative", name)
    text = json.dumps(values, ensure_ascii=False).encode("utf-8")
    assert load_file_name(json.loads(text), "relative") == name


def test_a_project_of_an_image_whose_name_is_not_utf8_comes_back(odd):
    project = Project(Document(), Settings(), odd, load_image(odd).sha256)
    path = odd.with_suffix(".segapp")
    save_project(path, project)
    assert load_project(path) == project
    path = odd.parents[1] / "plain.segapp"
    save_project(path, project)
    assert load_project(path).image_path == odd


def test_a_project_names_no_file_with_a_zero_byte():
    with pytest.raises(ValueError, match="relative: wanted the name of a file"):
        load_file_name({"relative": "a\0b"}, "relative")


@pytest.mark.parametrize("name", FORMATS)
def test_every_export_of_such_an_image_is_written(odd, name):
    nothing = np.zeros((5, 6), np.uint8)
    answer = Labelling(nothing, nothing.astype(np.float32), nothing.astype(np.uint32), 2, 1)
    entry = FORMATS[name]
    target = odd.with_suffix(entry.suffix).with_stem("out\udcff")
    for path in entry.write(target, answer, Document(), load_image(odd)):
        assert path.stat().st_size
        if entry.suffix == ".json":
            content = json.loads(path.read_text(encoding="utf-8"))
            assert "imagePath" not in content or content["imagePath"] == ODD


def test_sentences_about_such_files_can_be_printed(odd):
    odd.write_bytes(b"no image\n")
    with pytest.raises(ValueError, match="caf\ufffd") as caught:
        load_image(odd)
    assert str(caught.value).encode("utf-8")
