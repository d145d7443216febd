"""What a finished case leaves for those who resume: its figures, and what its files held."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from segapp.files.images import digest_of, load_indices
from segapp.values.checked import field, fields, from_json, listed, number, text, whole
from shlcore.atomic_file import write_text

if TYPE_CHECKING:
    from pathlib import Path

    from segapp.batch.task import Outcome, Task

_LARGEST = 16 << 20  # bytes; the robot's two thousand strokes have a hundred thousand
_LONGEST_SIDE = 10**9


def write_record(task: Task, key: str, outcome: Outcome) -> None:
    """Keep an outcome whose mask and strokes are written."""
    digests = {name: digest_of(path).hex() for name, path in _files(task).items()}
    content = {"key": key, "digests": digests, **asdict(outcome)}
    write_text(task.record_path, json.dumps(content))


def read_record(task: Task, key: str, empty: Outcome) -> Outcome | None:
    """Return the outcome of exactly this task, if its files are still what it wrote.

    ``empty`` carries the case's name. Anything that is missing, damaged or does not fit is no
    record, and the work is done again.
    """
    try:
        with task.record_path.open("rb") as file:
            content = file.read(_LARGEST + 1)
        if len(content) > _LARGEST:
            return None
        record = fields(from_json(content, task.record_path.name), "record")
        if record.get("key") != key or record.get("name") != empty.name or record.get("error"):
            return None
        outcome = _outcome(record, task, empty)
        digests = fields(field(record, "digests"), "digests")
        for name, path in _files(task).items():
            if digest_of(path).hex() != field(digests, name):
                return None
            if path.suffix == ".png" and not _has_size(path, outcome):
                return None
    except (OSError, ValueError):
        return None
    return outcome


def _outcome(record: dict[str, Any], task: Task, empty: Outcome) -> Outcome:
    steps = (task.robot or 0) + 1
    ious = listed(field(record, "ious"), "ious", 0, steps)
    if len(ious) not in (0, steps):
        raise ValueError(f"ious: wanted none or {steps}, got {len(ious)}")
    seconds = listed(field(record, "seconds"), "seconds", 1, steps)
    return replace(
        empty,
        width=whole(field(record, "width"), "width", 1, _LONGEST_SIDE),
        height=whole(field(record, "height"), "height", 1, _LONGEST_SIDE),
        classes=whole(field(record, "classes"), "classes", 2, 255),
        ious=tuple(number(value, "ious", 0, 1) for value in ious),
        seconds=tuple(number(value, "seconds", 0) for value in seconds),
        reused=True,
        encoder=text(record.get("encoder", ""), "encoder"),
    )


def _has_size(path: Path, outcome: Outcome) -> bool:
    return load_indices(path).values.shape == (outcome.height, outcome.width)


def _files(task: Task) -> dict[str, Path]:
    files = {"mask": task.mask_path, "strokes": task.strokes_path}
    return files if task.measures is None else files | {"measures": task.measures_path}
