import json

import pytest

from segapp import Segmenter


def test_a_pixel_is_explained_as_json(segapp, ball):
    done = segapp("explain", ball.image, "--strokes", ball.strokes, "--at", "45,40")
    assert done.code == 0
    plain = json.loads(done.out)
    assert [stroke["class"] for stroke in plain["strokes"]] == ["foreground", "background"]
    (pixel,) = plain["pixels"]
    assert pixel["class"] == "foreground"
    assert pixel["decisive_strokes"] == [1]
    assert {1, 2} >= {int(number) for number in pixel["stroke_shares"]}
    total = sum(part["value"] for part in pixel["contributions"])
    assert total == pytest.approx(pixel["lead"], abs=1e-4)
    assert set(pixel["code"]) == {"values", "codewords", "deciding_bits"}


def test_it_is_that_of_the_python_interface(segapp, ball, tmp_path):
    out = tmp_path / "why.json"
    done = segapp(
        "explain", ball.image, "--strokes", ball.project, "--at", "45,40", "--at", "3,50",
        "--out", out,
    )  # fmt: skip
    pixels = json.loads(out.read_text("utf-8"))["pixels"]
    assert done.out.splitlines() == [
        f"{at}: {pixel['sentence']}" for at, pixel in zip(("45,40", "3,50"), pixels, strict=True)
    ]
    result = Segmenter(ball.image, ball.project).result
    assert pixels[0] == json.loads(json.dumps(result.explain(45, 40).to_plain(result.classes)))


def test_a_point_outside_is_refused(segapp, ball):
    done = segapp("explain", ball.image, "--strokes", ball.strokes, "--at", "90,10")
    assert done.code == 1
    assert "--at: wanted a pixel of 90 x 60, got 90,10." in done.err
    done = segapp("explain", ball.image, "--strokes", ball.strokes, "--at", "ten")
    assert done.code == 2
    assert "wanted X,Y in pixels, got 'ten'" in done.err
