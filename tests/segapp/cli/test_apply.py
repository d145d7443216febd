import numpy as np
from PIL import Image

from segapp.batch.robot_user import iou


def test_a_model_serves_other_images(segapp, ball, tmp_path):
    model = tmp_path / "models" / "ball.shlmodel"
    done = segapp(
        "segment", ball.image, "--strokes", ball.project, "--out", tmp_path / "m.png",
        "--save-model", model, "--json",
    )  # fmt: skip
    assert done.json["files"] == [str(tmp_path / "m.png"), str(model)]

    others = []
    for seed, centre in ((1, (25, 30)), (2, (33, 60))):
        path = ball.folder / f"other {seed}.png"
        others.append((path, ball.draw(path, seed, centre)))
    bad = ball.folder / "bad.png"
    bad.write_text("no image")
    out = tmp_path / "masks"
    done = segapp("apply", model, others[0][0], bad, others[1][0], "--out", out, "--json")
    assert done.code == 3
    assert (done.json["images"], done.json["failed"]) == (3, 1)
    assert done.json["results"][1]["error"].startswith("bad.png is not an image")
    assert "bad.png is not an image" in done.err
    for (path, inside), result in zip(others, done.json["results"][::2], strict=True):
        assert result["files"] == [str(out / path.name)]
        with Image.open(out / path.name) as image:
            labels = np.where(np.array(image) == 255, 0, 1)
        assert iou(labels, np.where(inside, 0, 1)) > 0.8

    copies = tmp_path / "copies"
    copies.mkdir()
    copy = copies / others[0][0].name
    copy.write_bytes(others[0][0].read_bytes())
    done = segapp("apply", model, others[0][0], copy, "--out", out, "--as", "numpy")
    assert done.code == 0
    assert [line.rsplit("/")[-1] for line in done.out.splitlines()] == [
        "other 1.npz",
        "other 1 2.npz",
    ]


def test_what_cannot_be_applied_gives_a_sentence(segapp, ball, tmp_path):
    (tmp_path / "m.shlmodel").write_text("hello")
    done = segapp("apply", tmp_path / "m.shlmodel", ball.image, "--out", tmp_path / "out")
    assert done.code == 1
    assert done.err.count("\n") == 1
    assert "m.shlmodel" in done.err
    done = segapp("apply", tmp_path / "none.shlmodel", ball.image, "--out", tmp_path / "out")
    assert done.code == 1
    assert "none.shlmodel" in done.err
    assert not (tmp_path / "out").exists()
