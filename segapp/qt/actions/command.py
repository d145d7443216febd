"""One command of the window, as the tables list it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication

if TYPE_CHECKING:
    from PySide6.QtGui import QKeySequence


@dataclass(frozen=True, slots=True)
class Command:
    """One row of the table."""

    name: str
    text: str
    tip: str
    keys: str | QKeySequence.StandardKey | None = None
    icon: str | None = None
    # Commands of a group exclude each other.
    group: str | None = None
    checkable: bool = False


def tr(text: str) -> str:
    """Translate a text of the table."""
    return QCoreApplication.translate("Actions", text)


def unmarked(text: str) -> str:
    """Return a menu's text without the mark of its letter: "&Open…" and "打开(&O)…" alike."""
    return re.sub(r"\(&.\)|&", "", text).rstrip("…")
