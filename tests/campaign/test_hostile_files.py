import os
import signal
import sys
from random import Random

import pytest

from tests.campaign import fuzz, hostile_files, hostile_mutations, hostile_readers, hostile_worker

pytestmark = [
    pytest.mark.campaign,
    pytest.mark.skipif(sys.platform != "linux", reason="limits of another kind"),
]
COUNT, SEED = 40, 20


@pytest.mark.parametrize("reader", hostile_files.ALL)
def test_damaged_files_are_opened_or_refused_in_one_sentence(reader):
    table = hostile_files.run(SEED, COUNT, [reader])
    assert table.rows[0].tried == COUNT
    assert not table.failures, str(table)


@pytest.mark.parametrize("reader", hostile_files.ALL)
def test_undamaged_files_are_opened(reader, tmp_path):
    for seed in hostile_worker.seeds_of(reader):
        if reader not in ("strokes", "truth", "record"):  # some of their seeds fit other sizes
            verdict = hostile_worker.tried(hostile_readers.READERS[reader], seed, 0, tmp_path)
            assert verdict.outcome == hostile_worker.OPENED, verdict.what


def test_a_mutant_can_be_made_again():
    assert hostile_worker.mutant("png", 3, 4) == hostile_worker.mutant("png", 3, 4)
    assert hostile_worker.mutant("png", 3, 4) != hostile_worker.mutant("png", 3, 5)


@pytest.mark.slow
def test_the_fuzzer_runs_or_says_why_not(capsys):
    code = fuzz.main(["--seconds", "2", "--readers", "settings"])
    told = capsys.readouterr().out
    assert code == 0, told
    assert "skipped: atheris" in told or "| fuzz | files for settings |" in told


def test_a_number_alone_can_be_damaged_too():
    assert hostile_worker.mutant("journal", 2026, 274)


def test_mutants_are_not_so_large_that_making_them_fails():
    assert len(hostile_worker.mutant("record", 3103, 353)) < 60 << 20  # was 2 GB


def hang(path):
    while True:
        pass


def burst(path):
    return len(b"x" * (400 << 20))


def burst_utterly(path):
    return bytes(1 << 40)


def die(path):
    os.kill(os.getpid(), signal.SIGKILL)


def ramble(path):
    raise ValueError("one line\nand another.")


def mumble(path):
    raise ValueError("no full stop")


def trip(path):
    raise KeyError("x")


@pytest.mark.parametrize(
    ("fault", "what"),
    [
        (hang, "more than 1 s of CPU time"),
        (burst, "MB of memory, where 300 are allowed"),
        (burst_utterly, "MemoryError"),
        (die, "the process died with code -9"),
        (ramble, "not one sentence"),
        (mumble, "not one sentence"),
        (trip, "KeyError"),
    ],
)
def test_each_kind_of_failure_is_recorded_and_the_others_go_on(monkeypatch, fault, what):
    """The attack itself is tested: a reader that fails at every other file."""
    calls = iter(range(10**6))

    def opened(path):
        return fault(path) if next(calls) % 2 else None

    reader = hostile_readers.Reader(
        "faulty", "a.bin", lambda: [b"abc"], lambda data, rng: data, opened, (ValueError,)
    )
    monkeypatch.setitem(hostile_readers.READERS, "faulty", reader)
    if fault is hang:  # a busy machine may take a second for the others
        monkeypatch.setattr(hostile_worker, "CPU_SECONDS", 1)
    (row,) = hostile_files.run(0, 4, ["faulty"]).rows
    assert row.tried == 4
    assert row.failures
    assert all(what in failure.what for failure in row.failures)
    assert row.failures[0].replay == "faulty:0:1"


def test_json_that_is_a_mere_number_is_damaged_too():
    """An attack that fell over its own feet, and was counted as the reader's failure."""
    assert isinstance(hostile_mutations.of_json(b"1e308", Random(1)), bytes)
