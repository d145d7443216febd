"""The figures of a batch, for people and for programs."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from segapp.batch.robot_user import dips, strokes_to
from segapp.values.wording import cell
from shlcore.atomic_file import write_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from segapp.batch.task import Outcome

MILESTONES = (85, 90, 95)  # per cent of IoU that the robot's strokes are counted to


def summary(outcomes: Sequence[Outcome], preset: str, robot: int | None) -> dict[str, Any]:
    """Average over the images that succeeded; ``None`` where there is nothing to average."""
    scored = [outcome.ious for outcome in outcomes if outcome.ious]
    seconds = [_seconds(outcome) for outcome in outcomes if outcome.seconds]
    result: dict[str, Any] = {
        "images": len(outcomes),
        "failed": sum(bool(outcome.error) for outcome in outcomes),
        "preset": preset,
        "mean_iou": _mean([ious[0] for ious in scored]),
        "seconds_per_update": _mean(seconds),
    }
    if encoders := sorted({outcome.encoder for outcome in outcomes} - {""}):
        result["encoders"] = encoders
    if robot is not None:
        result["robot"] = {
            "strokes": robot,
            "auc": _mean([float(np.mean(ious)) for ious in scored]),
            **{
                f"strokes_to_{level}": _mean([strokes_to(ious, level / 100) for ious in scored])
                for level in MILESTONES
            },
            "dips": _mean([len(dips(ious)) for ious in scored]),
            "dip_sum": _mean([sum(dips(ious)) for ious in scored]),
            "curve": [float(value) for value in np.mean(scored, axis=0)] if scored else [],
        }
    return result


def write_reports(
    out: Path, outcomes: Sequence[Outcome], preset: str, robot: int | None
) -> dict[str, Any]:
    """Write ``scores.csv`` and ``summary.json`` and return the summary."""
    write_text(out / "scores.csv", _csv(outcomes, robot))
    result = summary(outcomes, preset, robot)
    write_text(out / "summary.json", json.dumps(result, indent=2) + "\n")
    return result


def _csv(outcomes: Sequence[Outcome], robot: int | None) -> str:
    names = ["image", "width", "height", "classes", "iou", "seconds"]
    if robot is not None:
        names += ["auc", *(f"strokes_to_{level}" for level in MILESTONES)]
        names += [f"iou_{count}" for count in range(1, robot + 1)]
    names.append("error")
    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    for outcome in sorted(outcomes, key=lambda outcome: outcome.name):
        writer.writerow(_row(outcome, robot))
    return text.getvalue()


def _row(outcome: Outcome, robot: int | None) -> dict[str, Any]:
    row: dict[str, Any] = {"image": cell(outcome.name), "error": cell(outcome.error)}
    if outcome.error:
        return row
    row |= {"width": outcome.width, "height": outcome.height, "classes": outcome.classes}
    row["seconds"] = f"{_seconds(outcome):.4f}"
    if outcome.ious:
        row["iou"] = f"{outcome.ious[0]:.6f}"
    if robot is not None and outcome.ious:
        row["auc"] = f"{np.mean(outcome.ious):.6f}"
        for level in MILESTONES:
            row[f"strokes_to_{level}"] = strokes_to(outcome.ious, level / 100)
        for count, value in enumerate(outcome.ious[1:], start=1):
            row[f"iou_{count}"] = f"{value:.6f}"
    return row


def _seconds(outcome: Outcome) -> float:
    return float(np.mean(outcome.seconds))


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None
