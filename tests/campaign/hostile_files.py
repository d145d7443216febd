"""Damaged files for every reader: each is opened, or refused in one sentence.

``python -m tests.campaign.hostile_files --count 3000 --seed 1``, or one mutant again by
``--replay reader:seed:number``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tests.campaign.hostile_readers import READERS, SEGAPP, SHLCORE
from tests.campaign.hostile_worker import FAILED, OPENED, REFUSED, attacked, mutant, tried

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ALL = tuple(READERS)
OF_SEGAPP = tuple(reader.name for reader in SEGAPP)
OF_SHLCORE = tuple(reader.name for reader in SHLCORE)


@dataclass(frozen=True)
class Failure:
    """A mutant that was neither opened nor refused; ``replay`` makes it again."""

    replay: str
    what: str


@dataclass
class Row:
    """Counts of the mutants of one reader."""

    reader: str
    counts: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)

    @property
    def tried(self) -> int:
        """All mutants."""
        return self.counts.total()


@dataclass(frozen=True)
class Table:
    """A row for each reader."""

    rows: tuple[Row, ...]

    @property
    def failures(self) -> tuple[Failure, ...]:
        """All of them."""
        return tuple(failure for row in self.rows for failure in row.failures)

    def __str__(self) -> str:
        lines = [f"{'reader':<10} {'tried':>7} {'opened':>7} {'refused':>8} {'failed':>7}"]
        lines += [_line(row) for row in self.rows]
        for row in self.rows:
            lines += _explained(row)
        return "\n".join(lines)


def run(seed: int, count: int, readers: Iterable[str] = ALL) -> Table:
    """Try ``count`` mutants of each reader."""
    return Table(tuple(_row(name, seed, count) for name in readers))


def _row(name: str, seed: int, count: int) -> Row:
    row = Row(name)
    for verdict in attacked(name, seed, range(count)):
        row.counts[verdict.outcome] += 1
        if verdict.outcome == FAILED:
            row.failures.append(Failure(f"{name}:{seed}:{verdict.number}", verdict.what))
    return row


def _line(row: Row) -> str:
    opened, refused, failed = (row.counts[kind] for kind in (OPENED, REFUSED, FAILED))
    return f"{row.reader:<10} {row.tried:>7} {opened:>7} {refused:>8} {failed:>7}"


def _explained(row: Row) -> list[str]:
    """Show one replay for each different failure, the most frequent first."""
    kinds = Counter(failure.what[:60] for failure in row.failures)
    first = {failure.what[:60]: failure for failure in reversed(row.failures)}
    return [
        f"  {count:>5} x  {first[kind].replay:<18}  {first[kind].what}"
        for kind, count in kinds.most_common(12)
    ]


def replayed(text: str) -> str:
    """Open one mutant again, with its traceback; return what came of it."""
    name, seed, number = text.rsplit(":", 2)
    data = mutant(name, int(seed), int(number))
    with tempfile.TemporaryDirectory() as folder:
        verdict = tried(READERS[name], data, int(number), Path(folder), loud=True)
    return f"{verdict.outcome}: {verdict.what}"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the campaign from the command line; the exit code is 1 after a failure."""
    parser = argparse.ArgumentParser(description="Open damaged files with every reader.")
    parser.add_argument("--count", type=int, default=1000, help="mutants of each reader")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--readers", nargs="+", default=ALL, choices=ALL, metavar="READER")
    parser.add_argument(
        "--replay", metavar="READER:SEED:NUMBER", help="one mutant, with a traceback"
    )
    arguments = parser.parse_args(argv)
    if arguments.replay:
        sys.stdout.write(replayed(arguments.replay) + "\n")
        return 0
    table = run(arguments.seed, arguments.count, arguments.readers)
    sys.stdout.write(f"{table}\n")
    return 1 if table.failures else 0


if __name__ == "__main__":
    sys.exit(main())
