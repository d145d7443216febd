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
    LIKELIHOOD = "likelihood"
    NEARNESS = "nearness"


STROKE_BOUND = frozenset({FeatureGroup.LIKELIHOOD, FeatureGroup.NEARNESS})
"""Groups that depend on the strokes."""

PICTURE_BOUND = STROKE_BOUND | {FeatureGroup.POSITION}
"""Groups that mean nothing in another picture."""


class Samples(StrEnum):
    """What the learner's rows stand for."""

    SUPERPIXELS = "superpixels"
    PALETTE = "palette"


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

    smallest_area: int = 0
    fill_holes: bool = False
    smoothing: int = 0
    keep_touching: bool = False

    def __post_init__(self) -> None:
        _want(self.smallest_area >= 0, "smallest_area", "0 or more", self.smallest_area)
        _want(0 <= self.smoothing <= 100, "smoothing", "0 to 100", self.smoothing)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The learner's and the picture's parameters. A preset is an instance of this.

    Parameters
    ----------
    features
        Groups of features; each has its own kernels, and the learner weighs them all.
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
    bandwidths: tuple[float, ...] = (0.0625, 0.25)
    position_bandwidths: tuple[float, ...] = (0.125, 0.5)
    stroke_bandwidths: tuple[float, ...] = (0.35, 1.4)
    samples: Samples = Samples.SUPERPIXELS
    prototypes: int = 1200
    bits: int = 5
    codewords: int = 1
    lambda1: float = 3.0
    lambda2: float = 2000.0
    p: float = 2.0
    passes: int = 2
    transductive: bool = True
    unlabelled_weight: float = 1.0
    few_strokes: int = 3
    refine: bool = True
    colour_likelihood: float = 0.75
    smoothness: float = 30.0
    clean_up: CleanUp = field(default_factory=CleanUp)
    seed: int = 0

    def __post_init__(self) -> None:
        _want(bool(self.features), "features", "at least one group", self.features)
        for name in ("bandwidths", "position_bandwidths", "stroke_bandwidths"):
            _want(min(getattr(self, name), default=1.0) > 0, name, "above 0", getattr(self, name))
        _want(2 <= self.prototypes <= 5000, "prototypes", "2 to 5000", self.prototypes)
        _want(1 <= self.bits <= 32, "bits", "1 to 32", self.bits)
        _want(self.codewords >= 1, "codewords", "1 or more", self.codewords)
        _want(self.lambda1 > 0, "lambda1", "above 0", self.lambda1)
        _want(self.lambda2 >= 0, "lambda2", "0 or more", self.lambda2)
        _want(self.p > 1, "p", "above 1", self.p)
        _want(self.passes >= 1, "passes", "1 or more", self.passes)
        _want(self.few_strokes >= 0, "few_strokes", "0 or more", self.few_strokes)
        _want(self.unlabelled_weight > 0, "unlabelled_weight", "above 0", self.unlabelled_weight)
        _want(
            self.colour_likelihood >= 0, "colour_likelihood", "0 or more", self.colour_likelihood
        )
        _want(self.smoothness >= 0, "smoothness", "0 or more", self.smoothness)
        _want(self.seed >= 0, "seed", "0 or more", self.seed)


def _want(holds: bool, name: str, wanted: str, got: object) -> None:  # noqa: FBT001 - a condition
    if not holds:
        raise ValueError(f"{name}: wanted {wanted}, got {got!r}")


PRESETS: dict[str, Settings] = {
    "best": Settings(clean_up=CleanUp(keep_touching=True, fill_holes=True)),
    # Sect. 6.3 of the paper to the letter: RGB, a codeword a class, 5 bits, eleven kernels.
    "paper": Settings(
        features=(FeatureGroup.RGB,),
        bandwidths=(),
        samples=Samples.PALETTE,
        lambda1=1000.0,
        unlabelled_weight=1.0,
        few_strokes=0,
        passes=20,
        refine=False,
    ),
}
