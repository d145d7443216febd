"""Files whose names are not UTF-8, or would steer a terminal."""

import csv
import io
import json
import os
import subprocess
import sys

import pytest

from segapp.cli import console

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
ODD = os.fsdecode(b"caf\xe9\x1b[2J")
QUICK = ("--set", "prototypes=100")


def program(*words):
    environment = os.environ | {"PYTHONIOENCODING": "utf-8:strict"}
    return subprocess.run(
        [sys.executable, "-m", "segapp", *map(os.fsencode, map(str, words))],
        capture_output=True,
        env=environment,
        check=False,
    )


@pytest.fixture
def odd(ball):
    for end, source in ((".png", ball.image), ("-strokes.png", ball.strokes)):
        (ball.folder / f"{ODD}{end}").write_bytes(source.read_bytes())
    return ball.folder / f"{ODD}.png"


def test_a_batch_with_a_name_that_is_not_utf8(odd, ball, tmp_path):
    bad = ball.folder / "bad\udcff.png"
    bad.write_bytes(b"no image")
    (ball.folder / "bad\udcff-strokes.png").write_bytes(b"no strokes")
    out = tmp_path / "out"
    for more in ((), ("--resume",), ("--json",)):
        done = program("batch", ball.folder, "--out", out, *QUICK, *more)
        assert done.returncode == 3, done.stderr
        assert b"Traceback" not in done.stderr
        assert b"\x1b" not in done.stderr
        done.stdout.decode("utf-8")
    with (out / "scores.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["image"]: row["error"] for row in csv.DictReader(file)}
    assert rows.pop("bad\ufffd").startswith("bad\ufffd.png is not an image")
    assert rows == {"ball": "", "caf\ufffd\ufffd[2J": ""}
    assert (out / "masks" / f"{ODD}.png").is_file()
    assert (out / "sheet.png").is_file()


def test_segment_export_and_apply_with_such_names(odd, ball, tmp_path):
    mask = tmp_path / f"{ODD}.png"
    model = tmp_path / f"{ODD}.shlmodel"
    strokes = odd.with_name(f"{ODD}-strokes.png")
    words = ("segment", odd, "--strokes", strokes, "--out", mask, "--save-model", model, *QUICK)
    done = program(*words, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["files"] == [str(mask), str(model)]
    assert program(*words).returncode == 0
    done = program("apply", model, odd, tmp_path / "none\udcff.png", "--out", tmp_path / "o")
    assert done.returncode == 3
    assert "There is no file" in done.stderr.decode()
    done = program("segment", tmp_path / "gone\udcff.png", "--strokes", strokes, "--out", mask)
    assert done.returncode == 1
    assert done.stderr.decode().startswith("segapp: There is no file ")


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "cp1252"])
def test_printing_never_fails(monkeypatch, encoding):
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="strict")
    monkeypatch.setattr(sys, "stdout", stream)
    console.print_line("中 caf\udce9 \x1b[2J")
    console.print_json({"file": "中 caf\udce9"})
    stream.flush()
    first, second = stream.buffer.getvalue().decode(encoding).splitlines()
    assert "caf" in first
    assert json.loads(second) == {"file": "中 caf\udce9"}
