import csv
import io
import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import tifffile
from PIL import Image, ImageDraw
from pycocotools import mask as reference
from pycocotools.coco import COCO

from segapp.imaging.objects import find_objects
from segapp.io.export.formats import DEFAULT_EXPORT, FORMATS, ExportChoices, formats
from segapp.model.classes import TWO_CLASSES, ClassInfo
from segapp.model.document import Document, Stroke
from segapp.model.labelling import Insight, Labelling
from segapp.model.picture import Picture, RawImage, Scale

# pycocotools 2.0.11 has not followed NumPy 2 in this.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

RNG = np.random.default_rng(5)
SIZE = (40, 50)
FOUR = tuple(
    ClassInfo(name, colour)
    for name, colour in (
        ("leaf", (10, 200, 30)),
        ("background", (0, 0, 0)),
        ("é/中:?", (200, 10, 90)),
        ("none", (90, 90, 250)),
    )
)


HARD = ExportChoices(edge=0.0)


def labelling(labels, n_classes=4):
    margin = RNG.random(labels.shape).astype(np.float32) * 3
    codes = RNG.integers(0, 32, labels.shape).astype(np.uint32)
    return Labelling(labels.astype(np.uint8), margin, codes, n_classes, 5)


def picture(alpha=None):
    rgb = RNG.integers(0, 256, (*SIZE, 3), dtype=np.uint8)
    return Picture(rgb, alpha, Path("pictures") / "sun 中.jpg", "0" * 64, "")


@pytest.fixture
def parts():
    """Three of four classes, with a hole and a part in the hole."""
    labels = np.ones(SIZE, int)
    labels[5:35, 5:30] = 0
    labels[10:25, 10:25] = 1
    labels[14:20, 14:20] = 0
    labels[2:8, 40:48] = 2
    return labels


def write(name, tmp_path, answer, document=None, shown=None, choices=DEFAULT_EXPORT):
    form = formats(choices)[name]
    path = tmp_path / f"out é{form.suffix}"
    written = form.write(
        path, answer, document or Document(FOUR), shown if shown is not None else picture()
    )
    assert sorted(p.name for p in written) == sorted(os.listdir(tmp_path))
    return written


def test_mask(tmp_path, parts):
    (path,) = write("mask", tmp_path, labelling(parts))
    with Image.open(path) as image:
        assert image.mode == "L"
        assert (np.array(image) == np.where(parts != 1, 255, 0)).all()


@pytest.mark.parametrize("ground", range(4))
@pytest.mark.parametrize("name", ["mask", "alpha", "cutout"])
def test_objects_are_all_but_the_background_wherever_that_is(tmp_path, name, ground):
    labels = RNG.integers(0, 4, SIZE)
    classes = [ClassInfo(f"thing {k}", (k, k, k)) for k in range(4)]
    classes[ground] = ClassInfo("Background", (9, 9, 9))
    (path,) = write(name, tmp_path, labelling(labels), Document(tuple(classes)), choices=HARD)
    with Image.open(path) as image:
        seen = np.array(image)
    assert ((seen if seen.ndim == 2 else seen[..., 3]) == np.where(labels != ground, 255, 0)).all()


def test_one_class_alone_can_be_chosen_and_a_wrong_name_is_reported(tmp_path, parts):
    choices = replace(HARD, only="é/中:?")
    (path,) = write("mask", tmp_path, labelling(parts), choices=choices)
    with Image.open(path) as image:
        assert (np.array(image) == np.where(parts == 2, 255, 0)).all()
    with pytest.raises(ValueError, match=r"class: wanted one of 'leaf', .* got 'cat'"):
        formats(replace(HARD, only="cat"))["cutout"].write(
            path, labelling(parts), Document(FOUR), picture()
        )


def test_files_of_object_and_background_are_what_they_always_were(tmp_path):
    labels = RNG.integers(0, 2, SIZE)
    for classes in (TWO_CLASSES, tuple(ClassInfo(name, (1, 2, 3)) for name in ("cat", "rest"))):
        (path,) = write("mask", tmp_path, labelling(labels, 2), Document(classes))
        expected = io.BytesIO()
        Image.fromarray(np.where(labels == 0, 255, 0).astype(np.uint8)).save(expected, "PNG")
        with Image.open(path) as image, Image.open(expected) as first:
            assert (np.array(image) == np.array(first)).all()
        assert path.read_bytes() == expected.getvalue()


def test_measures_are_in_the_instruments_own_numbers(tmp_path, parts):
    values = RNG.integers(100, 60000, (*SIZE, 5), dtype=np.uint16)
    shown = replace(picture(), raw=RawImage(values))
    (path,) = write("measures", tmp_path, labelling(parts), shown=shown)
    with path.open(newline="", encoding="utf-8") as file:
        rows = {row["class"]: row for row in csv.DictReader(file) if row["object"] == "all"}
    names = ["mean_red", "mean_green", "mean_blue", "mean_channel_4", "mean_channel_5"]
    means = [float(rows["leaf"][name]) for name in names]
    np.testing.assert_allclose(means, values[parts == 0].mean(axis=0), atol=1e-3)
    assert rows["none"]["mean_channel_5"] == ""  # no pixel, no mean
    alone = replace(shown, raw=RawImage(values[..., :2] / 1e6, separate_channels=True))
    path.unlink()
    write("measures", tmp_path, labelling(parts), shown=alone)
    with path.open(newline="", encoding="utf-8") as file:
        row = next(csv.DictReader(file))
    np.testing.assert_allclose(
        [float(row["mean_channel_1"]), float(row["mean_channel_2"])],
        values[parts == 0][:, :2].mean(axis=0) / 1e6,
        rtol=1e-4,
    )


def test_indexed(tmp_path, parts):
    (path,) = write("indexed", tmp_path, labelling(parts))
    with Image.open(path) as image:
        assert image.mode == "P"
        assert (np.array(image) == np.array([1, 0, 2, 3])[parts]).all()  # the background is 0
        colours = np.array([info.colour for info in FOUR])
        assert (np.array(image.convert("RGB")) == colours[parts]).all()


def test_one_file_a_class(tmp_path, parts):
    written = write("classes", tmp_path, labelling(parts))
    assert [p.name for p in written] == [
        "out é-leaf.png",
        "out é-background.png",
        "out é-é_中_.png",
        "out é-none.png",
    ]
    for index, path in enumerate(written):
        with Image.open(path) as image:
            assert (np.array(image) == np.where(parts == index, 255, 0)).all()


def test_classes_with_the_same_name_get_files_of_their_own(tmp_path, parts):
    twins = tuple(ClassInfo(name, (1, 2, 3)) for name in ("A", "a", "", "..."))
    assert len(set(write("classes", tmp_path, labelling(parts), Document(twins)))) == 4


def test_cutout(tmp_path, parts):
    shown = picture()
    (path,) = write("cutout", tmp_path, labelling(parts), shown=shown, choices=HARD)
    with Image.open(path) as image:
        assert image.mode == "RGBA"
        rgba = np.array(image)
    assert (rgba[:, :, 3] == np.where(parts != 1, 255, 0)).all()
    assert (rgba[parts != 1, :3] == shown.rgb[parts != 1]).all()
    assert (rgba[parts == 1] == 0).all()


def test_a_cutout_keeps_the_pictures_transparency(tmp_path, parts):
    """Laid on white, the cut-out looks like the picture."""
    alpha = RNG.integers(0, 256, SIZE, dtype=np.uint8)
    straight = RNG.integers(0, 256, (*SIZE, 3)).astype(float)
    opacity = alpha[:, :, np.newaxis] / 255
    rgb = np.rint(straight * opacity + 255 * (1 - opacity)).astype(np.uint8)
    shown = Picture(rgb, alpha, Path("a.png"), "", "")
    (path,) = write("cutout", tmp_path, labelling(parts), shown=shown, choices=HARD)
    with Image.open(path) as image:
        rgba = np.array(image)
    inside = parts == 0
    assert (rgba[inside, 3] == alpha[inside]).all()
    white = Image.new("RGBA", (SIZE[1], SIZE[0]), "white")
    seen = np.array(Image.alpha_composite(white, Image.fromarray(rgba)))[:, :, :3]
    assert np.abs(seen[inside].astype(int) - rgb[inside]).max() <= 1


def blurred_disc():
    """Return a disc whose edge is blurred, and how much of each pixel it is."""
    y, x = np.mgrid[: SIZE[0], : SIZE[1]]
    share = np.clip((14 - np.hypot(x - 25, y - 20)) / 4 + 0.5, 0, 1)[:, :, np.newaxis]
    rgb = np.rint(share * [220, 120, 30] + (1 - share) * [30, 120, 200]).astype(np.uint8)
    return Picture(rgb, None, Path("disc.png"), "", ""), share[:, :, 0]


def test_a_soft_cutout_carries_nothing_of_the_old_ground(tmp_path):
    shown, share = blurred_disc()
    answer = labelling(np.where(share > 0.5, 0, 1), 2)
    (path,) = write("cutout", tmp_path, answer, Document(), shown)
    with Image.open(path) as image:
        rgba = np.array(image).astype(int)
    assert np.abs(rgba[:, :, 3] - 255 * share).max() < 26
    seen = rgba[:, :, 3] > 25
    assert np.abs(rgba[seen][:, :3] - [220, 120, 30]).max() < 26


def test_alpha_is_that_of_the_cutout(tmp_path):
    shown, share = blurred_disc()
    answer = labelling(np.where(share > 0.5, 0, 1), 2)
    for name in ("alpha", "cutout"):
        (tmp_path / name).mkdir()
        write(name, tmp_path / name, answer, Document(), shown, ExportChoices(edge=4.0))
    with Image.open(tmp_path / "alpha" / "out é.png") as image:
        assert image.mode == "L"
        alpha = np.array(image)
    with Image.open(tmp_path / "cutout" / "out é.png") as image:
        assert (np.array(image)[:, :, 3] == alpha).all()


def test_measures(tmp_path, parts):
    shown = picture()
    choices = ExportChoices(scale=Scale(0.5, "µm"))
    (path,) = write("measures", tmp_path, labelling(parts), shown=shown, choices=choices)
    table = pd.read_csv(path)
    assert list(table["class"].unique()) == ["leaf", "é/中:?", "none"]  # not the background
    leaf = table[(table["class"] == "leaf") & (table["object"] == "all")].iloc[0]
    assert leaf["objects"] == 2
    assert leaf["area_px"] == (parts == 0).sum()
    assert leaf["area_µm2"] == (parts == 0).sum() / 4
    assert leaf["mean_green"] == pytest.approx(shown.rgb[parts == 0, 1].mean(), abs=1e-3)
    y, x = np.nonzero(parts == 0)
    assert leaf["x"] == pytest.approx(x.mean() + 0.5, abs=0.01)
    assert leaf["y"] == pytest.approx(y.mean() + 0.5, abs=0.01)
    assert leaf["x_µm"] == pytest.approx((x.mean() + 0.5) / 2, rel=1e-5)
    assert leaf["sd_green"] == pytest.approx(shown.rgb[parts == 0, 1].std(), abs=1e-3)
    assert leaf["integrated_green"] == shown.rgb[parts == 0, 1].sum(dtype=int)
    inner = table[(table["class"] == "leaf") & (table["object"] == "2")].iloc[0]
    assert inner[["left", "top", "width", "height"]].tolist() == [14, 14, 6, 6]
    assert table[table["class"] == "none"].iloc[0]["area_px"] == 0


def test_a_class_named_like_a_formula_is_text_in_measures(tmp_path, parts):
    names = tuple(ClassInfo(name, (1, 2, 3)) for name in ("=1+1", "background", "@SUM(1)", "d"))
    (path,) = write("measures", tmp_path, labelling(parts), Document(names))
    assert {line[0] for line in path.read_text("utf-8").splitlines()} == {"c", "'", "d"}


@pytest.mark.parametrize("name", ["coco-rle", "coco-polygons"])
def test_coco(tmp_path, parts, name, capsys):
    (path,) = write(name, tmp_path, labelling(parts))
    coco = COCO(str(path))
    (image,) = coco.loadImgs(coco.getImgIds())
    assert (image["file_name"], image["height"], image["width"]) == ("sun 中.jpg", *SIZE)
    assert [c["name"] for c in coco.loadCats(coco.getCatIds())] == [c.name for c in FOUR]
    annotations = coco.loadAnns(coco.getAnnIds())
    assert [a["category_id"] for a in annotations] == [1, 1, 3]  # no background, none empty
    assert [a["attributes"]["object"] for a in annotations] == [1, 2, 1]
    found = find_objects(parts.astype(np.uint8), Document(FOUR))
    for annotation, key in zip(annotations, found.keys, strict=True):
        mask = found.pixels(key)
        assert (coco.annToMask(annotation) == mask).all()
        assert annotation["area"] == mask.sum()
        assert annotation["bbox"] == reference.toBbox(coco.annToRLE(annotation)).tolist()


@pytest.mark.parametrize("name", ["coco-rle", "coco-polygons"])
def test_coco_of_nothing(tmp_path, name, capsys):
    (path,) = write(name, tmp_path, labelling(np.ones(SIZE)))
    assert COCO(str(path)).getAnnIds() == []


def test_labelme(tmp_path, parts):
    (path,) = write("labelme", tmp_path, labelling(parts))
    content = json.loads(path.read_text(encoding="utf-8"))
    assert (content["imageHeight"], content["imageWidth"]) == SIZE
    assert (tmp_path / content["imagePath"]).resolve() == Path("pictures/sun 中.jpg").resolve()
    assert content["imageData"] is None
    assert [shape["label"] for shape in content["shapes"]] == ["leaf", "leaf", "é/中:?"]
    # Pillow fills by the even-odd rule; eight times larger, its thick edges do not matter.
    for index, label in ((0, "leaf"), (2, "é/中:?")):
        canvas = np.zeros(SIZE, int)
        for shape in content["shapes"]:
            assert shape["shape_type"] == "polygon"
            if shape["label"] == label:
                image = Image.new("1", (SIZE[1] * 8, SIZE[0] * 8))
                points = [(x * 8, y * 8) for x, y in shape["points"]]
                ImageDraw.Draw(image).polygon(points, fill=1)
                canvas += np.array(image)[4::8, 4::8]
        assert (canvas == (parts == index)).all()


@pytest.mark.parametrize("name", ["confidence", "confidence-tiff"])
def test_confidence(tmp_path, parts, name):
    answer = labelling(parts)
    (path,) = write(name, tmp_path, answer)
    if name == "confidence":
        with Image.open(path) as image:
            assert image.mode == "I;16"
            values, note = np.array(image), image.text["Description"]
    else:
        with tifffile.TiffFile(path) as tiff:
            values, note = tiff.asarray(), tiff.pages[0].description
    assert values.dtype == np.uint16
    largest = float(note.removeprefix("margin; 65535 = "))
    assert np.allclose(values * (largest / 65535), answer.margin, atol=largest / 65535)
    assert values.max() == 65535


def test_no_confidence_at_all(tmp_path, parts):
    answer = Labelling(
        parts.astype(np.uint8), np.zeros(SIZE, np.float32), np.zeros(SIZE, np.uint32), 4, 5
    )
    (path,) = write("confidence", tmp_path, answer)
    with Image.open(path) as image:
        assert not np.array(image).any()


def test_numpy(tmp_path, parts):
    answer = labelling(parts)
    (path,) = write("numpy", tmp_path, answer)
    with np.load(path, allow_pickle=False) as arrays:
        assert (arrays["labels"] == answer.labels).all()
        assert (arrays["margin"] == answer.margin).all()
        assert (arrays["codes"] == answer.codes).all()
        assert arrays["classes"].tolist() == [info.name for info in FOUR]
        found = find_objects(answer.labels, Document(FOUR))
        assert (arrays["objects"] == found.index_map).all()
        assert [tuple(key) for key in arrays["object_keys"].tolist()] == list(found.keys)
        assert "codewords" not in arrays
    insight = Insight(
        ("colour, sigma 0.5", "position, sigma 1"),
        np.array([[0.75, 0.25], [0.5, 0.5]]),
        np.array([[[1, 1]], [[-1, 1]], [[1, -1]], [[-1, -1]]], np.int8),
        (2.0, 1.0),
        {},
    )
    (path,) = write("numpy", tmp_path, replace(answer, make_insight=lambda: insight))
    with np.load(path, allow_pickle=False) as arrays:
        assert (arrays["codewords"] == insight.codewords).all()
        assert (arrays["kernel_weights"] == insight.kernel_weights).all()
        assert tuple(arrays["kernels"]) == insight.kernels


def test_strokes(tmp_path, parts):
    document = Document(FOUR).with_stroke(Stroke(((10.5, 10.5),), 3.0, 2))
    (path,) = write("strokes", tmp_path, labelling(parts), document)
    with Image.open(path) as image:
        values = np.array(image)
        assert image.mode == "P"
        assert image.convert("RGB").getpixel((10, 10)) == FOUR[2].colour
    y, x = np.mgrid[: SIZE[0], : SIZE[1]]
    assert (values == 3 * (np.hypot(x - 10, y - 10) <= 3)).all()


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("value", [0, 1])
def test_one_class_everywhere_is_a_normal_case(tmp_path, name, value):
    answer = labelling(np.full(SIZE, value), 2)
    for path in write(name, tmp_path, answer, Document()):
        assert path.stat().st_size > 0


@pytest.mark.parametrize("name", FORMATS)
def test_a_failed_export_leaves_the_old_file(tmp_path, name, parts, monkeypatch):
    written = write(name, tmp_path, labelling(parts))
    before = {path: path.read_bytes() for path in written}

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        write(name, tmp_path, labelling(np.zeros(SIZE)))
    assert {p: p.read_bytes() for p in tmp_path.iterdir()} == before


def test_the_table_speaks_plainly():
    for name, entry in FORMATS.items():
        assert entry.name == name
        assert entry.suffix.startswith(".")
        assert entry.values.endswith(".")
