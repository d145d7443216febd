"""Summary, table, contact sheet and curve of a batch."""

import csv
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from segapp.batch.report import ContactSheet, draw_case, summary, write_curve, write_reports
from segapp.batch.task import Outcome
from segapp.model.classes import ClassInfo
from segapp.model.document import Document, Stroke
from segapp.model.picture import Picture

SIZE = (30, 40)


def case(classes=2):
    rgb = np.full((*SIZE, 3), (200, 30, 60), np.uint8)
    picture = Picture(rgb, None, Path("a.png"), "", "")
    names = tuple(ClassInfo(str(i), (0, 60 * i, 200)) for i in range(classes))
    document = Document(names).with_stroke(Stroke(((20.0, 15.0),), 5.0, 1))
    labels = np.ones(SIZE, np.uint8)
    labels[:, :20] = 0
    return picture, document, labels


HEADS = ("image", "strokes", "truth", "result", "paper")


def drawn_case(classes=2, truth=None):
    picture, document, labels = case(classes)
    return draw_case(picture, document, {"result": labels}, truth)


def test_a_truth_is_drawn_with_grey_where_it_does_not_judge():
    _, _, labels = case()
    truth = labels.astype(np.int16)
    truth[:5] = -1
    drawn = np.array(drawn_case(truth=truth)["truth"])
    assert (drawn[:5] == 128).all()
    assert (drawn[5:, :20] == (200, 30, 60)).all()
    assert (drawn[5:, 20:] == 255).all()


def test_heads_stand_over_their_columns(tmp_path):
    """Rows may lack a truth; what no row has takes no room."""
    made = ContactSheet(HEADS)
    black = Image.new("RGB", SIZE[::-1], "black")
    made.add("a", "a", {"image": black, "truth": black})
    made.add("b", "b", {"image": black})
    made.write(tmp_path / "sheet.png")
    with Image.open(tmp_path / "sheet.png") as sheet:
        dark = np.array(sheet.convert("L")) < 128
    middle = dark.shape[1] // 2
    assert dark[:30, :middle].any()
    assert dark[:30, middle:].any(), "the head of the truth"
    lower = dark.shape[0] * 3 // 4
    assert dark[lower:, :middle].any()
    assert not dark[lower:, middle + 10 :].any(), "the second row has no truth"


def test_image_strokes_and_result():
    drawn = drawn_case()
    image, strokes, result = (np.array(drawn[head]) for head in ("image", "strokes", "result"))
    assert (image == (200, 30, 60)).all()
    assert strokes[15, 20].tolist() == [0, 60, 200]
    assert strokes[0, 0].tolist() == [200, 30, 60]
    assert result[5, 5].tolist() == [200, 30, 60]
    assert result[5, 30].tolist() == [255, 255, 255]


def test_more_classes_are_tinted():
    result = np.array(drawn_case(4)["result"]).astype(int)
    assert np.abs(result[5, 30] - (80, 48, 144)).max() <= 1
    assert result[5, 5].tolist() != result[5, 30].tolist()


@pytest.mark.parametrize("count", [1, 2, 7])
def test_a_sheet_holds_all_its_rows(tmp_path, count):
    made = ContactSheet(HEADS)
    for i in range(count):
        made.add(str(i), f"{i} é中", drawn_case())
    made.write(tmp_path / "sheet.png")
    with Image.open(tmp_path / "sheet.png") as sheet:
        pixels = np.array(sheet.convert("RGB"))
    red = (np.abs(pixels.astype(int) - (200, 30, 60)).max(axis=2) < 40).sum()
    # Fitted into 240 x 180, a picture fills it; of three, one is half white and one has a dot.
    assert red == pytest.approx(count * 240 * 180 * 2.46, rel=0.05)


def test_rows_stand_in_the_order_of_their_names_whenever_they_come(tmp_path):
    for name, order in (("one", "abcdefg"), ("two", "gcafbed")):
        made = ContactSheet(HEADS)
        for row in order:
            made.add(row, row, {"image": Image.new("RGB", SIZE, (20 * ord(row) % 256, 90, 90))})
        made.write(tmp_path / f"{name}.png")
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()


def test_a_sheet_of_nothing_is_none(tmp_path):
    ContactSheet(HEADS).write(tmp_path / "sheet.png")
    assert not list(tmp_path.iterdir())


def test_the_curve_is_a_picture(tmp_path):
    pytest.importorskip("matplotlib")
    write_curve(tmp_path / "curve.png", [0.3, 0.8, 0.9], "best")
    with Image.open(tmp_path / "curve.png") as image:
        assert image.width > 500


def test_without_matplotlib_there_is_an_import_error(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError):
        write_curve(tmp_path / "curve.png", [0.3, 0.8], "best")
    assert not list(tmp_path.iterdir())


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
