"""``python -m tests.campaign --minutes 30 --seed 1 [--only kills,users,faults,soak,files]``."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import sys
import time

PARTS = ("faults", "users", "kills", "soak", "files")
# Of the minutes that are given; faults take as long as they take.
SHARES = {"users": 0.25, "kills": 0.45, "soak": 0.2, "files": 0.1}
PLENTY = 10**9


def _part(name):
    modules = {"users": "random_users", "files": "hostile_files"}
    return importlib.import_module(f"tests.campaign.{modules.get(name, name)}")


def run(name, seed, seconds):
    """Run one part for some seconds; return its rows."""
    from tests.campaign.results import Failure, Row

    if name == "files":
        if importlib.util.find_spec("tests.campaign.hostile_files") is None:
            return [Row("files", "damaged files", note="not there")]
        found = _part(name).run(seed, max(1, int(seconds * 10)))
        failures = [Failure(f"files:{each.replay}", each.what) for each in found.failures]
        tried = sum(row.tried for row in found.rows)
        return [Row("files", "damaged files", tried, failures)]
    if name == "faults":
        return _part(name).run()
    return _part(name).run(seed, PLENTY, seconds)


def replay(words):
    """Do once more what failed: the words are those of the table."""
    from tests.campaign import faults, kills, random_users, soak

    part, *rest = words.split(":")
    if part == "kills":
        rows = {}
        kills.chain(rest[0], int(rest[1]), rows)
        return list(rows.values())
    if part == "batch":
        return [kills.batch(rest[0], int(rest[1]))]
    if part == "users":
        random_users.one(rest[0], int(rest[1]), shrink=True)
        return []
    if part == "faults":
        return faults.run(rest)
    if part == "soak":
        return soak.run(rest[0], int(rest[1]))
    raise ValueError(f"replay: wanted kills, batch, users, faults or soak, got {part}")


def main():
    """Run what is asked for and write the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaign", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
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
            rows += run(part, seed, seconds)
            sys.stdout.write(f"{part} done\n")
            sys.stdout.flush()
    sys.stdout.write(table(rows))
    return 1 if any(row.failures for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
