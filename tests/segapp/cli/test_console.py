"""Log messages, failures, odd names and Ctrl-C."""

import csv
import io
import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from segapp.__main__ import COMMANDS, main
from segapp.cli import console
from segapp.model.validation import sanitize

FAULT = (
    "internal error: ValueError: operands could not be broadcast together. This is a fault of "
    "segapp; run again with --debug for the traceback."
)


def faulty(*_, **__):
    raise ValueError("operands could not be broadcast together")


@pytest.fixture
def words(ball, tmp_path):
    return ["segment", ball.image, "--strokes", ball.strokes, "--out", tmp_path / "mask.png"]


def test_a_fault_of_the_program_is_called_so_and_logged(segapp, words, monkeypatch, caplog):
    monkeypatch.setattr("segapp.cli.segment.Segmenter", faulty)
    caplog.set_level(logging.DEBUG, "segapp")
    done = segapp(*words, "--json")
    assert done.code == 4
    assert done.err == f"segapp: {FAULT}\n"
    assert done.json == {"error": FAULT}
    assert [record.exc_info[0] for record in caplog.records if record.exc_info] == [ValueError]


def test_debug_prints_the_traceback(segapp, words, monkeypatch):
    monkeypatch.setattr("segapp.cli.segment.Segmenter", faulty)
    done = segapp(*words, "--debug")
    assert done.code == 4
    assert "Traceback (most recent call last):" in done.err
    assert "in faulty" in done.err
    assert done.err.endswith(f"segapp: {FAULT}\n")


def test_a_fault_with_one_image_stops_no_other(segapp, ball, tmp_path, monkeypatch):
    model = tmp_path / "ball.shlmodel"
    words = ("segment", ball.image, "--strokes", ball.strokes, "--out", tmp_path / "mask.png")
    assert segapp(*words, "--save-model", model).code == 0
    monkeypatch.setattr("segapp.app.result.picture_of", faulty)
    done = segapp("apply", model, ball.image, "--out", tmp_path / "out", "--debug")
    assert done.code == 3
    assert f"{ball.image}: {FAULT}\n" in done.err
    assert "in faulty" in done.err


def test_a_mistake_of_the_user_has_no_traceback(segapp, words):
    done = segapp(*words[:-1], "mask.nothing")
    assert done.code == 1
    assert done.err.startswith("segapp: --out: mask.nothing: wanted a format, or a name")
    assert done.err.count("\n") == 1


def test_verbose_names_files_and_times(segapp, words, ball, tmp_path):
    done = segapp(*words, "--verbose")
    assert done.code == 0
    assert f"INFO segapp.io.images: read {ball.image}: 90 x 60 pixels, " in done.err
    assert "INFO segapp.cli.segment: seconds: " in done.err
    assert "learning 0." in done.err
    assert f"wrote {tmp_path / 'mask.png'}\n" in done.err
    assert done.out == f"{tmp_path / 'mask.png'}\n"
    assert segapp(*words).err == ""  # and nothing of it afterwards
    assert not logging.getLogger("segapp").handlers


@pytest.mark.parametrize("command", [(name,) for name in COMMANDS[:-1]] + [("encoder", "add")])
def test_every_command_can_be_verbose(segapp, command):
    help_text = segapp(*command, "--help").out
    assert "-v, --verbose" in help_text
    assert "--debug" in help_text


# Names that are not UTF-8, or would steer a terminal -----------------------------


ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="no such names elsewhere")
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


@pytest.mark.slow
@ON_LINUX
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
    assert (out / "masks" / f"{sanitize(ODD)}.png").is_file()
    assert (out / "sheet.png").is_file()


@pytest.mark.slow
@ON_LINUX
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
    console.print_json({"file": "\x9b2J\u202egnp"})
    stream.flush()
    written = stream.buffer.getvalue().decode(encoding)
    first, second, third = written.splitlines()
    assert "caf" in first
    assert json.loads(second) == {"file": "中 caf\udce9"}
    assert json.loads(third) == {"file": "\x9b2J\u202egnp"}
    assert not {"\x9b", "\u202e", "\x1b"} & set(written)


def test_words_that_are_not_known_steer_no_terminal(capsys):
    with pytest.raises(SystemExit):
        main(["segment", "a.png", "--strokes", "s", "--out", "o", "--odd", "\x9b2J\u202e"])
    assert "unrecognized arguments: --odd \ufffd2J\ufffd" in capsys.readouterr().err


# Ctrl-C while the program still loads its libraries ------------------------------


ROOT = Path(__file__).parents[3]
# As numpy and scipy do it now and then: the interrupt comes out as something else.
SLOW = """
import os, signal, time
try:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(5)
except BaseException as error:
    raise ImportError("a part is missing") from error
"""


@pytest.mark.usefixtures("heeds_ctrl_c")
@pytest.mark.skipif(sys.platform == "win32", reason="signals of another kind")
@pytest.mark.parametrize(
    ("module", "words"),
    [("threadpoolctl", ["batch"]), ("tqdm", ["apply"]), ("numpy", ["segment"]), ("PySide6", [])],
)
def test_ctrl_c_during_the_imports_is_one_line(tmp_path, module, words):
    (tmp_path / f"{module}.py").write_text(SLOW)
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)]),
        "QT_QPA_PLATFORM": "offscreen",
    }
    done = subprocess.run(
        [sys.executable, "-m", "segapp", *words],
        capture_output=True,
        text=True,
        env=environment,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 130
    assert done.stderr == "segapp: stopped\n"
    assert done.stdout == ""
