import io
import json
import sys
import tracemalloc
import zipfile

import pytest

from segapp.io import project as project_file
from segapp.io.project import Project, ProjectError, load_project, save_project
from segapp.model.classes import ClassInfo
from segapp.model.document import Document, Patch, Stroke
from segapp.model.settings import Settings


@pytest.fixture
def content(tmp_path):
    document = Document(
        strokes=(Stroke(((1.0, 2.0),), 3.0, 0, (1.0,)), Patch(0, 0, 1, 1, b"\x80", 1))
    )
    save_project(tmp_path / "p.segapp", Project(document, Settings(), tmp_path / "a.png", ""))
    with zipfile.ZipFile(tmp_path / "p.segapp") as archive:
        return json.loads(archive.read("project.json"))


def packed(path, text):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("project.json", text)
    return path


def refused(path):
    with pytest.raises(ProjectError) as caught:
        load_project(path)
    sentence = str(caught.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert len(sentence) < 700
    return sentence


STROKE = '"strokes": [{"points": [[%s, 1]], "radius": %s, "class": %s, "pressures": [%s]}]'


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (("1e999", "3", "0", "1"), "points: wanted a number, got inf"),
        (("1", "9" * 400, "0", "1"), "radius: wanted a number, got a number of about 401 digits"),
        (("1", "1e308", "0", "1"), "radius: wanted a positive number up to 1000000, got 1e+308"),
        (("1", "3", "0", "1e300"), "pressures: wanted finite numbers from 0 to 100, got 1e+300"),
        (("1", "3", "1e999", "1"), "class: wanted a whole number, got inf"),
        (("NaN", "3", "0", "1"), "wanted finite numbers, got NaN"),
        (("1", "3", "NaN", "1"), "wanted finite numbers, got NaN"),
        (("1", "3", '"x"', "1"), "class: wanted a whole number, got 'x'"),
        (("null", "3", "0", "1"), "points: wanted a number, got None"),
    ],
)
def test_projects_with_huge_numbers_give_a_sentence_that_names_the_field(
    tmp_path, content, values, sentence
):
    del content["strokes"]
    text = json.dumps(content)[:-1] + ", " + STROKE % values + "}"
    assert sentence in refused(packed(tmp_path / "h.segapp", text))


def test_a_project_with_forty_thousand_classes_is_refused(tmp_path, content):
    content["classes"] = content["classes"] * 20_000
    path = packed(tmp_path / "h.segapp", json.dumps(content))
    assert "classes: wanted 2 to 255, got 40000" in refused(path)


def test_all_classes_that_there_may_be_come_back(tmp_path):
    classes = tuple(ClassInfo(str(k), (k, k, k)) for k in range(255))
    document = Document(classes, (Stroke(((1.0, 2.0),), 3.0, 254),))
    project = Project(document, Settings(), tmp_path / "a.png", "")
    save_project(tmp_path / "p.segapp", project)
    assert load_project(tmp_path / "p.segapp") == project


@pytest.mark.parametrize(
    "change", [{"classes": 3}, {"image": 3}, {"settings": []}, {"strokes": 0}]
)
def test_other_types_give_a_sentence_that_names_the_field(tmp_path, content, change):
    path = packed(tmp_path / "h.segapp", json.dumps(content | change))
    assert f"damaged: {next(iter(change))}: wanted " in refused(path)


def test_a_project_nested_too_deeply_is_refused(tmp_path, content):
    content["settings"] = "HERE"
    deep = "[" * 100_000 + "]" * 100_000
    path = packed(tmp_path / "h.segapp", json.dumps(content).replace('"HERE"', deep))
    assert "nested too deeply" in refused(path)


def bomb(path, name, piece, megabytes):
    """Pack megabytes of one piece, without ever holding them."""
    block = (piece * (1 << 20))[: 1 << 20]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        if name != "project.json":
            archive.writestr("project.json", "{}")
        with archive.open(name, "w") as part:
            for _ in range(megabytes):
                part.write(block)
    return path


@pytest.mark.parametrize(
    ("name", "piece", "sentence"),
    [
        ("project.json", b"{},", "project.json unpacks to more than the 128 MB it may hold"),
        ("model", b"\0", "model unpacks to more than the 128 MB it may hold"),
    ],
)
def test_a_project_that_unpacks_to_far_more_than_it_may_hold_is_refused(
    tmp_path, name, piece, sentence
):
    path = bomb(tmp_path / "bomb.segapp", name, piece, 300)
    tracemalloc.start()
    try:
        assert sentence in refused(path)
        assert tracemalloc.get_traced_memory()[1] < 300 << 20
    finally:
        tracemalloc.stop()


def test_many_small_values_are_refused_before_they_are_parsed(tmp_path):
    path = bomb(tmp_path / "bomb.segapp", "project.json", b"[{},{},{},{}],", 60)
    tracemalloc.start()
    try:
        assert "wanted at most 256 MB of values" in refused(path)
        assert tracemalloc.get_traced_memory()[1] < 150 << 20
    finally:
        tracemalloc.stop()


def test_the_size_that_an_archive_claims_is_no_matter(tmp_path):
    path = bomb(tmp_path / "bomb.segapp", "model", b"\0", 200)
    data = path.read_bytes()
    size = (200 << 20).to_bytes(4, "little")
    assert size in data
    path.write_bytes(data.replace(size, (5).to_bytes(4, "little")))
    refused(path)


def test_parts_packed_in_other_ways_are_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.segapp", "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("project.json", "{}")
    assert "packed in an unknown way" in refused(tmp_path / "x.segapp")


def test_a_project_that_could_not_be_opened_again_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr(project_file, "_LARGEST_CONTENT", 100)
    project = Project(Document(), Settings(), tmp_path / "a.png", "")
    with pytest.raises(OSError, match="could not be opened again"):
        save_project(tmp_path / "p.segapp", project)
    assert not (tmp_path / "p.segapp").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="other names")
def test_a_project_may_name_an_image_that_no_system_can_have(tmp_path, content):
    content["image"]["relative"] = "x" * 5000
    content["image"]["absolute"] = ""
    path = packed(tmp_path / "h.segapp", json.dumps(content))
    assert load_project(path).image_path.name == "x" * 5000


def test_an_encrypted_part_and_a_wrong_checksum_give_a_sentence(tmp_path, content):
    path = packed(tmp_path / "h.segapp", json.dumps(content))
    data = bytearray(path.read_bytes())
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        checksum = archive.getinfo("project.json").CRC.to_bytes(4, "little")
    path.write_bytes(data.replace(checksum, b"\1\2\3\4"))
    assert "Bad CRC-32" in refused(path)
    for start in (6, data.index(b"PK\1\2") + 8):
        data[start] |= 1
    path.write_bytes(data)
    assert "encrypted" in refused(path)
