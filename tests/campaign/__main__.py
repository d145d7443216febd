"""Command line: ``python -m tests.campaign --minutes 30 --seed 1``.

``--only kills,power,shared,folders,users,faults,soak,files`` chooses parts.
``--full`` instead of ``--minutes`` goes on until as much was tried as a full run asks for.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import time

PARTS = ("faults", "folders", "users", "kills", "power", "shared", "soak", "files")
# Of the minutes that are given; faults and folders take as long as they take.
SHARES = {"users": 0.2, "kills": 0.3, "power": 0.1, "shared": 0.15, "soak": 0.15, "files": 0.1}
PLENTY = 10**9
# A full run: kills, power losses, actions in two windows and of each kind of user, strokes,
# mutants of each reader.
FULL = {
    "kills": 300,
    "power": 20,
    "shared": 20_000,
    "users": 5000,
    "soak": 2000,
    "files": 1000,
}
MUTANTS_A_SECOND = 8  # of each reader, on a machine that others use too


def _part(name):
    modules = {
        "users": "random_users",
        "files": "hostile_files",
        "folders": "hostile_folders",
        "power": "power_loss",
        "shared": "shared_folders",
    }
    return importlib.import_module(f"tests.campaign.{modules.get(name, name)}")


def run(name, seed, seconds=None):
    """Run one part for some seconds, or in full; return its rows."""
    from tests.campaign.results import Failure, Row

    if name in ("faults", "folders"):
        return _part(name).run()
    if name != "files":
        return _part(name).run(seed, FULL[name] if seconds is None else PLENTY, seconds)
    count = FULL[name] if seconds is None else max(1, int(seconds * MUTANTS_A_SECOND))
    found = _part(name).run(seed, count)
    whole = Row("files", f"damaged files for {len(found.rows)} readers")
    for row in found.rows:
        whole.tried += row.tried
        whole.count(**row.counts)
    whole.failures += [Failure(f"files:{each.replay}", each.what) for each in found.failures]
    return [whole]


def replay(words):
    """Do once more what failed: the words are those of the table."""
    from tests.campaign import (
        faults,
        hostile_files,
        hostile_folders,
        kills,
        power_loss,
        random_users,
        shared_folders,
        soak,
    )
    from tests.campaign.results import Row

    part, *rest = words.split(":")
    if part in ("kills", "power"):
        rows = {}
        if rest[0] == "saves":
            return [power_loss.cut_saves(rest[1], int(rest[2]))]
        (kills if part == "kills" else power_loss).chain(rest[0], int(rest[1]), rows)
        return list(rows.values())
    if part == "shared":
        row, (kind, seed, *counts) = Row("shared", words), rest
        with kills.Nursery() as nursery:
            shared_folders.pair(kind, seed, *map(int, counts), nursery, row)
        return [row]
    if part == "folders":
        return hostile_folders.run([rest[0]], 0)
    if part == "batch":
        return [kills.batch(rest[0], int(rest[1]))]
    if part == "users":
        random_users.one(rest[0], int(rest[1]), shrink=True)
        return []
    if part == "faults":
        return faults.run(rest)
    if part == "soak":
        return soak.run(rest[0], int(rest[1]))
    if part == "files":
        sys.stdout.write(hostile_files.replayed(":".join(rest)) + "\n")
        return []
    raise ValueError(f"replay: wanted {', '.join(PARTS)} or batch, got {part}")


def main():
    """Run the chosen parts and write the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaign", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--full", action="store_true", help="as much as a full run asks for")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--replay", metavar="PART:SEED:NUMBER")
    arguments = parser.parse_args()
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from tests.campaign.results import table

    if arguments.replay:
        rows = replay(arguments.replay)
    else:
        seed = arguments.seed if arguments.seed is not None else int(time.time())
        sys.stdout.write(f"seed {seed}\n")
        chosen = [part for part in PARTS if part in arguments.only.split(",")]
        whole = sum(SHARES.get(part, 0.0) for part in chosen) or 1.0
        rows = []
        for part in chosen:
            seconds = 60 * arguments.minutes * SHARES.get(part, 0.0) / whole
            began = time.monotonic()
            found = run(part, seed, None if arguments.full else seconds)
            sys.stdout.write(f"{part} done in {time.monotonic() - began:.0f} s\n{table(found)}\n")
            sys.stdout.flush()
            rows += found
    sys.stdout.write(table(rows))
    return 1 if any(row.failures for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
