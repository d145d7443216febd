"""Tasks of a batch: their files, scores and records."""

import json
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from segapp.batch.execution import run_tasks
from segapp.model.settings import SettingsChoice
from tests.segapp.batch.discs import SIZE, make_case, masks, run, tasks
from tests.segapp.fake_segmenter import NearestColour


def test_masks_and_scores(folder, tmp_path):
    results = run(folder, tmp_path / "out")
    assert [outcome.name for outcome in results] == ["a", "bb", "ccc é"]
    for outcome in results:
        with Image.open(tmp_path / "out" / "masks" / f"{outcome.name}.png") as image:
            found = np.array(image)
        assert set(np.unique(found)) == {0, 255}
        with Image.open(folder / f"{outcome.name}-truth.png") as image:
            truth = np.array(image)
        both, either = (found & truth) > 0, (found | truth) > 0
        assert outcome.ious == (pytest.approx(both.sum() / either.sum()),)
        assert (outcome.width, outcome.height, outcome.classes) == (64, 48, 2)
        assert outcome.error == ""


def test_the_robot_improves_and_its_strokes_are_kept(folder, tmp_path):
    results = run(folder, tmp_path / "out", robot=5)
    for outcome in results:
        assert len(outcome.ious) == 6
        assert outcome.ious[-1] > outcome.ious[0]
    with Image.open(tmp_path / "out" / "strokes" / "a.png") as image:
        strokes = np.array(image)
    with Image.open(folder / "a-strokes.png") as image:
        given = np.array(image)
    assert np.count_nonzero(strokes) > np.count_nonzero(given)


def test_the_kept_strokes_give_the_kept_mask(folder, tmp_path):
    run(folder, tmp_path / "out", robot=4)
    for name in ("a", "bb", "ccc é"):
        strokes = (tmp_path / "out" / "strokes" / f"{name}.png").read_bytes()
        (folder / f"{name}-strokes.png").write_bytes(strokes)
    run(folder, tmp_path / "again")
    assert masks(tmp_path / "again") == masks(tmp_path / "out")


def test_when_all_is_right_the_last_value_is_repeated(tmp_path):
    make_case(tmp_path, "a")
    disc = make_case(tmp_path, "clean")
    Image.fromarray(np.where(disc, 255, 0).astype(np.uint8)).convert("RGB").save(
        tmp_path / "clean.png"
    )
    results = run(tmp_path, tmp_path / "out", robot=4)
    assert results[1].ious == (1.0,) * 5
    assert len(results[1].seconds) == 1


def test_without_truth_there_is_a_mask_and_no_score(tmp_path):
    make_case(tmp_path, "a", truth=False)
    (outcome,) = run(tmp_path, tmp_path / "out", robot=3)
    assert outcome.ious == ()
    assert outcome.error == ""
    assert outcome.seconds[0] > 0
    assert masks(tmp_path / "out")


def spoil(folder):
    (folder / "broken.png").write_bytes(b"no image")
    (folder / "broken-strokes.png").write_bytes((folder / "a-strokes.png").read_bytes())
    for end in ("", "-truth"):
        (folder / f"lonely{end}.png").write_bytes((folder / f"a{end}.png").read_bytes())
    Image.fromarray(np.ones(SIZE, np.uint8)).save(folder / "lonely-strokes.png")


def test_bad_images_are_reported_and_do_not_stop_the_run(folder, tmp_path):
    spoil(folder)
    results = run(folder, tmp_path / "out")
    errors = {outcome.name: outcome.error for outcome in results}
    assert errors == {
        "a": "",
        "bb": "",
        "broken": "broken.png is not an image: wanted JPEG, PNG, BMP, TIFF, WebP, GIF, AVIF, "
        "JPEG 2000, PPM or TGA.",
        "ccc é": "",
        "lonely": "Two classes need strokes.",
    }
    assert set(masks(tmp_path / "out")) == {"a.png", "bb.png", "ccc é.png"}


class Puzzled(NearestColour):
    def updates(self, document, settings):
        raise KeyError("odd")


def test_an_internal_error_is_one_images_failure(folder, tmp_path):
    results = run(folder, tmp_path / "out", learner=Puzzled)
    (message,) = {outcome.error for outcome in results}
    assert message.startswith("internal error: KeyError: 'odd' is missing. This is a fault of")
    assert 'raise KeyError("odd")' in results[0].traceback


class Counting(NearestColour):
    count = 0

    def updates(self, document, settings):
        Counting.count += 1
        return super().updates(document, settings)


def test_resuming_does_only_what_is_missing_or_changed(folder, tmp_path):
    out = tmp_path / "out"
    first = run(folder, out, learner=Counting)
    before = masks(out)

    def again(**options):
        Counting.count = 0
        return run(folder, out, learner=Counting, resume=True, **options), Counting.count

    results, count = again()
    assert count == 0
    assert [replace(o, reused=False) for o in results] == first
    assert masks(out) == before

    (out / "masks" / "a.png").unlink()
    assert again()[1] == 1
    assert masks(out) == before

    (out / "cases" / "bb.json").write_text("{")
    assert again()[1] == 1

    make_case(folder, "a", corner=(0, 0, 0))
    assert again()[1] == 1
    assert again(robot=1)[1] == 6
    assert again()[1] == 3
    Counting.count = 0
    list(
        run_tasks(
            [replace(t, settings=SettingsChoice(changes=("bits=6",))) for t in tasks(folder, out)],
            Counting,
        )
    )
    assert Counting.count == 3


def test_failed_cases_are_tried_again_when_resuming(folder, tmp_path):
    spoil(folder)
    run(folder, tmp_path / "out")
    (folder / "broken.png").write_bytes((folder / "a.png").read_bytes())
    results = run(folder, tmp_path / "out", resume=True)
    assert [outcome.reused for outcome in results] == [True, True, False, True, False]
    assert results[2].error == ""


def test_a_junk_mask_is_made_again_when_resuming(folder, tmp_path):
    """A record was trusted as long as some file was there."""
    out = tmp_path / "out"
    run(folder, out)
    before = masks(out)
    whole = (out / "masks" / "a.png").read_bytes()
    for place in ("masks", "strokes"):
        for junk in (b"junk", whole[:-20], (folder / "bb-strokes.png").read_bytes()):
            (out / place / "a.png").write_bytes(junk)
            results = run(folder, out, resume=True)
            assert [outcome.reused for outcome in results] == [False, True, True]
            assert masks(out) == before
            assert not any(outcome.error for outcome in results)
    (out / "strokes" / "a.png").unlink()
    assert [outcome.reused for outcome in run(folder, out, resume=True)] == [False, True, True]


@pytest.mark.parametrize(
    "change",
    [
        {"ious": ["x"]},
        {"ious": [0.5] * 9},
        {"ious": [1e999]},
        {"seconds": []},
        {"width": "wide"},
        {"height": 7},
        {"classes": 10**400},
        {"digests": []},
        {"digests": {"mask": 3}},
        {"name": "other"},
        {"key": None},
    ],
)
def test_a_record_that_does_not_fit_is_none(folder, tmp_path, change):
    out = tmp_path / "out"
    first = run(folder, out)
    path = out / "cases" / "a.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    results = run(folder, out, resume=True)
    assert [outcome.reused for outcome in results] == [False, True, True]
    assert [replace(o, reused=False, seconds=()) for o in results] == [
        replace(o, seconds=()) for o in first
    ]


def test_a_damaged_project_is_one_images_failure(folder, tmp_path):
    (folder / "a-strokes.png").unlink()
    for content in ("{", "[" * 100_000, '{"format": "segapp project", "version": 1e999}', "NaN"):
        with zipfile.ZipFile(folder / "a.segapp", "w") as archive:
            archive.writestr("project.json", content)
        results = run(folder, tmp_path / "out")
        assert [bool(outcome.error) for outcome in results] == [True, False, False]
        assert results[0].error.startswith("a.segapp is damaged: ")
        assert results[0].error.endswith(".")
