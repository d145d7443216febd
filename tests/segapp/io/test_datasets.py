"""A folder as a data set, read back by COCO's own tools and by readers written to the formats."""

import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image
from pycocotools.coco import COCO
from scipy import ndimage

from segapp.imaging.components import component_at
from segapp.imaging.measures import measure_objects
from segapp.imaging.objects import find_objects
from segapp.io.class_list import ClassList
from segapp.io.export.datasets import (
    AnnotationScope,
    Categories,
    DatasetItem,
    ExportPlan,
    object_regions,
)
from segapp.io.export.formats import FOLDER_FORMATS, ExportChoices, folder_formats
from segapp.io.export.polygon_formats import PictureCopies, write_labelme
from segapp.model.classes import ClassInfo
from segapp.model.document import Document
from segapp.model.labelling import Labelling
from segapp.model.picture import Picture

# pycocotools 2.0.11 has not followed NumPy 2 in this.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
LEAF, SOIL = ClassInfo("leaf", (10, 200, 30)), ClassInfo("soil", (90, 60, 20), background=True)
STONE, BUG = ClassInfo("stone: é中", (120, 120, 130)), ClassInfo("bug", (230, 0, 40))
LISTING = ClassList((LEAF, SOIL, STONE), (4, 1, 2))
SIZE = (50, 70)


def blobs(seed, n_classes):
    """Labels with several parts, holes, and pixels that touch at corners only."""
    rng = np.random.default_rng(seed)
    smooth = [ndimage.gaussian_filter(rng.normal(size=SIZE), 2.5) for _ in range(n_classes)]
    labels = np.argmax(smooth, axis=0).astype(np.uint8)
    labels[5, 5], labels[6, 6] = 0, 0
    return labels


def item(name, seed, classes=LISTING.classes):
    labels = blobs(seed, len(classes))
    answer = Labelling(
        labels, np.ones(SIZE, np.float32), np.zeros(SIZE, np.uint32), len(classes), 4
    )
    picture = Picture(np.zeros((*SIZE, 3), np.uint8), None, Path("photos") / name, "0" * 64, "")
    return DatasetItem(Path(name).stem, answer, Document(classes), picture)


ITEMS = [item("a é.jpg", 1), item("b.png", 2), item("c.jpg", 3, (BUG, LEAF, SOIL))]


def plan_for(folder, per=AnnotationScope.PART):
    others = [each.document.classes for each in ITEMS]
    return ExportPlan(folder, Categories.of(LISTING, others), per)


def write(name, folder, per=AnnotationScope.PART, items=ITEMS):
    choices = ExportChoices(copies=PictureCopies.NONE)  # of pictures that are not there
    plan, form = plan_for(folder, per), folder_formats(choices)[name]
    return form.finish(plan, {each.name: form.add(plan, each) for each in items})


def count(mask):
    """Connected components with eight neighbours."""
    return ndimage.label(mask, structure=np.ones((3, 3)))[1]


def truth(each, category):
    """The pixels of a category by its name."""
    names = [info.name for info in each.document.classes]
    if category not in names:
        return np.zeros(SIZE, bool)
    return each.labelling.labels == names.index(category)


def test_categories_keep_the_lists_numbers_and_leave_the_background_out():
    categories = plan_for(Path()).categories
    assert [info.name for info in categories.classes] == ["leaf", "stone: é中", "bug"]
    assert categories.ids == (4, 2, 5)
    assert categories.index(SOIL) == 0


@pytest.mark.parametrize("per", AnnotationScope)
def test_parts_are_the_mask_and_connected(per):
    each = item("a.png", 7)
    parts = [region for info, region in each.regions(per) if info == LEAF]
    mask = each.labelling.labels == 0
    together = np.sum([part.whole(SIZE) for part in parts], axis=0)
    assert (together == mask).all()  # each pixel once
    if per is AnnotationScope.CLASS:
        assert len(parts) == 1
    else:
        assert len(parts) == count(mask) > 2
        assert all(count(part.mask) == 1 for part in parts)
    assert sum(part.area for part in parts) == mask.sum()


@pytest.mark.parametrize("per", AnnotationScope)
def test_a_class_without_pixels_has_no_parts(per):
    empty = replace(ITEMS[0].labelling, labels=np.ones(SIZE, np.uint8))
    assert not list(object_regions(empty, ITEMS[0].document, ITEMS[0].picture, per))


@pytest.mark.parametrize("per", AnnotationScope)
@pytest.mark.parametrize("name", ["coco-rle", "coco-polygons"])
def test_one_coco_file_is_read_back_by_its_own_tools(tmp_path, name, per, capsys):
    (path,) = write(name, tmp_path, per)
    coco = COCO(str(path))
    assert {each["name"]: each["id"] for each in coco.loadCats(coco.getCatIds())} == {
        "leaf": 4,
        "stone: é中": 2,
        "bug": 5,
    }
    by_name = {each.name: each for each in ITEMS}
    images = coco.loadImgs(coco.getImgIds())
    assert {image["file_name"] for image in images} == set(by_name)
    for image in images:
        assert (image["height"], image["width"]) == SIZE
        for category in coco.loadCats(coco.getCatIds()):
            found = coco.loadAnns(
                coco.getAnnIds(imgIds=image["id"], catIds=category["id"], iscrowd=None)
            )
            wanted = truth(by_name[image["file_name"]], category["name"])
            if per is AnnotationScope.CLASS:
                assert len(found) == int(wanted.any())
            else:
                assert len(found) == count(wanted)
            masks = [coco.annToMask(annotation).astype(bool) for annotation in found]
            together = np.any(masks, axis=0) if masks else np.zeros(SIZE, bool)
            assert (together == wanted).all()
            for annotation, mask in zip(found, masks, strict=True):
                rows, columns = np.nonzero(mask)
                box = [columns.min(), rows.min(), np.ptp(columns) + 1, np.ptp(rows) + 1]
                assert annotation["bbox"] == box
                assert annotation["area"] == mask.sum()
                assert annotation["iscrowd"] == 0


@pytest.mark.parametrize("per", AnnotationScope)
def test_coco_polygons_fill_to_the_mask(tmp_path, per):
    (path,) = write("coco-polygons", tmp_path, per)
    content = json.loads(path.read_text(encoding="utf-8"))
    names = {each["id"]: each["name"] for each in content["categories"]}
    images = {each["id"]: each["file_name"] for each in content["images"]}
    filled = {}
    for annotation in content["annotations"]:
        key = images[annotation["image_id"]], names[annotation["category_id"]]
        mask = filled.setdefault(key, np.zeros(SIZE, bool))
        for ring in annotation["segmentation"]:
            mask ^= even_odd(np.array(ring, float).reshape(-1, 2))
    for each in ITEMS:
        for category in names.values():
            mask = filled.get((each.name, category), np.zeros(SIZE, bool))
            assert (mask == truth(each, category)).all()


def even_odd(corners):
    """Fill a ring by counting the edges to the left of each pixel's centre."""
    height, width = SIZE
    inside = np.zeros(SIZE, bool)
    ends = np.roll(corners, -1, axis=0)
    for (x1, y1), (x2, y2) in zip(corners, ends, strict=True):
        if abs(x1 - x2) < 1e-3:  # upright; level edges are met by no row of centres
            rows = np.arange(height) + 0.5
            crossed = (rows > min(y1, y2)) & (rows < max(y1, y2))
            inside[np.ix_(crossed, np.arange(width) + 0.5 > x1)] ^= True
    return inside


def test_numbers_stay_when_pictures_come_and_go(tmp_path):
    write("coco-rle", tmp_path, items=ITEMS[:2])
    before = json.loads((tmp_path / "annotations.json").read_text())
    write("coco-rle", tmp_path, items=[ITEMS[2], ITEMS[1], ITEMS[0]])
    after = json.loads((tmp_path / "annotations.json").read_text())
    numbers = {each["file_name"]: each["id"] for each in after["images"]}
    for image in before["images"]:
        assert numbers[image["file_name"]] == image["id"]
    by_number = {each["id"]: each for each in after["annotations"]}
    assert len(by_number) == len(after["annotations"])
    for annotation in before["annotations"]:
        assert by_number[annotation["id"]] == annotation
    assert before["categories"] == after["categories"]
    write("coco-rle", tmp_path, items=[ITEMS[2], ITEMS[1], ITEMS[0]])
    assert json.loads((tmp_path / "annotations.json").read_text()) == after


def test_numbers_stay_when_a_run_leaves_pictures_out(tmp_path):
    """All, then the done ones, then all: as before, whichever were done."""
    write("coco-rle", tmp_path)
    before = json.loads((tmp_path / "annotations.json").read_text())
    write("coco-rle", tmp_path, items=ITEMS[2:])
    write("coco-rle", tmp_path)
    assert json.loads((tmp_path / "annotations.json").read_text()) == before
    (tmp_path / "annotations.json").unlink()
    write("coco-rle", tmp_path)
    assert json.loads((tmp_path / "annotations.json").read_text()) == before


def test_a_file_of_an_earlier_version_is_gone_on_with(tmp_path):
    write("coco-rle", tmp_path)
    before = json.loads((tmp_path / "annotations.json").read_text())
    (tmp_path / ".coco-numbers").unlink()
    write("coco-rle", tmp_path, items=ITEMS[::-1])
    after = json.loads((tmp_path / "annotations.json").read_text())
    for kind in ("images", "annotations"):
        by_number = {each["id"]: each for each in after[kind]}
        assert by_number == {each["id"]: each for each in before[kind]}


def test_a_new_part_takes_no_number_of_another(tmp_path):
    write("coco-rle", tmp_path, items=ITEMS[1:2])
    before = json.loads((tmp_path / "annotations.json").read_text())["annotations"]
    changed = item("b.png", 2)
    labels = changed.labelling.labels.copy()
    labels[:2, :2] = np.array([[1, 1], [1, 0]])  # a new part of the leaf, the first to be read
    labels[0, 0] = 0
    changed = DatasetItem(
        "b", replace(changed.labelling, labels=labels), Document(LISTING.classes), changed.picture
    )
    write("coco-rle", tmp_path, items=[changed])
    after = json.loads((tmp_path / "annotations.json").read_text())["annotations"]
    numbers = {(each["category_id"], *each["bbox"]): each["id"] for each in after}
    same = [each for each in before if (each["category_id"], *each["bbox"]) in numbers]
    assert len(same) > len(before) // 2
    for each in same:
        assert numbers[each["category_id"], *each["bbox"]] == each["id"]
    assert len({each["id"] for each in after}) == len(after)


def test_categories_without_a_list_keep_their_numbers(tmp_path):
    form = FOLDER_FORMATS["coco-rle"]

    def categories(*items):
        plan = ExportPlan(tmp_path, Categories.of(None, [each.document.classes for each in items]))
        form.finish(plan, {each.name: form.add(plan, each) for each in items})
        content = json.loads((tmp_path / "annotations.json").read_text())
        return {each["name"]: each["id"] for each in content["categories"]}

    first = categories(ITEMS[0])
    assert categories(ITEMS[2], ITEMS[0]).items() >= first.items()
    assert len(set(categories(ITEMS[2]).values()) | set(first.values())) == 3


def test_yolo_by_its_published_format(tmp_path):
    """``class x1 y1 x2 y2 …`` from 0 to 1, a line an object; names in data.yaml."""
    path, *_ = write("yolo", tmp_path)
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = lines[lines.index("names:") + 1 :]
    names = {int(row.split(":", 1)[0]): json.loads(row.split(":", 1)[1]) for row in rows}
    assert names == {0: "leaf", 1: "stone: é中", 2: "bug"}
    height, width = SIZE
    for each in ITEMS:
        filled = {name: np.zeros(SIZE, bool) for name in names.values()}
        text = (tmp_path / "labels" / f"{each.stem}.txt").read_text()
        for line in text.splitlines():
            label, *corners = line.split()
            values = np.array(corners, float)
            assert values.size % 2 == 0
            assert values.size >= 6
            assert (values >= 0).all()
            assert (values <= 1).all()
            filled[names[int(label)]] ^= even_odd(values.reshape(-1, 2) * (width, height))
        for name, mask in filled.items():
            assert (mask == truth(each, name)).all()


def test_voc(tmp_path):
    write("voc", tmp_path)
    listed = (tmp_path / "ImageSets/Segmentation/trainval.txt").read_text().splitlines()
    assert listed == [each.stem for each in ITEMS]
    names = ["background", "leaf", "stone: é中", "bug"]
    for each in ITEMS:
        with Image.open(tmp_path / "SegmentationClass" / f"{each.stem}.png") as image:
            assert image.mode == "P"
            indices = np.array(image)
            assert image.getpalette()[3:6] == list(LEAF.colour)
        for place, name in enumerate(names[1:], start=1):
            assert ((indices == place) == truth(each, name)).all()
        with Image.open(tmp_path / "SegmentationObject" / f"{each.stem}.png") as image:
            objects = np.array(image)
        assert ((objects > 0) == (indices > 0)).all()
        root = ElementTree.parse(tmp_path / "Annotations" / f"{each.stem}.xml").getroot()
        assert root.findtext("filename") == each.name
        found = root.findall("object")
        assert len(found) == objects.max()
        for number, element in enumerate(found, start=1):
            rows, columns = np.nonzero(objects == number)
            assert len(set(indices[objects == number])) == 1
            assert element.findtext("name") == names[indices[rows[0], columns[0]]]
            box = [int(element.findtext(f"bndbox/{side}")) for side in ("xmin", "ymin", "xmax")]
            assert box == [columns.min() + 1, rows.min() + 1, columns.max() + 1]


def test_cityscapes(tmp_path):
    write("cityscapes", tmp_path)
    for each in ITEMS:
        base = tmp_path / "gtFine" / f"{each.stem}_gtFine"
        indices = np.array(Image.open(f"{base}_labelIds.png"))
        instances = np.array(Image.open(f"{base}_instanceIds.png")).astype(int)
        for place, name in enumerate(["leaf", "stone: é中", "bug"], start=1):
            wanted = truth(each, name)
            assert ((indices == place) == wanted).all()
            own = instances[wanted]
            assert (own // 1000 == place).all()
            assert len(np.unique(own)) == count(wanted)
        assert (instances[indices == 0] == 0).all()


def test_labelme_of_a_folder_by_its_published_format(tmp_path):
    """Version, flags, imagePath, imageData, size, and shapes of label, points and shape_type."""
    write("labelme", tmp_path)
    for each in ITEMS:
        content = json.loads((tmp_path / f"{each.stem}.json").read_text(encoding="utf-8"))
        assert (content["imageHeight"], content["imageWidth"]) == SIZE
        assert content["imagePath"].endswith(each.name)
        filled = {}
        for shape in content["shapes"]:
            assert shape["shape_type"] == "polygon"
            mask = filled.setdefault(shape["label"], np.zeros(SIZE, bool))
            mask ^= even_odd(np.array(shape["points"]))
        for name in ("leaf", "stone: é中", "bug"):
            assert (filled.get(name, np.zeros(SIZE, bool)) == truth(each, name)).all()


READ_BY_LABELME = """
import json, sys
from labelme._label_file import LabelFile
read = LabelFile(sys.argv[1])
shapes = [(shape["label"], shape["shape_type"], shape["points"]) for shape in read.shapes]
print(json.dumps([len(read.image_data) > 0, shapes]))
"""


@pytest.mark.skipif(
    importlib.util.find_spec("labelme") is None,
    reason="labelme is not installed: pip install labelme, which brings a Qt of its own",
)
def test_labelme_reads_it(tmp_path):
    """In a process of its own: it is GPL, and has another Qt. Picture and shapes are there."""
    photo = tmp_path / "a é.jpg"
    Image.new("RGB", SIZE[::-1]).save(photo)
    drawn = replace(ITEMS[0], picture=replace(ITEMS[0].picture, path=photo))
    write("labelme", tmp_path, items=[drawn])
    path = tmp_path / f"{drawn.stem}.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    done = subprocess.run(
        [sys.executable, "-c", READ_BY_LABELME, str(path)],
        env=os.environ | {"QT_QPA_PLATFORM": "offscreen"},
        capture_output=True,
        check=True,
    )
    has_picture, shapes = json.loads(done.stdout)
    assert has_picture
    assert shapes == [
        [shape["label"], shape["shape_type"], shape["points"]] for shape in content["shapes"]
    ]
    assert len(shapes) > 3


def test_more_objects_than_a_palette_holds_are_reported(tmp_path):
    labels = np.zeros((40, 40), np.uint8)
    labels[::2, ::2] = 1
    answer = Labelling(labels, np.ones((40, 40), np.float32), np.zeros((40, 40), np.uint32), 2, 4)
    picture = Picture(np.zeros((40, 40, 3), np.uint8), None, Path("dots.png"), "", "")
    dots = DatasetItem("dots", answer, Document((SOIL, LEAF)), picture)
    with pytest.raises(ValueError, match=r"255 objects, and dots\.png has 400"):
        FOLDER_FORMATS["voc"].add(plan_for(tmp_path), dots)


def test_a_diagonal_pair_is_one_component_everywhere(tmp_path):
    pair = item("pair.png", 1, (LEAF, SOIL))
    labels = np.ones(SIZE, np.uint8)
    labels[5, 5], labels[6, 6] = 0, 0
    pair = replace(pair, labelling=replace(pair.labelling, labels=labels))
    found = find_objects(labels, pair.document)
    assert len(measure_objects(found, labels[:, :, np.newaxis]).objects) == 1
    assert component_at(labels, 5, 5)[6, 6]
    for name in ("coco-rle", "coco-polygons"):
        (tmp_path / name).mkdir()
        (path,) = write(name, tmp_path / name, items=[pair])
        coco = COCO(str(path))
        (annotation,) = coco.loadAnns(coco.getAnnIds(iscrowd=None))
        assert (coco.annToMask(annotation).astype(bool) == (labels == 0)).all()
    assert [len(ring) for ring in annotation["segmentation"]] == [8, 8]  # simple polygons
    (tmp_path / "yolo").mkdir()
    write("yolo", tmp_path / "yolo", items=[pair])
    assert len((tmp_path / "yolo" / "labels" / "pair.txt").read_text().splitlines()) == 1
    shapes = tmp_path / "pair.json"
    write_labelme(shapes, pair.labelling, pair.document, pair.picture)
    groups = [shape["group_id"] for shape in json.loads(shapes.read_text())["shapes"]]
    assert groups == [1, 1]
