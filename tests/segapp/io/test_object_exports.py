"""Pictures with 3 classes and 20 objects through every format, read by the formats' libraries."""

import csv
import json
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import roifile
import tifffile
from PIL import Image
from pycocotools.coco import COCO

from segapp.imaging.objects import find_objects
from segapp.imaging.rasterise import polygon_mask
from segapp.io.export.datasets import AnnotationScope, Categories, DatasetItem, ExportPlan
from segapp.io.export.formats import ExportChoices, folder_formats, formats
from segapp.io.export.polygon_formats import DatasetSplit, PictureCopies
from segapp.model.classes import ClassInfo, ObjectInfo
from segapp.model.document import Document, Patch
from segapp.model.labelling import Labelling
from segapp.model.picture import Picture, Scale

# pycocotools 2.0.11 has not followed NumPy 2 in this.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

SIZE = (120, 160)
NAMES = ("car", "person", "tree")
CLASSES = (
    ClassInfo("background", (0, 0, 0)),
    *(ClassInfo(name, (40 * k, 90, 200)) for k, name in enumerate(NAMES, start=1)),
)
CROWD, OCCLUDED = (3, 6), (1, 2)


def scene(seed):
    """A true map of 20 objects: some touch, some are of two parts, one has a hole."""
    rng = np.random.default_rng(seed)
    truth, keys = np.zeros(SIZE, int), []
    for place in range(20):
        row, column = divmod(place, 5)
        label = 1 + place % 3
        key = (label, 1 + sum(each[0] == label for each in keys))
        keys.append(key)
        top, left = 3 + 29 * row, 2 + 31 * column
        height, width = int(rng.integers(14, 26)), int(rng.integers(22, 29))
        if place % 5 in (0, 1):  # these two touch
            width = 31 if place % 5 == 0 else width
        truth[top : top + height, left : left + width] = place + 1
        if place % 4 == 2:
            truth[top : top + height, left + 9 : left + 13] = 0  # a pole before it
        if place == 8:
            truth[top + 4 : top + 8, left + 4 : left + 9] = 0  # a hole
        truth[top, left] = 0
    # An object of the same class that touches another one with all of a side.
    truth[3:17, 33:60][truth[3:17, 33:60] > 0] = 2
    keys[1] = (1, keys[0][1] + 20)
    return truth, keys


def item(name, seed, folder=Path("photos")):
    truth, keys = scene(seed)
    labels = np.array([0, *(label for label, _ in keys)], np.uint8)[truth]
    marks = tuple(
        replace(Patch.of_mask(truth == place, label), object_number=number)
        for place, (label, number) in enumerate(keys, start=1)
    )
    document = Document(CLASSES, marks)
    document = document.with_object(ObjectInfo(*CROWD, crowd=True, name="far trees"))
    document = document.with_object(ObjectInfo(*OCCLUDED, occluded=True))
    found = find_objects(labels, document)
    answer = Labelling(labels, np.ones(SIZE, np.float32), np.zeros(SIZE, np.uint32), 4, 4, found)
    rgb = np.random.default_rng(seed).integers(0, 256, (*SIZE, 3), dtype=np.uint8)
    picture = Picture(rgb, None, folder / name, "0" * 64, "")
    return DatasetItem(Path(name).stem, answer, document, picture)


def true_masks(each):
    """The mask of each object by class and number."""
    found = each.labelling.objects
    return {key: found.pixels(key) for key in found.keys}


@pytest.fixture(scope="module")
def one():
    return item("a.png", 1)


def write(name, path, each, **choices):
    form = formats(ExportChoices(**choices))[name]
    (written,) = form.write(
        path / f"out{form.suffix}", each.labelling, each.document, each.picture
    )
    return written


def write_folder(name, folder, items, per=AnnotationScope.OBJECT, **choices):
    plan = ExportPlan(folder, Categories.of(None, [CLASSES]), per)
    form = folder_formats(ExportChoices(**choices))[name]
    return form.finish(plan, {each.name: form.add(plan, each) for each in items})


def test_the_scene_is_what_it_should_be(one):
    """Twenty objects of three classes; some touch, some are of two parts, one has a hole."""
    truth, keys = scene(1)
    masks = true_masks(one)
    assert set(masks) == set(keys)
    assert len(keys) == 20
    for place, key in enumerate(keys, start=1):
        assert (masks[key] == (truth == place)).all()
    assert {label for label, _ in keys} == {1, 2, 3}
    from scipy import ndimage

    parts = [ndimage.label(mask, np.ones((3, 3)))[1] for mask in masks.values()]
    assert sum(count == 2 for count in parts) >= 4
    same_class = one.labelling.labels == 1
    assert ndimage.label(same_class, np.ones((3, 3)))[1] < sum(
        count for (label, _), count in zip(masks, parts, strict=True) if label == 1
    )


@pytest.mark.parametrize("name", ["coco-rle", "coco-polygons"])
@pytest.mark.parametrize("whole_folder", [False, True])
def test_coco(tmp_path, one, name, whole_folder, capsys):
    if whole_folder:
        (path,) = write_folder(name, tmp_path, [one])
    else:
        path = write(name, tmp_path, one)
    coco = COCO(str(path))
    categories = {each["id"]: each["name"] for each in coco.loadCats(coco.getCatIds())}
    annotations = coco.loadAnns(coco.getAnnIds())
    assert len({each["id"] for each in annotations}) == len(annotations) == 20
    masks = true_masks(one)
    for annotation in annotations:
        label = 1 + NAMES.index(categories[annotation["category_id"]])
        key = label, annotation["attributes"]["object"]
        mask = masks.pop(key)
        assert (coco.annToMask(annotation) == mask).all()
        assert annotation["area"] == mask.sum()
        assert annotation["iscrowd"] == (key == CROWD)
        assert isinstance(annotation["segmentation"], dict) or key != CROWD
        assert annotation["attributes"]["occluded"] == (key == OCCLUDED)
    assert not masks


@pytest.mark.parametrize("per", AnnotationScope)
def test_annotations_are_per_part_object_or_class_for_one_image_as_for_a_folder(
    tmp_path, one, per, capsys
):
    single = write("coco-rle", tmp_path, one, per=per)
    (whole,) = write_folder("coco-rle", tmp_path, [one], per)
    counts = [len(COCO(str(path)).getAnnIds()) for path in (single, whole)]
    from scipy import ndimage

    parts = sum(ndimage.label(mask, np.ones((3, 3)))[1] for mask in true_masks(one).values())
    wanted = {"part": parts, "object": 20, "class": 3}[per.value]
    assert counts == [wanted, wanted]


def yolo_objects(folder, stem):
    """Read ``class x1 y1 …``, a line an object, filled by the even-odd rule."""
    for line in (folder / "labels" / f"{stem}.txt").read_text().splitlines():
        label, *corners = line.split()
        points = np.array(corners, float).reshape(-1, 2) * SIZE[::-1]
        yield int(label), polygon_mask(np.round(points, 3), SIZE)


def test_yolo(tmp_path, one):
    write_folder("yolo", tmp_path, [one], copies=PictureCopies.NONE)
    masks = {key: mask for key, mask in true_masks(one).items() if key != CROWD}
    found = list(yolo_objects(tmp_path, "a"))
    assert len(found) == len(masks) == 19
    for (label, mask), ((own, _), wanted) in zip(found, masks.items(), strict=True):
        assert label == own - 1
        assert (mask == wanted).all()


@pytest.mark.parametrize("copies", [PictureCopies.COPY, PictureCopies.LINK])
def test_yolo_trains_as_it_is(tmp_path, copies):
    """Every path of data.yaml leads to a picture with its labels, from any folder."""
    photos = tmp_path / "photos"
    photos.mkdir()
    items = []
    for number in range(10):
        items.append(item(f"p{number}.png", number, photos))
        Image.fromarray(items[-1].picture.rgb).save(items[-1].picture.path)
    out = tmp_path / "set"
    out.mkdir()
    split = DatasetSplit(0.3, seed=4)
    yaml, *_ = write_folder("yolo", out, items, copies=copies, split=split)
    told = dict(line.split(": ", 1) for line in yaml.read_text().splitlines() if ": " in line)
    assert "path" not in told  # so that it is the folder of the file
    parts = {}
    for part in ("train", "val"):
        listed = (out / told[part]).read_text().splitlines()
        parts[part] = [out / line.removeprefix("./") for line in listed]
        for picture in parts[part]:
            assert picture.is_symlink() == (copies is PictureCopies.LINK)
            name = picture.name
            (own,) = (each for each in items if each.name == name)
            assert (np.array(Image.open(picture)) == own.picture.rgb).all()
            assert Path(str(picture).replace("/images/", "/labels/")).with_suffix(".txt").is_file()
    assert [len(parts[part]) for part in ("train", "val")] == [7, 3]
    assert not set(parts["train"]) & set(parts["val"])
    write_folder("yolo", out, items[:9], copies=copies, split=split)
    again = (out / "val.txt").read_text().splitlines()
    assert len({path.name for path in parts["val"]} & {Path(line).name for line in again}) >= 2


def test_a_split_depends_on_its_seed_alone():
    names = [f"p{number}" for number in range(40)]
    first = DatasetSplit(0.25, 0).validation(names)
    assert len(first) == 10
    assert DatasetSplit(0.25, 0).validation(names[::-1]) == first
    assert DatasetSplit(0.25, 1).validation(names) != first
    assert DatasetSplit(0.0).validation(names) == frozenset()
    assert len(DatasetSplit(0.2).validation(names[:2])) == 1
    assert DatasetSplit(0.2).validation(names[:1]) == frozenset()
    with pytest.raises(ValueError, match="val: wanted a share from 0 to below 1, got 1"):
        DatasetSplit(1.0)


def test_voc(tmp_path, one):
    write_folder("voc", tmp_path, [one])
    objects = np.array(Image.open(tmp_path / "SegmentationObject" / "a.png"))
    masks = list(true_masks(one).values())
    assert objects.max() == 20
    for number, mask in enumerate(masks, start=1):
        assert ((objects == number) == mask).all()
    text = (tmp_path / "Annotations" / "a.xml").read_text()
    assert text.count("<object>") == 20
    assert text.count("<occluded>1</occluded>") == text.count("<difficult>1</difficult>") == 1


def test_cityscapes(tmp_path, one):
    write_folder("cityscapes", tmp_path, [one])
    instances = np.array(Image.open(tmp_path / "gtFine" / "a_gtFine_instanceIds.png")).astype(int)
    values = set()
    for key, mask in true_masks(one).items():
        (value,) = np.unique(instances[mask])
        assert (instances == value).sum() == mask.sum()
        assert value == key[0] if key == CROWD else value // 1000 == key[0]
        values.add(value)
    assert len(values) == 20


def test_labelme(tmp_path, one):
    content = json.loads(write("labelme", tmp_path, one).read_text())
    objects = {}
    for place, shape in enumerate(content["shapes"]):
        group = shape["group_id"]
        key = (shape["label"], f"group {group}" if group is not None else f"shape {place}")
        mask = objects.setdefault(key, np.zeros(SIZE, bool))
        mask ^= polygon_mask(shape["points"], SIZE)
        flags = shape["flags"]
        assert set(flags) <= {"crowd", "occluded"}
    wanted = true_masks(one)
    assert len(objects) == len(wanted) == 20
    for ((name, _), mask), ((label, _), true) in zip(objects.items(), wanted.items(), strict=True):
        assert name == NAMES[label - 1]
        assert (mask == true).all()
    assert sum("crowd" in shape["flags"] for shape in content["shapes"]) >= 1


@pytest.mark.parametrize("scale", [None, Scale(0.25, "µm")])
def test_label_tiff(tmp_path, one, scale):
    path = write("labels", tmp_path, one, scale=scale)
    with tifffile.TiffFile(path) as tiff:
        assert tiff.is_imagej
        values, told = tiff.asarray(), tiff.imagej_metadata
        tags = tiff.pages.first.tags
        if scale is not None:
            assert told["unit"] == "um"
            above, below = tags["XResolution"].value
            assert below / above == pytest.approx(0.25)
    rows = json.loads(told["Info"])["labels"]
    check_label_image(values, rows, one)


def check_label_image(values, rows, each):
    assert values.dtype == np.uint16
    masks = true_masks(each)
    assert len(rows) == len(masks) == values.max() == 20
    for value, row in rows.items():
        key = 1 + NAMES.index(row["class"]), row["object"]
        assert ((values == int(value)) == masks[key]).all()
        assert row.get("crowd", False) == (key == CROWD)
        assert row.get("name", "") == ("far trees" if key == CROWD else "")


@pytest.mark.parametrize("scale", [None, Scale(0.25, "µm")])
def test_label_ome(tmp_path, one, scale):
    path = write("labels-ome", tmp_path, one, scale=scale)
    with tifffile.TiffFile(path) as tiff:
        assert tiff.is_ome
        values, told = tiff.asarray(), tifffile.xml2dict(tiff.ome_metadata)["OME"]["Image"]
    if scale is not None:
        assert told["Pixels"]["PhysicalSizeX"] == told["Pixels"]["PhysicalSizeY"] == 0.25
        assert told["Pixels"]["PhysicalSizeXUnit"] == "µm"
    check_label_image(values, json.loads(told["Description"])["labels"], one)


def test_rois(tmp_path, one):
    path = write("rois", tmp_path, one)
    regions = {roi.name: roi for roi in roifile.roiread(path)}
    masks = true_masks(one)
    assert len(regions) == len(masks) == 20
    for (label, number), wanted in masks.items():
        name = f"{NAMES[label - 1]}-{number:04}"
        roi = regions[f"{name}-far trees" if (label, number) == CROWD else name]
        mask = np.zeros(SIZE, bool)
        for ring in roi.coordinates(multi=True):
            mask ^= polygon_mask(ring, SIZE)
        assert (mask == wanted).all()
        rows, columns = np.nonzero(wanted)
        assert (roi.left, roi.top) == (columns.min(), rows.min())
        assert (roi.right, roi.bottom) == (columns.max() + 1, rows.max() + 1)
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None


def test_measures(tmp_path, one):
    path = write("measures", tmp_path, one, scale=Scale(0.5, "µm"))
    with path.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["object"] != "all"]
    masks = true_masks(one)
    assert len(rows) == len(masks) == 20
    for row in rows:
        mask = masks[1 + NAMES.index(row["class"]), int(row["object"])]
        assert int(row["area_px"]) == mask.sum()
        assert float(row["area_µm2"]) == mask.sum() / 4
        values = one.picture.rgb[mask][:, 1].astype(float)
        assert float(row["sd_green"]) == pytest.approx(values.std(), abs=1e-3)


def test_numpy_and_indexed(tmp_path, one):
    with np.load(write("numpy", tmp_path, one)) as arrays:
        assert (arrays["objects"] == one.labelling.objects.index_map).all()
    path = write("indexed", tmp_path, one)
    assert (np.array(Image.open(path)) == one.labelling.labels).all()


def test_fiftyone_loads_the_coco_export(tmp_path, one):
    fiftyone = pytest.importorskip("fiftyone", reason="fiftyone is not installed")
    (tmp_path / "data").mkdir()
    Image.fromarray(one.picture.rgb).save(tmp_path / "data" / one.name)
    (path,) = write_folder("coco-rle", tmp_path, [one])
    dataset = fiftyone.Dataset.from_dir(
        dataset_type=fiftyone.types.COCODetectionDataset,
        data_path=tmp_path / "data",
        labels_path=path,
        label_types="segmentations",
    )
    assert len(dataset.first().segmentations.detections) == 20


def test_torchvision_loads_the_coco_export(tmp_path, one):
    datasets = pytest.importorskip("torchvision.datasets", reason="torchvision is not installed")
    Image.fromarray(one.picture.rgb).save(tmp_path / one.name)
    (path,) = write_folder("coco-rle", tmp_path, [one])
    _, targets = datasets.CocoDetection(tmp_path, path)[0]
    assert len(targets) == 20
