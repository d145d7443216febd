"""Which settings are meant, as a command's arguments say it: one rule for all commands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from segapp.values.plain_settings import with_value
from segapp.values.settings import DEFAULT_PRESET, PRESETS, with_encoder

if TYPE_CHECKING:
    from collections.abc import Iterable

    from segapp.values.settings import Settings


@dataclass(frozen=True, slots=True)
class SettingsChoice:
    """A preset, or ``None`` for those of the project at hand, and changes as ``name=value``.

    ``encoder`` is the digest of the network to be used, nothing for none at all, and ``None`` for
    what the settings say. A wrong name or value is told here, before there is any picture.
    """

    preset: str | None = None
    changes: tuple[str, ...] = ()
    encoder: str | None = None

    def __post_init__(self) -> None:
        self.settings(None)

    def settings(self, own: Settings | None) -> Settings:
        """Return the settings; ``own`` are those of the project that brings the strokes.

        >>> own = PRESETS["paper"]
        >>> SettingsChoice(changes=("bits=8",)).settings(own).bits
        8
        >>> SettingsChoice("best").settings(own) == PRESETS["best"]
        True
        """
        if self.preset is None and own is not None:
            settings = own
        else:
            settings = PRESETS[self.preset or DEFAULT_PRESET]
        for change in self.changes:
            settings = with_value(settings, change)
        return settings if self.encoder is None else with_encoder(settings, self.encoder)

    def name_for(self, own: Iterable[bool]) -> str:
        """Return what a report calls it; ``own`` says of each image whether it has its own.

        >>> SettingsChoice().name_for([True, False])
        "best, or the project's own"
        """
        name = self.preset or DEFAULT_PRESET
        if self.preset is None:
            kinds = set(own)
            if kinds == {True}:
                name = "the project's own"
            elif True in kinds:
                name += ", or the project's own"
        name += " (changed)" if self.changes else ""
        return name + (f", encoder {self.encoder[:8]}" if self.encoder else "")
