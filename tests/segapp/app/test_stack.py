"""Marks of some pages are carried to all, by Python and by the command, with the same pixels."""

import json
from dataclasses import replace

import numpy as np
import pytest
import tifffile
from PIL import Image

import segapp
from segapp.__main__ import main
from segapp.app.stack import Stack, plan_pages
from segapp.io.stacks import StackAxes, open_stack

N_PAGES, SIZE = 5, (60, 90)


def film():
    """Return a film of a textured disc on a textured background, and its masks."""
    rng = np.random.default_rng(5)
    ground = rng.integers(40, 110, (*SIZE, 3)).astype(np.uint8)
    disc = rng.integers(130, 230, (*SIZE, 3)).astype(np.uint8)
    rows, columns = np.indices(SIZE)
    frames, truths = [], []
    for page in range(N_PAGES):
        inside = (rows - 30) ** 2 + (columns - 25 - 6 * page) ** 2 < 15**2
        frames.append(np.where(inside[..., None], np.roll(disc, 6 * page, axis=1), ground))
        truths.append(inside)
    return np.stack(frames), np.stack(truths)


def overlap(labels, truth):
    found = labels == 0
    return (found & truth).sum() / (found | truth).sum()


@pytest.fixture(scope="module")
def propagated():
    frames, truths = film()
    stack = Stack(frames)
    stack.add_stroke(0, [(20, 30), (30, 30)], "foreground", radius=5)
    stack.add_stroke(0, [(60, 8), (85, 50)], "background", radius=4)
    stack.propagate()
    return stack, truths


def test_pages_are_answered_outwards_from_the_marked_ones():
    plan = plan_pages(StackAxes(times=8), [2, 7])
    assert [each.page for each in plan] == [1, 3, 6, 0, 4, 5]
    others = {each.page: each.others for each in plan}
    assert others[0] == (1, 2)
    assert others[4] == (3, 2)
    assert others[5] == (6, 7, 4, 2)  # where both sides meet
    assert all(page not in (2, 7) for page in others)


def test_pages_span_times_and_slices():
    plan = plan_pages(StackAxes(times=2, slices=3), [1])
    assert sorted(each.page for each in plan) == [0, 2, 3, 4, 5]
    assert {each.others[0] for each in plan} <= {1, 0, 2, 4}


def test_the_object_is_followed_through_all_pages(propagated):
    stack, truths = propagated
    assert all(overlap(stack.labels(page), truths[page]) > 0.85 for page in range(N_PAGES))
    assert len(stack.tracks) == 1
    assert all((stack.objects()[page][truths[page]] == 1).mean() > 0.85 for page in range(N_PAGES))


def test_a_correction_holds_and_concerns_only_pages_up_to_other_marks(propagated):
    frames, _ = film()
    stack = Stack(frames, {page: propagated[0].document(page) for page in (0,)})
    stack.add_stroke(4, [(49, 30)], "foreground", radius=4)
    stack.add_stroke(4, [(10, 50)], "background", radius=4)
    stack.propagate()
    before = {page: stack.answer(page) for page in range(N_PAGES)}
    stack.add_stroke(2, [(70, 5)], "foreground", radius=2)
    stack.propagate()
    assert stack.labels(2)[5, 70] == 0
    assert stack.answer(0) is before[0]
    assert stack.answer(4) is before[4]
    assert stack.answer(1) is not before[1]


def test_an_unsure_page_ends_the_propagation():
    frames, _ = film()
    frames[2:] = np.random.default_rng(0).integers(0, 255, frames[2:].shape)
    stack = Stack(frames)
    stack.add_stroke(0, [(20, 30), (30, 30)], "foreground", radius=5)
    stack.add_stroke(0, [(60, 8), (85, 50)], "background", radius=4)
    stack.propagate(least_confidence=0.999)
    assert stack.answered == [0, 1]


def test_other_settings_drop_the_answers_and_equal_ones_keep_them(propagated):
    stack = Stack(film()[0], {0: propagated[0].document(0)})
    stack.answer_marked(0)
    stack.settings = replace(stack.settings)
    assert stack.answered == [0]
    before = stack.labels(0)
    stack.settings = replace(stack.settings, smoothness=0.0)
    assert stack.answered == []
    stack.answer_marked(0)
    alone = segapp.Segmenter(film()[0][0], stack.document(0), settings=stack.settings)
    assert (stack.labels(0) == alone.answer().labelling.labels).all()
    assert (stack.labels(0) != before).any()


def test_nothing_marked_is_said_in_a_sentence():
    with pytest.raises(segapp.SegappError, match="Nothing is marked yet"):
        Stack(film()[0]).propagate()


def test_command_and_python_give_the_same_pixels_and_read_back(tmp_path, propagated, capsys):
    stack, _ = propagated
    for page, frame in enumerate(film()[0]):
        Image.fromarray(frame).save(tmp_path / f"{page:03}.png")
    own = Stack(tmp_path, {0: stack.document(0)})
    own.save(tmp_path / "projects")
    words = ["propagate", str(tmp_path), "--strokes", str(tmp_path / "projects"), "--json"]
    formats = ["labels", "objects", "masks", "coco", "measures", "gif"]
    assert main([*words, "--out", str(tmp_path / "out"), "--as", *formats]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [each["marked"] for each in told["pages"]] == [True, *[False] * (N_PAGES - 1)]
    out = tmp_path / "out"
    with tifffile.TiffFile(out / "labels.ome.tif") as tiff:
        assert tiff.series[0].axes == "TYX"
        labels = tiff.asarray()
    objects = tifffile.imread(out / "objects.ome.tif")
    for page in range(N_PAGES):
        expected = stack.labels(page) == 0
        assert (labels[page] == expected).all()
        assert ((objects[page] == 1) == expected).all()
        mask = np.asarray(Image.open(out / "masks" / f"{page:05}.png"))
        assert ((mask == 255) == expected).all()
    assert Image.open(out / "overlay.gif").n_frames == N_PAGES
    coco = json.loads((out / "annotations.json").read_text())
    assert {each["video_id"] for each in coco["annotations"]} == {1}
    assert {each["track_id"] for each in coco["annotations"]} == {1}
    assert len((out / "measures.csv").read_text().splitlines()) == N_PAGES + 1
    assert open_stack(out / "labels.ome.tif").axes.times == N_PAGES


def test_coco_masks_are_those_of_pycocotools(tmp_path, propagated):
    tools = pytest.importorskip("pycocotools.mask")
    stack, _ = propagated
    stack.export(tmp_path, ["coco"])
    coco = json.loads((tmp_path / "annotations.json").read_text())
    for each in coco["annotations"]:
        page = each["image_id"] - 1
        assert (tools.decode(each["segmentation"]) == (stack.labels(page) == 0)).all()


def test_a_film_of_the_overlay_has_all_pages(tmp_path, propagated):
    pytest.importorskip("av")
    propagated[0].export(tmp_path, ["mp4"])
    assert open_stack(tmp_path / "overlay.mp4").axes.times == N_PAGES
