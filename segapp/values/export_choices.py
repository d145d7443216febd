"""What can be chosen about exports besides their format."""

from __future__ import annotations

from dataclasses import dataclass

from segapp.values.measures import PIXELS, Scale

WIDEST_EDGE = 200.0


@dataclass(frozen=True, slots=True)
class ExportChoices:
    """The same for all formats; each takes what concerns it.

    Parameters
    ----------
    edge
        Pixels on either side of the outline in which cut-outs are softened: 0 is hard, and
        ``None`` what suits the picture's size.
    scale
        Of measures.
    split
        Whether measures count parts that touch as several.
    only
        Name of the class that masks and cut-outs are of; ``None`` is all but the background.
    """

    edge: float | None = None
    scale: Scale = PIXELS
    split: bool = False
    only: str | None = None

    def __post_init__(self) -> None:
        if self.edge is not None and not 0 <= self.edge <= WIDEST_EDGE:
            raise ValueError(f"edge: wanted 0 to {WIDEST_EDGE:.0f} pixels, got {self.edge}")


USUAL = ExportChoices()
