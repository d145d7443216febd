"""Everything that can be chosen about a segmentation, as one immutable value."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Any, NamedTuple

from segapp.values.wording import quoted


class FeatureGroup(StrEnum):
    """Groups of pixel features; each gets kernels of its own."""

    RGB = "rgb"
    COLOUR = "colour"
    TEXTURE = "texture"
    CHANNELS = "channels"
    POSITION = "position"
    LIKELIHOOD = "likelihood"
    NEARNESS = "nearness"
    ENCODER = "encoder"


STROKE_BOUND = frozenset({FeatureGroup.LIKELIHOOD, FeatureGroup.NEARNESS, FeatureGroup.ENCODER})
"""Groups that depend on the strokes."""

PICTURE_BOUND = frozenset({FeatureGroup.LIKELIHOOD, FeatureGroup.NEARNESS, FeatureGroup.POSITION})
"""Groups that mean nothing in another picture."""


class Samples(StrEnum):
    """What the learner's rows stand for."""

    SUPERPIXELS = "superpixels"
    PALETTE = "palette"


class Bounds(NamedTuple):
    """The least and the largest value of a setting, for files, commands and the window alike."""

    low: float
    high: float


# A dataclass field is typed as its value and not as a field; mypy wants that said by `Any`.
def _between(low: float, high: float, default: object) -> Any:  # noqa: ANN401
    """Declare a number, or several, with its bounds."""
    return field(default=default, metadata={"bounds": Bounds(low, high)})


def bounds_of(kind: type[Settings | CleanUp]) -> dict[str, Bounds]:
    """Return the bounds of the fields that are numbers."""
    return {f.name: f.metadata["bounds"] for f in fields(kind) if "bounds" in f.metadata}


def _check_bounds(values: Settings | CleanUp) -> None:
    for name, (low, high) in bounds_of(type(values)).items():
        value = getattr(values, name)
        for number in value if isinstance(value, tuple) else (value,):
            if not (low <= number <= high and math.isfinite(number)):
                raise ValueError(f"{name}: wanted {low:g} to {high:g}, got {number!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanUp:
    """What is tidied after learning; strokes are never overruled.

    Parameters
    ----------
    smallest_area
        Parts of fewer pixels, without a stroke in them, go to what surrounds them.
    fill_holes
        Parts of the background (the class named so, or the last), without a stroke and enclosed
        by one single class, go to that class.
    smoothing
        Each pixel takes the most frequent class within so many pixels.
    keep_touching
        Parts of other classes that touch no stroke of their class go to what surrounds them.
    """

    smallest_area: int = _between(0, 1_000_000, default=0)
    fill_holes: bool = False
    smoothing: int = _between(0, 100, default=0)
    keep_touching: bool = False

    def __post_init__(self) -> None:
        _check_bounds(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The learner's and the picture's parameters. A preset is an instance of this.

    Parameters
    ----------
    features
        Groups of features; each has its own kernels, and the learner weighs them all.
    encoder
        SHA-256 of the network that reads the picture for the group of that name, in
        hexadecimal digits; nothing when none is chosen.
    bandwidths, position_bandwidths, stroke_bandwidths
        Sigmas of the Gaussian kernels: of what a pixel looks like, of where it is (1 is the
        longer side), and of the groups that depend on the strokes. None at all stands for
        the eleven kernels of the paper.
    samples, prototypes
        Rows of the learner, and about how many (palette: at the most so many).
    bits, codewords
        Length of the hash codes, and codewords of each class.
    lambda1, lambda2, p
        Cost of a margin violation, pull between codewords of a class, norm of the kernels'
        weights.
    passes
        Passes of the learner at the most.
    transductive
        Whether unmarked pixels take part in learning.
    few_strokes
        Up to so many strokes (connected marks), unmarked pixels count by
        ``unlabelled_weight``; with more, less and less. 0 leaves their weight alone.
    unlabelled_weight
        How much an unmarked pixel counts against a marked one, when they do.
    refine
        Whether boundaries are drawn again at the level of pixels.
    colour_likelihood
        Refinement: weight of how well a pixel's colour fits the strokes of each class.
    smoothness
        Refinement: cost of a boundary where there is no edge, for each pixel of its length in
        a picture of 450 x 450, and in proportion for other sizes.
    locality
        How strongly the answer before the newest stroke is held far from that stroke; 0 learns
        from all strokes at once.
    threshold
        With two classes, how far the margin must lean to the object: above 0 more is taken for
        it, below 0 less; 1 is a whole code.
    clean_up
        What is tidied at the end.
    seed
        Of everything that is drawn by chance.
    """

    features: tuple[FeatureGroup, ...] = (
        FeatureGroup.TEXTURE,
        FeatureGroup.POSITION,
        FeatureGroup.LIKELIHOOD,
        FeatureGroup.NEARNESS,
    )
    encoder: str = ""
    bandwidths: tuple[float, ...] = _between(1e-3, 1e3, default=(0.0625, 0.25))
    position_bandwidths: tuple[float, ...] = _between(1e-3, 1e3, default=(0.125, 0.5))
    stroke_bandwidths: tuple[float, ...] = _between(1e-3, 1e3, default=(0.35, 1.4))
    samples: Samples = Samples.SUPERPIXELS
    prototypes: int = _between(2, 5000, default=1200)
    bits: int = _between(1, 32, default=5)
    codewords: int = _between(1, 8, default=1)
    lambda1: float = _between(1e-3, 1e6, default=3.0)
    lambda2: float = _between(0, 1e6, default=2000.0)
    p: float = _between(1.001, 100, default=2.0)
    passes: int = _between(1, 200, default=1)
    transductive: bool = True
    unlabelled_weight: float = _between(1e-6, 1e3, default=1.0)
    few_strokes: int = _between(0, 1000, default=5)
    refine: bool = True
    colour_likelihood: float = _between(0, 100, default=0.75)
    smoothness: float = _between(0, 10_000, default=30.0)
    locality: float = _between(0, 100, default=2.0)
    threshold: float = _between(-1, 1, default=0.0)
    clean_up: CleanUp = field(default_factory=CleanUp)
    seed: int = _between(0, 2**31 - 1, default=0)

    def __post_init__(self) -> None:
        if not self.features:
            raise ValueError("features: wanted at least one group, got none")
        if self.encoder and not re.fullmatch("[0-9a-f]{64}", self.encoder):
            raise ValueError(
                f"encoder: wanted nothing or 64 hexadecimal digits, got {quoted(self.encoder)}"
            )
        _check_bounds(self)


def with_encoder(settings: Settings, digest: str) -> Settings:
    """Let the network with a digest take part, or with an empty one none at all.

    >>> with_encoder(with_encoder(Settings(), "0" * 64), "") == Settings()
    True
    """
    features = tuple(group for group in settings.features if group is not FeatureGroup.ENCODER)
    chosen = (*features, FeatureGroup.ENCODER) if digest else features
    return replace(settings, features=chosen, encoder=digest)


# Sect. 6.3 of the paper to the letter: RGB, a codeword a class, 5 bits, eleven kernels.
_PAPER = Settings(
    features=(FeatureGroup.RGB,),
    bandwidths=(),
    samples=Samples.PALETTE,
    lambda1=1000.0,
    unlabelled_weight=1.0,
    few_strokes=0,
    passes=20,
    refine=False,
    locality=0.0,
)

PRESETS: dict[str, Settings] = {
    "best": Settings(clean_up=CleanUp(keep_touching=True, fill_holes=True)),
    # Nothing ties a pixel to the strokes' places, and colours instead of regions find what is
    # smaller than any region: measured by tests/benchmarks/cells_alike.py.
    "alike": replace(_PAPER, clean_up=CleanUp(smoothing=1, smallest_area=8, fill_holes=True)),
    "paper": _PAPER,
}

DEFAULT_PRESET = "best"
DEFAULT_SETTINGS: Settings = PRESETS[DEFAULT_PRESET]


def with_channels(settings: Settings, *, wanted: bool) -> Settings:
    """Let the learner look at all channels of an instrument, or at what is shown alone."""
    groups = set(settings.features) - {FeatureGroup.CHANNELS}
    if wanted:
        groups |= {FeatureGroup.CHANNELS}
    return replace(settings, features=tuple(group for group in FeatureGroup if group in groups))


def preset_with(name: str, before: Settings) -> Settings:
    """Return a preset that looks at the channels, and with the encoder, of the settings before."""
    settings = with_channels(PRESETS[name], wanted=FeatureGroup.CHANNELS in before.features)
    seen = FeatureGroup.ENCODER in before.features
    return with_encoder(settings, before.encoder if seen else "")


def preset_of(settings: Settings) -> str | None:
    """Name the preset that settings are, whatever channels and encoder it is used with."""
    beside = {FeatureGroup.CHANNELS, FeatureGroup.ENCODER}
    if not beside.issuperset(settings.features):
        settings = with_channels(with_encoder(settings, ""), wanted=False)
    return next((name for name, preset in PRESETS.items() if preset == settings), None)
