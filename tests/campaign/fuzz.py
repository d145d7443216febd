"""Coverage-guided fuzzing of the file readers by atheris, where it is installed.

``python -m tests.campaign.fuzz --seconds 60 --seed 1 [--readers project model shl]``. Beside the
damage of `hostile_files`, libFuzzer keeps the files that reach new lines and damages them further.
A file that fails is kept in the folder that ``--keep`` names.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from tests.campaign.results import Failure, Row, table

if TYPE_CHECKING:
    from collections.abc import Sequence

# Where a file has an inside that lines of Python look at: archives, JSON, text, and headers.
READERS = (
    *("project", "model", "settings", "record", "shl", "npz", "csv", "libsvm", "idx"),
    *("journal", "strokes", "png", "tiff"),
)
LARGEST = 1 << 20  # bytes of a file
ROOT = Path(__file__).parents[2]


def run(name: str, seed: int, seconds: float, keep: Path) -> Row:
    """Fuzz one reader in a process of its own."""
    row = Row("fuzz", f"files for {name}")
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        words = [name, folder, f"-max_total_time={seconds:.0f}", f"-seed={seed}"]
        words += [f"-artifact_prefix={keep}/{name}-", f"-max_len={LARGEST}", "-timeout=30"]
        words += ["-rss_limit_mb=4096", "-print_final_stats=1"]
        done = subprocess.run(
            [sys.executable, "-m", "tests.campaign.fuzz", "--one", *words],
            cwd=ROOT,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    executed = re.findall(r"stat::number_of_executed_units: +(\d+)", done.stderr)
    reached = re.findall(r" cov: (\d+) ", done.stderr)
    row.tried = int(executed[-1]) if executed else 0
    row.note = f"{reached[-1]} places of the code reached" if reached else ""
    if done.returncode or not executed:
        told = re.findall(r"(?:Error|Exception): .*", done.stderr) or [done.stderr[-300:]]
        written = re.findall(r"Test unit written to (\S+)", done.stderr) or ["no file"]
        row.failures.append(Failure(written[-1], told[-1]))
    return row


def attack(name: str, folder: Path, words: Sequence[str]) -> None:
    """Let libFuzzer call one reader until it says that the time is over."""
    import atheris

    with atheris.instrument_imports(include=["segapp", "shlcore"]):
        from tests.campaign.hostile_readers import READERS as ALL
        from tests.campaign.hostile_worker import FAILED, seeds_of, tried
    reader, corpus = ALL[name], folder / "corpus"
    corpus.mkdir()
    for number, data in enumerate(seeds_of(name)):
        (corpus / str(number)).write_bytes(data)

    def one(data: bytes) -> None:
        verdict = tried(reader, data, 0, folder)
        if verdict.outcome == FAILED:
            raise RuntimeError(verdict.what)

    def mutated(data: bytes, largest: int, seed: int) -> bytes:
        rng = Random(seed)
        if rng.random() < 0.5:
            return bytes(atheris.Mutate(data, largest))
        return reader.damage(data, rng)[:largest]

    # The first word is libFuzzer's own name, and must be no option.
    atheris.Setup(["fuzz", *words, str(corpus)], one, custom_mutator=mutated)
    atheris.Fuzz()


def main(argv: Sequence[str] | None = None) -> int:
    """Fuzz the readers one after the other; the exit code says whether any failed."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.campaign.fuzz",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="for each reader")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--readers", nargs="+", default=READERS, choices=READERS)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where files that failed go")
    arguments = parser.parse_args(argv)
    if importlib.util.find_spec("atheris") is None:
        sys.stdout.write("skipped: atheris is not installed (pip install atheris)\n")
        return 0
    rows = []
    with ExitStack() as stack:
        keep = arguments.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        keep.mkdir(parents=True, exist_ok=True)
        for name in arguments.readers:
            rows.append(run(name, arguments.seed, arguments.seconds, keep.absolute()))
            sys.stdout.write(f"{name} done\n")
            sys.stdout.flush()
    sys.stdout.write(table(rows))
    return 1 if any(row.failures for row in rows) else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        attack(sys.argv[2], Path(sys.argv[3]), sys.argv[4:])
    else:
        sys.exit(main())
