"""A folder of pictures of all kinds is worked through, left, returned to, and exported."""

import json

import numpy as np
import pytest
import tifffile
from PIL import Image
from pycocotools.coco import COCO

from segapp.app.project_files import find_project
from segapp.engine.trainer import Trainer
from segapp.io.class_list import CLASS_LIST_FILE, ClassList, write_class_list
from segapp.io.folder_files import ImageStatus
from segapp.io.images import load_image
from segapp.io.masks import load_mask
from segapp.model.answer import final_answer
from segapp.model.classes import ClassInfo
from segapp.model.document import Patch, Stroke
from segapp.qt.files import file_dialogs
from tests.segapp.io.test_deep_images import png

pytestmark = [
    pytest.mark.slow,  # nine formats of five pictures, each learnt anew
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
]
SIZE = (48, 64)
FORMATS_READ = (
    "mask",
    "indexed",
    "cutout",
    "coco-rle",
    "coco-polygons",
    "labelme",
    "numpy",
    "measures",
    "voc",
)
GROUND, FIRST, SECOND, THIRD = 0, 1, 2, 3  # the background stands first
CLASSES = tuple(
    ClassInfo(name, (60 * k, 200 - 50 * k, 90), background=name == "rest")
    for k, name in enumerate(("rest", "red", "green", "blue"))
)


def colours(scale=1.0):
    """Three squares of their own colours on grey, with a little noise."""
    rng = np.random.default_rng(0)
    values = np.full((*SIZE, 3), 90.0)
    values[4:20, 4:24] = (220, 40, 40)
    values[26:44, 6:28] = (40, 200, 60)
    values[8:40, 38:58] = (50, 60, 230)
    return np.clip((values + rng.normal(0, 4, values.shape)) * scale, 0, 255 * scale)


STROKES = (
    Stroke(((8, 12), (20, 12)), 2.0, FIRST),
    Stroke(((10, 35), (24, 35)), 2.0, SECOND),
    Stroke(((48, 12), (48, 36)), 2.0, THIRD),
    Stroke(((32, 3), (33, 44)), 2.0, GROUND),
)


@pytest.fixture
def home(tmp_path):
    folder = tmp_path / "mixed"
    folder.mkdir()
    deep = colours(4.0).astype(np.uint16)  # between 0 and 1020 of 65535
    with tifffile.TiffWriter(folder / "a.tif") as stack:
        for page in (deep, deep[:, ::-1]):
            stack.write(page, photometric="rgb", contiguous=False)
    exif = Image.Exif()
    exif[0x0112] = 6  # shown turned by a quarter to the right
    lying = np.ascontiguousarray(np.rot90(colours().astype(np.uint8)))
    Image.fromarray(lying).save(folder / "b.jpg", exif=exif, quality=95)
    opacity = np.full(SIZE, 255, np.uint8)
    opacity[:, 60:] = 0
    Image.fromarray(np.dstack([colours().astype(np.uint8), opacity])).save(folder / "c.png")
    (folder / "d.png").write_bytes(png(deep))
    (folder / "e.jpg").write_bytes(b"\xff\xd8 and nothing more")
    write_class_list(folder / CLASS_LIST_FILE, ClassList.from_classes(CLASSES))
    return folder


@pytest.fixture
def no_questions(monkeypatch):
    """Fail when a dialog opens."""

    def refuse(*told, **_):
        raise AssertionError(f"a question was asked: {told[1:]}")

    for name in ("ask_unsaved", "ask_project", "ask_restore", "ask_conflict", "complain"):
        monkeypatch.setattr(file_dialogs, name, refuse)


def until_answered(qtbot, window):
    qtbot.waitUntil(lambda: window.session.answers.is_current, timeout=120_000)


def mark(qtbot, window, path):
    """Paint, wait for the answer, retouch a corner, lock a class, and call it done."""
    with qtbot.waitSignal(window.files.opened, timeout=60_000):
        window.files.open(path)
    document = window.session.document
    assert document.classes == CLASSES
    strokes = STROKES
    if window.session.picture.path.name == "a[2].tif":  # the other way round
        strokes = tuple(
            Stroke(tuple((SIZE[1] - x, y) for x, y in stroke.points), 2.0, stroke.label)
            for stroke in STROKES
        )
    for stroke in strokes:
        document = document.with_stroke(stroke)
    window.session.edit("strokes", document)
    until_answered(qtbot, window)
    corner = np.zeros(window.session.picture.size, bool)
    corner[-5:, -6:] = True
    window.session.edit("retouch", window.session.document.with_retouch(Patch.of_mask(corner, 1)))
    until_answered(qtbot, window)
    window.brush.choose_left(THIRD)
    window.commands["lock_class"].trigger()
    until_answered(qtbot, window)
    window.commands["done"].trigger()
    return window.session.answers.answer.labelling.labels.copy()


def export(qtbot, window, form):
    panel = window.folder.export
    panel.form.setCurrentIndex(panel.form.findData(form))
    with qtbot.waitSignal(panel.exported, timeout=300_000):
        panel.run()
    assert panel.message == "5 exported, 1 without a result", form
    return window.files.workspace.folder / "segapp-export" / form


def test_pictures_of_all_kinds(make_window, home, qtbot, no_questions):
    window = make_window(home, Trainer)
    work = window.files.workspace
    names = [path.name for path in work.images]
    assert names == ["a.tif", "a[2].tif", "b.jpg", "c.png", "d.png", "e.jpg"]
    truth = {}
    for path in work.images[:5]:
        truth[path.name] = mark(qtbot, window, path)
    for name, labels in truth.items():
        if name != "a[2].tif":
            assert (labels[6:18, 6:22] == FIRST).mean() > 0.95, name
            assert (labels[12:36, 40:56] == THIRD).mean() > 0.95, name
        assert (labels[-5:, -6:] == FIRST).all()
    assert window.status.chip.text() == f"16-bit, {_span(home / 'd.png')}"
    with qtbot.waitSignal(window.files.passed_over, timeout=60_000):
        window.files.open(work.images[5])
    qtbot.waitUntil(lambda: not window.session.unsaved_states(), timeout=60_000)
    assert window.close()

    window = make_window(home, Trainer)  # on the next day
    work = window.files.workspace
    assert window.file_list.message == "5 of 6 done"
    assert [work.status(path) for path in work.images][:5] == [ImageStatus.DONE] * 5
    for path in work.images[:5]:
        with qtbot.waitSignal(window.files.opened, timeout=60_000):
            window.files.open(path)
        until_answered(qtbot, window)
        labels = window.session.answers.answer.labelling.labels
        assert (labels == truth[path.name]).all(), path.name
    _check_exports(qtbot, window, truth)


def _span(path):
    (levels, *_) = load_image(path).levels
    return f"{levels.black:.5g}–{levels.white:.5g}"


def _check_exports(qtbot, window, truth):
    """Write formats that other programs read, and read them back."""
    work = window.files.workspace
    stems = {"a.tif": "a", "a[2].tif": "a[2]", "b.jpg": "b", "c.png": "c", "d.png": "d"}
    places = {form: export(qtbot, window, form) for form in FORMATS_READ}
    for path in work.images[:5]:
        labels, stem = truth[path.name], stems[path.name]
        project = find_project(path, path.parent).require()
        picture = load_image(path, project.document.display)
        answer = final_answer(
            Trainer(picture.rgb, picture.channels).updates(project.document, project.settings)
        )
        assert (answer.labelling.labels == labels).all()
        assert (_values(places["indexed"] / f"{stem}.png") == labels).all()
        assert (_values(places["mask"] / f"{stem}.png") == np.where(labels, 255, 0)).all()
        mask = load_mask(places["labelme"] / f"{stem}.json", path, labels.shape)
        names = np.array([name or "rest" for name in mask.names])
        assert (names[mask.labels] == np.array([info.name for info in CLASSES])[labels]).all()
        with np.load(places["numpy"] / f"{stem}.npz") as arrays:
            assert (arrays["labels"] == labels).all()
        voc = _values(places["voc"] / "SegmentationClass" / f"{stem}.png")
        assert (voc == labels).all()  # the background is 0 there, and here
        alpha = _values(places["cutout"] / f"{stem}.png")[..., 3]
        assert not alpha[np.all(labels == GROUND)].any()
    for form in ("coco-rle", "coco-polygons"):
        (file,) = places[form].glob("*.json")
        coco = COCO(str(file))
        ids = {info["name"]: number for number, info in coco.cats.items()}
        assert set(ids) == {"red", "green", "blue"}
        for image in coco.loadImgs(coco.getImgIds()):
            labels = truth[image["file_name"]]
            found = np.zeros_like(labels)
            for annotation in coco.loadAnns(coco.getAnnIds(image["id"])):
                place = [ids[info.name] if k else 0 for k, info in enumerate(CLASSES)]
                found[coco.annToMask(annotation) > 0] = place.index(annotation["category_id"])
            if form == "coco-rle":  # filling polygons is pycocotools' own, to about a pixel
                assert (found == labels).all()
            else:
                assert (found == labels).mean() > 0.95
    measures = (places["measures"] / "measures.csv").read_text(encoding="utf-8")
    for name in truth:
        assert f"\n{name},red,all," in measures
    assert len(json.loads((places["labelme"] / "a.json").read_text())["shapes"]) >= 3


def _values(path):
    with Image.open(path) as image:
        return np.array(image)
