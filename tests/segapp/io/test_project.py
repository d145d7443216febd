import io
import json
import os
import shutil
import sys
import tracemalloc
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from PIL import Image

from segapp.io import project as project_file
from segapp.io.images import load_image
from segapp.io.project import Project, ProjectError, load_project, save_project
from segapp.model.answer import AnswerSnapshot
from segapp.model.classes import ClassInfo, ObjectInfo
from segapp.model.document import Document, Patch, Stroke
from segapp.model.settings import PRESETS, Settings, with_encoder
from tests.segapp.strategies import documents


@pytest.fixture
def folder(tmp_path):
    """A folder with a picture and a project that have difficult names."""
    home = tmp_path / "été 中 1"
    (home / "pictures").mkdir(parents=True)
    image = home / "pictures" / "sonne é 太阳 .png"
    Image.new("RGB", (40, 30), "red").save(image)
    document = Document().with_stroke(Stroke(((1.25, 2.5), (7.0, 9.1)), 3.3, 1, (0.5, 1.0)))
    document = document.with_class(ClassInfo("naïve 類", (1, 2, 3)))
    project = Project(
        document, PRESETS["paper"], image, load_image(image).sha256, b"\0model \xff bytes"
    )
    save_project(home / "pröject 1.segapp", project)
    return home, project


def test_a_project_comes_back(folder):
    home, project = folder
    assert load_project(home / "pröject 1.segapp") == project


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(document=documents())
def test_every_document_comes_back_exactly(tmp_path, document):
    project = Project(document, Settings(), tmp_path / "a.png", "ab")
    save_project(tmp_path / "p.segapp", project)
    assert load_project(tmp_path / "p.segapp") == project


def test_the_same_project_gives_the_same_bytes(folder):
    home, project = folder
    save_project(home / "again.segapp", project)
    assert (home / "again.segapp").read_bytes() == (home / "pröject 1.segapp").read_bytes()


def test_it_opens_after_the_folder_was_moved(folder, tmp_path):
    home, project = folder
    moved = tmp_path / "elsewhere" / "deep"
    shutil.move(home, moved)
    loaded = load_project(moved / "pröject 1.segapp")
    assert loaded.image_path == moved / "pictures" / project.image_path.name
    assert load_image(loaded.image_path).sha256 == loaded.image_sha256


def test_it_opens_when_only_the_project_was_moved(folder, tmp_path):
    home, project = folder
    shutil.move(home / "pröject 1.segapp", tmp_path / "alone.segapp")
    assert load_project(tmp_path / "alone.segapp").image_path == project.image_path


def test_it_opens_when_the_picture_came_to_lie_beside_it(folder, tmp_path):
    home, project = folder
    shutil.move(project.image_path, home / project.image_path.name)
    assert load_project(home / "pröject 1.segapp").image_path == home / project.image_path.name


def test_a_missing_picture_is_still_named(folder):
    home, project = folder
    project.image_path.unlink()
    assert load_project(home / "pröject 1.segapp").image_path == project.image_path


def test_a_project_saved_by_a_relative_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Image.new("RGB", (4, 3)).save("a.png")
    save_project("p.segapp", Project(Document(), Settings(), Path("a.png"), "00"))
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    assert load_project(tmp_path / "p.segapp").image_path == tmp_path / "a.png"


def rewritten(path, change):
    """Change the JSON inside a project file."""
    with zipfile.ZipFile(path) as archive:
        content = json.loads(archive.read("project.json"))
    content = change(content) or content
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("project.json", json.dumps(content))
    return path


def test_a_newer_version_is_refused(folder):
    home, _ = folder
    path = rewritten(home / "pröject 1.segapp", lambda c: c.update(version=99))
    with pytest.raises(ProjectError, match=r"newer version \(format 99, .* up to 6\): update"):
        load_project(path)


def test_objects_are_nothing_that_older_programs_could_drop(tmp_path):
    plain = Document().with_stroke(Stroke(((1.0, 2.0),), 3.0, 0))
    numbered = Document().with_stroke(Stroke(((1.0, 2.0),), 3.0, 0, object_number=2))
    split = Document((replace(plain.classes[0], split=True), plain.classes[1]))
    named = plain.with_object(ObjectInfo(0, 2, "left cell", occluded=True, anchors=((1.5, 2.5),)))
    cut = replace(plain, cuts=(Stroke(((0.0, 1.0), (9.0, 1.0)), 0.5, None),))
    for document, version in ((plain, 1), (numbered, 5), (split, 5), (named, 5), (cut, 5)):
        path = tmp_path / "p.segapp"
        save_project(path, Project(document, Settings(), tmp_path / "a.png", "ab"))
        with zipfile.ZipFile(path) as archive:
            assert json.loads(archive.read("project.json"))["version"] == version
        assert load_project(path).document == document


def test_an_encoder_is_nothing_that_older_programs_could_drop(folder):
    home, project = folder
    path = home / "with an encoder.segapp"
    for digest, version in (("ab" * 32, 4), ("", 1)):
        chosen = with_encoder(project.settings, digest)
        save_project(path, replace(project, settings=chosen))
        assert load_project(path).settings == chosen
        with zipfile.ZipFile(path) as archive:
            assert json.loads(archive.read("project.json"))["version"] == version


def test_an_older_version_opens(folder, monkeypatch):
    """One that knew neither settings, nor the absolute path, nor the image's hash."""
    home, project = folder

    def older(content):
        del content["settings"], content["image"]["absolute"], content["image"]["sha256"]

    path = rewritten(home / "pröject 1.segapp", older)
    monkeypatch.setattr(project_file, "VERSION", 5)
    loaded = load_project(path)
    assert loaded.document == project.document
    assert loaded.settings == Settings()
    assert loaded.image_path == project.image_path
    assert loaded.model is None


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda c: c.update(format="other"), "is not a project"),
        (lambda c: c.pop("version"), "is damaged: 'version' is missing"),
        (lambda c: c.pop("image"), "is damaged: 'image' is missing"),
        (lambda c: c.update(image={}), "names no image"),
        (lambda c: c.update(version="one"), "is damaged"),
        (lambda c: c.update(classes=[]), "damaged: classes: wanted 2 to 255, got 0"),
        (lambda c: c["classes"][0].update(colour=[1, 2]), "is damaged"),
        (
            lambda c: c["classes"][0].update(colour=[1, 2, 999]),
            "colour: wanted a whole number from 0 to 255, got 999",
        ),
        (
            lambda c: c["strokes"][0].update({"class": 9}),
            "label: wanted a class from 0 to 2, got 9",
        ),
        (lambda c: c["strokes"][0].update(points=[]), "at least one point"),
        (lambda c: c["strokes"][0].update(points=7), "is damaged"),
        (lambda c: c["strokes"][0].update(patch=[0, 0, 2, 2], bits="!"), "a patch's bits"),
        (lambda c: c["settings"].update(bits="x"), "bits: wanted a whole number"),
        (lambda c: [c], "is damaged"),
    ],
)
def test_damage_inside_gives_a_sentence(folder, change, sentence):
    home, _ = folder
    path = rewritten(home / "pröject 1.segapp", change_in_place(change))
    with pytest.raises(ProjectError, match=sentence):
        load_project(path)


def change_in_place(change):
    return lambda content: result if isinstance(result := change(content), list) else None


def test_damaged_files_give_a_sentence(folder):
    home, _ = folder
    path = home / "pröject 1.segapp"
    whole = path.read_bytes()
    for cut in range(0, len(whole) - 1, 37):
        path.write_bytes(whole[:cut])
        with pytest.raises(ProjectError, match=r"\.$"):
            load_project(path)
    hurt = bytearray(whole)
    for place in range(60, 200):
        hurt[place] ^= 0x55
    path.write_bytes(hurt)
    with pytest.raises(ProjectError):
        load_project(path)


def test_other_files_give_a_sentence(tmp_path):
    with pytest.raises(ProjectError, match="There is no file"):
        load_project(tmp_path / "none.segapp")
    with pytest.raises(ProjectError, match="is a folder"):
        load_project(tmp_path)
    (tmp_path / "text.segapp").write_text("hello")
    with pytest.raises(ProjectError, match=r"text\.segapp is damaged or not a project"):
        load_project(tmp_path / "text.segapp")
    with zipfile.ZipFile(tmp_path / "zip.segapp", "w") as archive:
        archive.writestr("letter.txt", "hello")
    with pytest.raises(ProjectError, match=r"zip\.segapp is not a project"):
        load_project(tmp_path / "zip.segapp")


def test_a_failed_save_leaves_the_old_project(folder, monkeypatch):
    home, project = folder

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        save_project(home / "pröject 1.segapp", project)
    assert load_project(home / "pröject 1.segapp") == project
    assert not [name for name in os.listdir(home) if name.startswith(".")]


CARRIED = AnswerSnapshot("0f" * 32, 3, bytes(range(255)), b"outline")


@pytest.fixture
def carrying(folder):
    """A project that carries an answer."""
    home, project = folder
    path = home / "carrying.segapp"
    save_project(path, replace(project, answer=CARRIED))
    return path, project


def test_a_carried_answer_comes_back(carrying):
    path, project = carrying
    assert load_project(path) == replace(project, answer=CARRIED)


def test_a_program_that_knows_no_answers_opens_the_project(carrying):
    """It looks at the parts that it knows, and at no other key."""
    path, _ = carrying
    with zipfile.ZipFile(path) as archive:
        content = json.loads(archive.read("project.json"))
        assert archive.namelist() == ["project.json", "model", "answer", "outline"]
    assert content["version"] == 1
    assert set(content) - {"answer"} == {
        "format",
        "version",
        "image",
        "classes",
        "strokes",
        "settings",
    }


def with_answer(path, told, part, outline=b""):
    """Write another answer into a project."""
    with zipfile.ZipFile(path) as archive:
        content = json.loads(archive.read("project.json"))
        model = archive.read("model")
    content["answer"] = told
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("project.json", json.dumps(content))
        archive.writestr("model", model)
        if part is not None:
            archive.writestr("answer", part)
            archive.writestr("outline", outline)


TOLD = {"digest": "0f" * 32, "classes": 3}


@pytest.mark.parametrize(
    ("told", "part"),
    [
        (None, bytes(6)),
        (TOLD, None),
        (7, bytes(6)),
        ([], bytes(6)),
        ({}, bytes(6)),
        (TOLD | {"digest": 3}, bytes(6)),
        (TOLD | {"digest": "0f"}, bytes(6)),
        (TOLD | {"digest": "0f" * 10**6}, bytes(6)),
        (TOLD | {"classes": "three"}, bytes(6)),
        (TOLD | {"classes": 1e300}, bytes(6)),
        (TOLD | {"classes": 10**400}, bytes(6)),
        (TOLD | {"classes": 256}, bytes(256)),
        (TOLD | {"classes": -3}, bytes(6)),
        (TOLD, b""),
        (TOLD, bytes(7)),
        (TOLD, bytes(3 * (1 << 16) + 3)),
        (TOLD, bytes(300 << 20)),
    ],
)
def test_a_damaged_answer_costs_no_stroke(carrying, told, part):
    path, project = carrying
    with_answer(path, told, part)
    assert load_project(path) == project


def test_an_outline_that_is_too_large_costs_no_stroke(carrying):
    path, project = carrying
    with_answer(path, TOLD, bytes(6), bytes(4 << 20))
    assert load_project(path).answer is not None
    with_answer(path, TOLD, bytes(6), bytes((4 << 20) + 1))
    assert load_project(path) == project


def test_an_answer_with_a_wrong_checksum_costs_no_stroke(carrying):
    path, project = carrying
    data = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        checksum = archive.getinfo("answer").CRC.to_bytes(4, "little")
    path.write_bytes(data.replace(checksum, b"\1\2\3\4"))
    assert load_project(path) == project


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
