import csv
import json
import signal
import sys
import time
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from segapp.batch import Outcome, Task, outcomes, summary, write_reports
from segapp.batch.cases import find_cases
from segapp.batch.task import run_case
from segapp.model.settings import SettingsChoice
from tests.segapp.fake_segmenter import Deadly, NearestColour, Slow

SIZE = (48, 64)


def make_case(folder, name, corner=(20, 90, 200), truth=True):
    """A bright disc on a dark ground with noise, so that nearest colours make mistakes."""
    rng = np.random.default_rng(len(name))
    y, x = np.mgrid[: SIZE[0], : SIZE[1]]
    disc = (y - 24) ** 2 + (x - 32) ** 2 <= 15**2
    rgb = np.where(disc[..., np.newaxis], (200, 180, 60), corner)
    rgb = rgb + rng.normal(0, 70, (*SIZE, 3))
    rgb[0, 0] = corner
    Image.fromarray(np.clip(rgb, 0, 255).astype(np.uint8)).save(folder / f"{name}.png")
    strokes = np.zeros(SIZE, np.uint8)
    strokes[22:26, 30:34], strokes[3:6, 3:20] = 1, 2
    Image.fromarray(strokes).save(folder / f"{name}-strokes.png")
    if truth:
        values = np.where(disc, 255, 0).astype(np.uint8)
        Image.fromarray(values).save(folder / f"{name}-truth.png")
    return disc


@pytest.fixture
def folder(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    for name in ("a", "bb", "ccc é"):
        make_case(data, name)
    return data


def tasks(folder, out, **options):
    return [Task(case, out, SettingsChoice(), **options) for case in find_cases(folder)]


def run(folder, out, jobs=1, learner=NearestColour, **options):
    results = list(outcomes(tasks(folder, out, **options), learner, jobs))
    return sorted(results, key=lambda outcome: outcome.name)


def masks(out):
    return {path.name: path.read_bytes() for path in sorted((out / "masks").iterdir())}


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


@pytest.mark.slow
def test_jobs_do_not_change_the_results(folder, tmp_path):
    one = run(folder, tmp_path / "one", jobs=1, robot=3)
    two = run(folder, tmp_path / "two", jobs=2, robot=3)
    assert [replace(o, seconds=()) for o in one] == [replace(o, seconds=()) for o in two]
    assert masks(tmp_path / "one") == masks(tmp_path / "two")


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
        "broken": "broken.png is not an image: wanted JPEG, PNG, BMP, TIFF, WebP or GIF.",
        "ccc é": "",
        "lonely": "Two classes need strokes.",
    }
    assert set(masks(tmp_path / "out")) == {"a.png", "bb.png", "ccc é.png"}


class Puzzled(NearestColour):
    def updates(self, document, settings):
        raise KeyError("odd")


def test_even_a_mistake_in_the_program_is_one_images_failure(folder, tmp_path):
    results = run(folder, tmp_path / "out", learner=Puzzled)
    assert {outcome.error for outcome in results} == {"KeyError: 'odd' is missing."}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_a_process_that_dies_costs_its_image_alone(folder, tmp_path):
    make_case(folder, "deadly", corner=(255, 0, 0))
    results = run(folder, tmp_path / "out", jobs=2, learner=Deadly)
    errors = {outcome.name: outcome.error for outcome in results}
    assert errors.pop("deadly").startswith("Its process ended unexpectedly")
    assert set(errors.values()) == {""}


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
        outcomes(
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


def test_a_stop_is_seen_between_two_steps(folder, tmp_path):
    from segapp.batch.task import Stopped

    asked = iter([False, True])
    with pytest.raises(Stopped):
        run_case(tasks(folder, tmp_path / "out")[0], NearestColour, lambda: next(asked))
    assert not (tmp_path / "out" / "masks").exists()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGALRM")
def test_an_interrupt_stops_the_processes(folder, tmp_path):
    make_case(folder, "d")
    start = time.perf_counter()
    results = outcomes(tasks(folder, tmp_path / "out"), Slow, 2)

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 3.0)
    try:
        with pytest.raises(KeyboardInterrupt):
            next(results)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert time.perf_counter() - start < 120  # not the ten minutes: a busy machine starts slowly
    assert not (tmp_path / "out" / "masks").exists()


def test_the_summary_against_numbers_by_hand():
    results = [
        Outcome("a", 4, 3, 2, (0.5, 0.9, 0.96), (0.3, 0.2, 0.4)),
        Outcome("b", 4, 3, 2, (0.7, 0.7, 0.86), (0.1, 0.1, 0.1)),
        Outcome("c", 4, 3, 2, (), (9.0,)),
        Outcome("d", error="It is broken."),
    ]
    result = summary(results, "best", 2)
    assert result["images"] == 4
    assert result["failed"] == 1
    assert result["preset"] == "best"
    assert result["mean_iou"] == pytest.approx(0.6)
    assert result["seconds_per_update"] == pytest.approx((0.3 + 0.1 + 9.0) / 3)
    robot = result["robot"]
    assert robot["auc"] == pytest.approx((0.5 + 0.9 + 0.96 + 0.7 + 0.7 + 0.86) / 6)
    assert robot["strokes_to_85"] == pytest.approx((1 + 2) / 2)
    assert robot["strokes_to_90"] == pytest.approx((1 + 3) / 2)
    assert robot["strokes_to_95"] == pytest.approx((2 + 3) / 2)
    assert robot["curve"] == pytest.approx([0.6, 0.8, 0.91])
    assert "robot" not in summary(results, "best", None)


def test_a_summary_of_failures_has_no_figures(tmp_path):
    result = write_reports(tmp_path, [Outcome("a", error="No.")], "best", 2)
    assert json.loads((tmp_path / "summary.json").read_text()) == result
    assert result["mean_iou"] is None
    assert result["robot"]["curve"] == []


def test_the_scores_are_a_row_an_image(tmp_path):
    results = [
        Outcome("b", error="It is, well, broken."),
        Outcome("a é", 4, 3, 2, (0.5, 0.9), (9.0, 0.2)),
    ]
    write_reports(tmp_path, results, "best", 1)
    with (tmp_path / "scores.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["image"] for row in rows] == ["a é", "b"]
    assert rows[0]["iou"] == "0.500000"
    assert rows[0]["iou_1"] == "0.900000"
    assert rows[0]["strokes_to_85"] == "1"
    assert rows[1]["error"] == "It is, well, broken."
    assert rows[1]["iou"] == ""


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


@pytest.mark.parametrize("name", ["=cmd|' /C calc'!A0", "+1+1", "-2", "@SUM(1)", "\t=1", "\r=1"])
def test_scores_hold_no_formula(tmp_path, name):
    write_reports(tmp_path, [Outcome(name, error=name)], "best", None)
    with (tmp_path / "scores.csv").open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    assert row["image"].startswith("'")
    assert row["error"].startswith("'")


def test_scores_of_names_that_are_not_utf8(tmp_path):
    """One such name cost the scores of the whole run."""
    results = [Outcome("caf\udce9", error="There is no caf\udce9."), Outcome("good", error="x")]
    write_reports(tmp_path, results, "best", None)
    text = (tmp_path / "scores.csv").read_text(encoding="utf-8")
    assert "caf\ufffd" in text
    assert "good" in text


def test_a_damaged_project_is_one_images_failure(folder, tmp_path):
    (folder / "a-strokes.png").unlink()
    for content in ("{", "[" * 100_000, '{"format": "segapp project", "version": 1e999}', "NaN"):
        with zipfile.ZipFile(folder / "a.segapp", "w") as archive:
            archive.writestr("project.json", content)
        results = run(folder, tmp_path / "out")
        assert [bool(outcome.error) for outcome in results] == [True, False, False]
        assert results[0].error.startswith("a.segapp is damaged: ")
        assert results[0].error.endswith(".")
