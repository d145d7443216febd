"""What was chosen about exports, from one start to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segapp.values.export_choices import USUAL, ExportChoices
from segapp.values.measures import Scale

if TYPE_CHECKING:
    from segapp.qt.files.preferences import Preferences

_AUTOMATIC = -1.0
"""Stands for an edge that suits the picture, where a number must be."""


def remembered_choices(preferences: Preferences) -> ExportChoices:
    """Return what was chosen last; what is spoilt has a default."""
    edge = preferences.get("export/edge", _AUTOMATIC)
    try:
        return ExportChoices(
            None if edge < 0 else edge,
            Scale(preferences.get("export/pixel", 1.0), preferences.get("export/unit", "px")),
            split=preferences.get("export/split", False),
        )
    except ValueError:
        return USUAL


def remember_choices(preferences: Preferences, choices: ExportChoices) -> None:
    """Keep what was chosen."""
    preferences.set("export/edge", _AUTOMATIC if choices.edge is None else choices.edge)
    preferences.set("export/pixel", choices.scale.pixel)
    preferences.set("export/unit", choices.scale.unit)
    preferences.set("export/split", choices.split)
