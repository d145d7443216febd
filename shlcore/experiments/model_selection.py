"""Selection of kernels and costs of the methods on development rows.

These rows are excluded from all splits: no query, training row or database row is among them. All
methods whose kernels are selected share one bank.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shlcore.experiments import options
from shlcore.experiments.datasets import Split
from shlcore.experiments.journal import measure_cells
from shlcore.experiments.methods import BANKS, METHODS, OWN, open_methods, ranked

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from pathlib import Path

    from shlcore.experiments.journal import Cell, Row


FOLDER = "choices"
DECIDING = ("*SHL", "KSH-same", "SDH-same")
"""The methods whose mean of the mean average precision selects the shared kernels."""

CHOICE_BITS = 15
FIT_SHARE = 2 / 3  # training rows among the development rows; the others are queries


def select(arguments: argparse.Namespace, settings: Cell, folder: Path) -> tuple[Row, list[Row]]:
    """Select bank and costs; return them and the measured rows.

    ``{}`` if no method has anything to select.
    """
    wanted = open_methods(arguments.methods)
    if not wanted:
        return {}, []
    cells = [
        {"method": method, "bank": bank, "cost": cost}
        for method in dict.fromkeys([*DECIDING, *wanted])
        for bank in BANKS
        for cost in METHODS[method].costs
    ]
    results, _ = measure_cells(
        arguments.dataset,
        settings,
        folder / FOLDER,
        cells,
        measure,
        arguments.jobs,
        arguments.scheduler,
    )
    return best_choice(results), results


def measure(path: Path, settings: Cell, cell: Cell) -> Row:
    """Fit on one part of the development rows, with the other part as queries."""
    split = development_split(path, settings)
    method = METHODS[cell["method"]]
    hasher = method.hasher(CHOICE_BITS, settings["seed"], split.X, cell["bank"], cell["cost"])
    hasher.fit(split.X, split.y)
    ranking = ranked(hasher, split, by_score=method.by_score)
    return {"mean_average_precision": ranking.mean_average_precision()}


def development_split(path: Path, settings: Cell) -> Split:
    """Return the development rows as training rows and queries."""
    dataset = options.dataset_at(path)
    rows = options.development_rows(path, settings)
    fit, ask = np.split(rows, [round(FIT_SHARE * len(rows))])
    return Split(dataset.X[fit], dataset.y[fit], dataset.X[ask], dataset.y[ask])


def best_choice(results: Sequence[Row]) -> Row:
    """Return the best bank in the mean over methods, and their best costs with it.

    The first of equal ones wins.
    """
    best: dict[tuple[str, str], tuple[float, float]] = {}
    for row in results:
        key, value = (row["method"], row["bank"]), row["mean_average_precision"]
        if key not in best or value > best[key][0]:
            best[key] = (value, row["cost"])
    deciding = {
        bank: float(np.mean([best[method, bank][0] for method in DECIDING])) for bank in BANKS
    }
    bank = max(BANKS, key=deciding.__getitem__)
    methods = dict.fromkeys(row["method"] for row in results)
    return {"bank": bank, "costs": {method: best[method, bank][1] for method in methods}}


def with_choice(cell: Cell, choice: Cell) -> Row:
    """Add the bank and the cost of its method to a cell."""
    cost = choice.get("costs", {}).get(cell["method"])
    return {**cell, "bank": OWN if cost is None else choice["bank"], "cost": cost}
