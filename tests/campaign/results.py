"""Results of the campaign's parts, and their table."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Failure:
    """Failure of one attempt; ``--replay`` with ``replay`` repeats it."""

    replay: str
    what: str


@dataclass
class Row:
    """One line of the table."""

    part: str
    what: str
    tried: int = 0
    failures: list[Failure] = field(default_factory=list)
    note: str = ""
    counts: Counter[str] = field(default_factory=Counter)

    def count(self, **more: int) -> None:
        """Add to counts other than attempts; the note lists those above zero."""
        self.counts.update(more)
        self.note = ", ".join(f"{number} {name}" for name, number in self.counts.items() if number)


def table(rows):
    """Lay the rows out as Markdown, with the failures below."""
    lines = ["| part | what | tried | failed | note |", "|---|---|---|---|---|"]
    lines += [
        f"| {row.part} | {row.what} | {row.tried} | {len(row.failures)} | {row.note} |"
        for row in rows
    ]
    failures = [failure for row in rows for failure in row.failures]
    lines += ["", *(f"- `--replay {each.replay}`: {each.what}" for each in failures)]
    return "\n".join(lines).rstrip() + "\n"
