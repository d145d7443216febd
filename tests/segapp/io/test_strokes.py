import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from segapp.imaging.rasterise import rasterize
from segapp.io.export.rasters import write_strokes_png
from segapp.io.masks import add_strokes, load_strokes
from segapp.io.pages import ImageError
from segapp.io.project import Project, save_project
from segapp.model.classes import TWO_CLASSES, ClassInfo
from segapp.model.display import DisplaySettings
from segapp.model.document import Document, Stroke
from segapp.model.labelling import Labelling
from segapp.model.picture import Picture
from segapp.model.settings import Settings
from segapp.model.validation import SegappError
from tests.segapp.strategies import documents

SIZE = (25, 30)


def write(path, document):
    nothing = np.zeros(SIZE, np.uint8)
    answer = Labelling(nothing, nothing.astype(np.float32), nothing.astype(np.uint32), 2, 1)
    shown = Picture(np.zeros((*SIZE, 3), np.uint8), None, Path("a.png"), "", "")
    write_strokes_png(path, answer, document, shown)


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(document=documents())
def test_strokes_as_a_picture_mark_the_same_pixels(tmp_path, document):
    write(tmp_path / "s.png", document)
    read = load_strokes(tmp_path / "s.png", SIZE).document
    assert read.classes == document.classes
    assert (rasterize(read, SIZE) == rasterize(document, SIZE)).all()


def test_a_project_gives_its_document(tmp_path):
    document = Document().with_stroke(Stroke(((3.0, 4.0),), 2.0, 1))
    save_project(tmp_path / "p.segapp", Project(document, Settings(), tmp_path / "a.png", ""))
    assert load_strokes(tmp_path / "p.segapp", SIZE).document == document


def palette_png(path, values):
    image = Image.fromarray(values.astype(np.uint8), mode="L")
    image.putpalette([0, 0, 0, 255, 255, 207, 219, 0, 0] * 80)
    image.save(path)


@pytest.mark.parametrize("kind", ["palette", "grey"])
def test_foreign_pictures_have_the_usual_classes(tmp_path, kind):
    values = np.zeros(SIZE, np.uint8)
    values[2:4, 5:9], values[20:24, 5:9] = 1, 2
    if kind == "palette":
        palette_png(tmp_path / "s.png", values)
    else:
        Image.fromarray(values).save(tmp_path / "s.png")
    document = load_strokes(tmp_path / "s.png", SIZE).document
    assert document.classes == TWO_CLASSES
    assert (rasterize(document, SIZE) == values.astype(int) - 1).all()


def test_a_foreign_picture_with_more_classes(tmp_path):
    values = np.zeros(SIZE, np.uint8)
    values[2:4, 5:9], values[20:24, 5:9] = 1, 4
    palette_png(tmp_path / "s.png", values)
    document = load_strokes(tmp_path / "s.png", SIZE).document
    assert [info.name for info in document.classes[2:]] == ["class 3", "class 4"]
    assert len({info.colour for info in document.classes}) == 4
    assert (rasterize(document, SIZE) == values.astype(int) - 1).all()


def test_no_strokes_at_all(tmp_path):
    palette_png(tmp_path / "s.png", np.zeros(SIZE))
    assert load_strokes(tmp_path / "s.png", SIZE).document == Document()


def test_images_that_cannot_be_strokes_give_a_sentence(tmp_path):
    Image.fromarray(np.full(SIZE, 255, np.uint8)).save(tmp_path / "mask.png")
    with pytest.raises(ValueError, match=r"wanted 0 for unmarked pixels .* got 255"):
        load_strokes(tmp_path / "mask.png", SIZE)
    with pytest.raises(ValueError, match="has 30 x 25 pixels: wanted the image's 7 x 9"):
        load_strokes(tmp_path / "mask.png", (9, 7))
    Image.new("RGB", (30, 25)).save(tmp_path / "colour.png")
    with pytest.raises(ImageError, match="wanted one channel"):
        load_strokes(tmp_path / "colour.png", SIZE)


def test_damaged_names_are_no_names(tmp_path):
    for text in ("{", "3", '["only one"]'):
        image = Image.fromarray(np.full(SIZE, 2, np.uint8), mode="L")
        image.putpalette([0, 0, 0, 1, 1, 1, 2, 2, 2])
        info = PngInfo()
        info.add_text("Classes", text)
        image.save(tmp_path / "s.png", pnginfo=info)
        assert load_strokes(tmp_path / "s.png", SIZE).document.classes == TWO_CLASSES


def named(path, values, text):
    image = Image.fromarray(np.asarray(values, np.uint8), mode="L")
    image.putpalette([k for k in range(256) for _ in range(3)])
    info = PngInfo()
    info.add_itxt("Classes", text)
    image.save(path, pnginfo=info)


def test_class_names_nested_too_deeply_are_no_names(tmp_path):
    values = np.full(SIZE, 2, np.uint8)
    for text in ("[" * 90_000, '["a", ["b"]]', '["a", "\\ud800"]', json.dumps(["x"] * 300)):
        named(tmp_path / "s.png", values, text)
        assert load_strokes(tmp_path / "s.png", SIZE).document.classes == TWO_CLASSES


def test_as_many_classes_as_there_may_be_come_back_from_a_picture(tmp_path):
    values = np.arange(SIZE[0] * SIZE[1]).reshape(SIZE) % 256
    names = [f"class {k}" for k in range(255)]
    named(tmp_path / "s.png", values, json.dumps(names))
    document = load_strokes(tmp_path / "s.png", SIZE).document
    assert [info.name for info in document.classes] == names
    assert (rasterize(document, SIZE) == values - 1).all()


def test_classes_without_a_colour_in_the_file_get_one_each(tmp_path):
    values = np.arange(SIZE[0] * SIZE[1], dtype=np.uint8).reshape(SIZE) % 41
    names = PngInfo()
    names.add_itxt("Classes", json.dumps([f"class {k}" for k in range(40)]))
    short = Image.fromarray(values, mode="L")
    short.putpalette([0, 0, 0, 250, 10, 10, 10, 10, 250])
    for kind, image in {"palette": short, "grey": Image.fromarray(values)}.items():
        image.save(tmp_path / f"{kind}.png", pnginfo=names)
        classes = load_strokes(tmp_path / f"{kind}.png", SIZE).document.classes
        assert [info.name for info in classes] == [f"class {k}" for k in range(40)]
        assert len({info.colour for info in classes}) == 40


def test_strokes_of_another_document_go_to_the_classes_of_their_names():
    dot = Stroke(((3.0, 4.0),), 2.0, 0)
    own = (ClassInfo("background", (9, 9, 9), background=True), ClassInfo("leaf", (1, 2, 3)))
    document = Document(own, (dot,))
    theirs = (
        ClassInfo("leaf", (5, 5, 5)),
        ClassInfo("bug", (1, 2, 3)),
        ClassInfo("soil", (0, 0, 9)),
    )
    other = Document(theirs, (dot, replace(dot, label=1)), display=DisplaySettings((1,)))
    added = add_strokes(document, other)
    assert [info.name for info in added.classes] == ["background", "leaf", "bug", "soil"]
    assert len({info.colour for info in added.classes}) == 4
    assert [mark.label for mark in added.strokes] == [0, 1, 2]
    assert (added.background, added.display) == (0, document.display)
    many = tuple(ClassInfo(f"c{number}", (number, 0, 0)) for number in range(255))
    with pytest.raises(SegappError, match="classes: wanted 2 to 255"):
        add_strokes(document, Document(many, (dot,)))
