"""Everything that can be chosen about a segmentation, as one immutable value."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class FeatureGroup(StrEnum):
    """Groups of pixel features; each gets kernels of its own."""

    RGB = "rgb"
    COLOUR = "colour"
    TEXTURE = "texture"
    POSITION = "position"


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanUp:
    """What is tidied after learning; strokes are never overruled."""

    smallest_area: int = 0
    fill_holes: bool = False
    smoothing: int = 0
    keep_touching: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The learner's and the picture's parameters. A preset is an instance of this."""

    features: tuple[FeatureGroup, ...] = (
        FeatureGroup.COLOUR,
        FeatureGroup.TEXTURE,
        FeatureGroup.POSITION,
    )
    bits: int = 5
    codewords: int = 1
    transductive: bool = True
    prototypes: int = 1200
    lambda1: float = 100.0
    lambda2: float = 2000.0
    refine: bool = True
    clean_up: CleanUp = field(default_factory=CleanUp)
    seed: int = 0


PRESETS: dict[str, Settings] = {
    "best": Settings(clean_up=CleanUp(keep_touching=True, fill_holes=True)),
    "paper": Settings(features=(FeatureGroup.RGB,), lambda1=1000.0, refine=False),
}
