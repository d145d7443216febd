"""Runs of one setting, put together: how many, their means, and the deviation of one value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shlcore.experiments.journal import Row


def grouped_means(
    rows: Sequence[Row], by: Sequence[str], *, means: Sequence[str], spread: str
) -> list[Row]:
    """Return one row for each combination of the keys ``by``, in the order of appearance.

    Parameters
    ----------
    means
        The values to average.
    spread
        The one of them whose deviation over the runs follows it; 0 for a single run.

    Examples
    --------
    >>> rows = [{"bits": 5, "precision": 0.25}, {"bits": 5, "precision": 0.75}]
    >>> grouped_means(rows, ["bits"], means=["precision"], spread="precision")
    [{'bits': 5, 'runs': 2, 'precision': 0.5, 'deviation': 0.3535533905932738}]
    """
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in by), []).append(row)
    summary = []
    for values, members in groups.items():
        line: Row = {**dict(zip(by, values, strict=True)), "runs": len(members)}
        for name in means:
            found = [row[name] for row in members]
            line[name] = float(np.mean(found))
            if name == spread:
                line["deviation"] = float(np.std(found, ddof=1)) if len(found) > 1 else 0.0
        summary.append(line)
    return summary
