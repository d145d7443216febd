"""Process for mutants, which may hang, use up memory or die there."""

from __future__ import annotations

import logging
import multiprocessing
import os
import resource
import tempfile
import time
import traceback
import warnings
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from tests.campaign.hostile_readers import READERS, Reader

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.connection import Connection

CPU_SECONDS = 10
_HEADROOM = 3 << 30  # address space beyond what the process has at its start
_TICKS = os.sysconf("SC_CLK_TCK")

OPENED, REFUSED, FAILED = "opened", "refused", "failed"


@dataclass(frozen=True)
class Verdict:
    """Outcome of a mutant; ``what`` is the sentence or the failure."""

    number: int
    outcome: str
    what: str = ""


@cache
def seeds_of(name: str) -> tuple[bytes, ...]:
    """Return the good files of a reader, made once."""
    return tuple(READERS[name].seeds())


def mutant(name: str, seed: int, number: int) -> bytes:
    """Make a damaged file; the same for the same arguments."""
    rng = Random(f"{name}:{seed}:{number}")
    data = rng.choice(seeds_of(name))
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        data = READERS[name].damage(data, rng)
    return data


def attacked(name: str, seed: int, numbers: range) -> Iterator[Verdict]:
    """Try mutants in a process; when it dies, continue in another after the fatal one."""
    seeds_of(name)
    context = multiprocessing.get_context("fork")
    while numbers:
        here, there = context.Pipe(duplex=False)
        process = context.Process(target=_work, args=(name, seed, numbers, there), daemon=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of forking with the threads of libraries about
            process.start()
        there.close()
        last = numbers.start - 1
        for verdict in _watched(here, process, numbers):
            last = verdict.number
            yield verdict
        process.join(5)
        numbers = range(last + 1, numbers.stop)


def _watched(
    pipe: Connection, process: multiprocessing.process.BaseProcess, numbers: range
) -> Iterator[Verdict]:
    number, began = numbers.start, _cpu_seconds(process.pid)
    while number < numbers.stop:
        try:
            if pipe.poll(1.0):
                verdict = pipe.recv()
                number, began = verdict.number + 1, _cpu_seconds(process.pid)
                yield verdict
                continue
        except EOFError:
            process.join(5)
            yield Verdict(number, FAILED, f"the process died with code {process.exitcode}")
            return
        if _cpu_seconds(process.pid) - began > CPU_SECONDS:
            process.kill()
            yield Verdict(number, FAILED, f"more than {CPU_SECONDS} s of CPU time")
            return


def _cpu_seconds(pid: int | None) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # it is gone, or this is no Linux
        return time.monotonic()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _work(name: str, seed: int, numbers: range, pipe: Connection) -> None:
    limit = _memory("VmSize") + _HEADROOM
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # libtiff writes there by itself
    with tempfile.TemporaryDirectory() as folder:
        for number in numbers:
            pipe.send(tried(READERS[name], mutant(name, seed, number), number, Path(folder)))


def tried(
    reader: Reader, data: bytes, number: int, folder: Path, *, loud: bool = False
) -> Verdict:
    """Open one file and judge what came of it."""
    path = folder / reader.file_name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    _forget_peak()
    before, began = _memory("VmRSS"), time.process_time()
    try:
        reader.open(path)
        verdict = Verdict(number, OPENED)
    except Exception as error:  # noqa: BLE001 - that is the question
        if loud:
            traceback.print_exc()
        verdict = Verdict(number, *_judged(reader, error))
    if verdict.outcome != FAILED:
        seconds, megabytes = time.process_time() - began, (_memory("VmHWM") - before) >> 20
        if seconds > CPU_SECONDS:
            verdict = Verdict(number, FAILED, f"{seconds:.0f} s of CPU time")
        elif megabytes > reader.megabytes:
            verdict = Verdict(
                number, FAILED, f"{megabytes} MB of memory, where {reader.megabytes} are allowed"
            )
    return verdict


def _judged(reader: Reader, error: Exception) -> tuple[str, str]:
    sentence = str(error)
    if not isinstance(error, reader.errors):
        return FAILED, f"{type(error).__name__}: {sentence[:200]}"
    if isinstance(error, UnicodeError) or type(error) in (IndexError, KeyError):
        return FAILED, f"{type(error).__name__}: {sentence[:200]}"
    bad = (
        not sentence
        or len(sentence) > 1000
        or "\n" in sentence
        or "Traceback" in sentence
        or (reader.ends_with_stop and not sentence.endswith("."))
    )
    return (FAILED, f"not one sentence: {sentence[:200]!r}") if bad else (REFUSED, sentence)


def _memory(field: str) -> int:
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1]) << 10
    return 0


def _forget_peak() -> None:
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
