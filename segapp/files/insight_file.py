"""What was learnt, as CSV for spreadsheets and as JSON for programs."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segapp.values.document import ClassInfo
    from segapp.values.updates import Insight

_TITLE = "segapp insight"
_VERSION = 1


def insight_csv(insight: Insight, classes: tuple[ClassInfo, ...]) -> str:
    """Return a table of four columns: part, name, index (from 1), value.

    Parts are ``kernel weight`` (a row for each kernel and bit), ``codeword`` (for each class and
    codeword, with + and - for the bits), ``objective`` (for each step) and ``seconds``.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("part", "name", "index", "value"))
    writer.writerows(_rows(insight, classes))
    return text.getvalue()


def _rows(
    insight: Insight, classes: tuple[ClassInfo, ...]
) -> Iterator[tuple[str, str, int, float | str]]:
    for column, name in enumerate(insight.kernels):
        for bit, weight in enumerate(insight.kernel_weights[:, column], start=1):
            yield "kernel weight", name, bit, float(weight)
    for info, words in zip(classes, insight.codewords, strict=False):
        for number, word in enumerate(words, start=1):
            if word.any():  # a class without strokes has no codeword
                signs = "".join("+" if bit > 0 else "-" for bit in word)
                yield "codeword", info.name, number, signs
    for step, value in enumerate(insight.objective, start=1):
        yield "objective", "", step, float(value)
    for index, (name, seconds) in enumerate(insight.seconds.items(), start=1):
        yield "seconds", name, index, float(seconds)


def insight_json(insight: Insight, classes: tuple[ClassInfo, ...]) -> str:
    """Return all numbers as JSON; a class without strokes has codewords of 0."""
    content = {
        "format": _TITLE,
        "version": _VERSION,
        "kernels": list(insight.kernels),
        "kernel_weights": insight.kernel_weights.tolist(),
        "classes": [info.name for info in classes],
        "codewords": insight.codewords[: len(classes)].tolist(),
        "objective": [float(value) for value in insight.objective],
        "seconds": dict(insight.seconds),
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"
