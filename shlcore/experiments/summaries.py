"""Summaries over runs: means, deviations, errors of overlapping splits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import t

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shlcore.experiments.journal import Row


def grouped_means(
    rows: Sequence[Row], by: Sequence[str], *, means: Sequence[str], spread: str
) -> list[Row]:
    """Return one row for each combination of the keys ``by``, in order of appearance.

    Parameters
    ----------
    means
        Names of the values to average.
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
            values_of_runs = [row[name] for row in members]
            line[name] = float(np.mean(values_of_runs))
            if name == spread:
                line["deviation"] = (
                    float(np.std(values_of_runs, ddof=1)) if len(values_of_runs) > 1 else 0.0
                )
        summary.append(line)
    return summary


def corrected_error(values: Sequence[float], *, n_train: int, n_test: int) -> float:
    """Return the standard error of a mean over random splits that share rows.

    Splits of one dataset overlap, so results are correlated and ``S / sqrt(J)`` is too small.
    Nadeau and Bengio (Machine Learning 52, 2003): ``S sqrt(1 / J + n_test / n_train)``. NaN for
    a single run.

    >>> round(corrected_error([0.25, 0.75], n_train=200, n_test=100), 4)
    0.3536
    """
    if len(values) < 2:
        return float("nan")
    return float(np.std(values, ddof=1) * np.sqrt(1 / len(values) + n_test / n_train))


def verdict(
    ours: Sequence[float],
    theirs: Sequence[float],
    *,
    n_train: int,
    n_test: int,
    level: float = 0.05,
) -> str:
    """Compare two methods on the same splits: "win", "tie" or "loss" of the first.

    By the corrected resampled t-test on the differences, two-sided.
    """
    differences = [a - b for a, b in zip(ours, theirs, strict=True)]
    mean = float(np.mean(differences))
    error = corrected_error(differences, n_train=n_train, n_test=n_test)
    if (
        len(differences) < 2
        or mean == 0
        or abs(mean) <= t.ppf(1 - level / 2, len(differences) - 1) * error
    ):
        return "tie"
    return "win" if mean > 0 else "loss"
