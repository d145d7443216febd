"""Log messages and failures of the commands."""

import logging

import pytest

from segapp.__main__ import COMMANDS

FAULT = (
    "internal error: ValueError: operands could not be broadcast together. This is a fault of "
    "segapp; run again with --debug for the traceback."
)


def faulty(*_):
    raise ValueError("operands could not be broadcast together")


@pytest.fixture
def words(ball, tmp_path):
    return ["segment", ball.image, "--strokes", ball.strokes, "--out", tmp_path / "mask.png"]


def test_a_fault_of_the_program_is_called_so_and_logged(segapp, words, monkeypatch, caplog):
    monkeypatch.setattr("segapp.cli.segment.load_image_with_strokes", faulty)
    caplog.set_level(logging.DEBUG, "segapp")
    done = segapp(*words, "--json")
    assert done.code == 4
    assert done.err == f"segapp: {FAULT}\n"
    assert done.json == {"error": FAULT}
    assert [record.exc_info[0] for record in caplog.records if record.exc_info] == [ValueError]


def test_debug_prints_the_traceback(segapp, words, monkeypatch):
    monkeypatch.setattr("segapp.cli.segment.load_image_with_strokes", faulty)
    done = segapp(*words, "--debug")
    assert done.code == 4
    assert "Traceback (most recent call last):" in done.err
    assert "in faulty" in done.err
    assert done.err.endswith(f"segapp: {FAULT}\n")


def test_a_fault_with_one_image_stops_no_other(segapp, ball, tmp_path, monkeypatch):
    model = tmp_path / "ball.shlmodel"
    words = ("segment", ball.image, "--strokes", ball.strokes, "--out", tmp_path / "mask.png")
    assert segapp(*words, "--save-model", model).code == 0
    monkeypatch.setattr("segapp.cli.apply.folder_display", faulty)
    done = segapp("apply", model, ball.image, "--out", tmp_path / "out", "--debug")
    assert done.code == 3
    assert f"{ball.image}: {FAULT}\n" in done.err
    assert "in faulty" in done.err


def test_a_mistake_of_the_user_has_no_traceback(segapp, words):
    done = segapp(*words[:-1], "mask.nothing")
    assert done.code == 1
    assert done.err.startswith("segapp: --out: wanted a name that ends in")
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
