"""Segmentation settings, presets, and their plain form for files."""

from __future__ import annotations

import dataclasses
import math
import re
import types
import typing
from dataclasses import dataclass, field, fields, replace
from enum import Enum, StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from segapp.model import validation
from segapp.model.validation import SegappError, short_repr

if TYPE_CHECKING:
    from collections.abc import Iterable


class FeatureGroup(StrEnum):
    """Groups of pixel features; each gets kernels of its own."""

    RGB = "rgb"
    COLOUR = "colour"
    TEXTURE = "texture"
    CHANNELS = "channels"
    POSITION = "position"
    LIKELIHOOD = "likelihood"
    NEARNESS = "nearness"
    DESCRIPTORS = "descriptors"
    ENCODER = "encoder"


STROKE_DEPENDENT = frozenset(
    {
        FeatureGroup.LIKELIHOOD,
        FeatureGroup.NEARNESS,
        FeatureGroup.DESCRIPTORS,
        FeatureGroup.ENCODER,
    }
)
"""Groups that depend on the strokes."""

IMAGE_SPECIFIC = frozenset(
    {
        FeatureGroup.LIKELIHOOD,
        FeatureGroup.NEARNESS,
        FeatureGroup.POSITION,
        FeatureGroup.DESCRIPTORS,
    }
)
"""Groups that a learnt model does not carry to another image."""


class Samples(StrEnum):
    """The kind of the learner's rows."""

    SUPERPIXELS = "superpixels"
    PALETTE = "palette"


class Bounds(NamedTuple):
    """Least and largest value of a setting, for files, commands and the window."""

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
                raise SegappError(f"{name}: wanted {low:g} to {high:g}, got {number!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanUp:
    """Clean-up after learning, which never overrules strokes.

    Parameters
    ----------
    smallest_area
        Components of fewer pixels, without a stroke in them, go to the surrounding class.
    fill_holes
        Components of the background (the class named so, or the last), without a stroke and
        enclosed by one single class, go to that class.
    smoothing
        Each pixel takes the most frequent class within so many pixels.
    keep_touching
        Components of other classes without a stroke go to the surrounding class.
    """

    smallest_area: int = _between(0, 1_000_000, default=0)
    fill_holes: bool = False
    smoothing: int = _between(0, 100, default=0)
    keep_touching: bool = False

    def __post_init__(self) -> None:
        _check_bounds(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Parameters of features, learner and refinement; a preset is one of these.

    Parameters
    ----------
    features
        Groups of features; each has its own kernels, and the learner weighs them all.
    encoder
        SHA-256 of the network for the feature group of that name, in hexadecimal digits;
        nothing when none is chosen.
    bandwidths, position_bandwidths, stroke_bandwidths
        Sigmas of the Gaussian kernels: of appearance, of position (1 is the longer side), and of
        the groups that depend on the strokes. None at all stands for
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
        Up to so many strokes (connected marks) on two classes, and in proportion on more, unmarked
        pixels count by ``unlabelled_weight``; with more, less and less. 0 leaves their weight
        alone.
    unlabelled_weight
        How much an unmarked pixel counts against a marked one, when they do.
    refine
        Whether boundaries are drawn again at the level of pixels.
    colour_likelihood
        Refinement: weight of the colour likelihood under the strokes of each class.
    smoothness
        Refinement: cost of a boundary where there is no edge, for each pixel of its length in
        an image of 450 x 450, and in proportion for other sizes.
    locality
        How strongly the answer before the newest stroke is held far from that stroke; 0 learns
        from all strokes at once.
    threshold
        With two classes, the margin in favour of the object: above 0 it gains pixels, below 0 it
        loses some; 1 is a whole code.
    clean_up
        The clean-up at the end.
    seed
        Of all random numbers.
    """

    features: tuple[FeatureGroup, ...] = (
        FeatureGroup.TEXTURE,
        FeatureGroup.POSITION,
        FeatureGroup.LIKELIHOOD,
        FeatureGroup.NEARNESS,
        FeatureGroup.DESCRIPTORS,
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
    few_strokes: int = _between(0, 1000, default=3)
    refine: bool = True
    colour_likelihood: float = _between(0, 100, default=0.75)
    smoothness: float = _between(0, 10_000, default=30.0)
    locality: float = _between(0, 100, default=2.0)
    threshold: float = _between(-1, 1, default=0.0)
    clean_up: CleanUp = field(default_factory=CleanUp)
    seed: int = _between(0, 2**31 - 1, default=0)

    def __post_init__(self) -> None:
        if not self.features:
            raise SegappError("features: wanted at least one group, got none")
        if self.encoder and not re.fullmatch("[0-9a-f]{64}", self.encoder):
            raise SegappError(
                f"encoder: wanted nothing or 64 hexadecimal digits, got {short_repr(self.encoder)}"
            )
        _check_bounds(self)


def wants_encoder(settings: Settings) -> bool:
    """Tell whether a vision network takes part."""
    return FeatureGroup.ENCODER in settings.features


def dense_group(settings: Settings) -> FeatureGroup | None:
    """Return the group of dense features: an encoder replaces the descriptors."""
    dense = (FeatureGroup.ENCODER, FeatureGroup.DESCRIPTORS)
    return next((group for group in dense if group in settings.features), None)


def with_encoder(settings: Settings, digest: str) -> Settings:
    """Use the network with a digest; an empty one switches the encoder off.

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
    # Positions do not count, and colours instead of regions find objects that are smaller than
    # any region: measured by tests/benchmarks/cells_alike.py.
    "alike": replace(_PAPER, clean_up=CleanUp(smoothing=1, smallest_area=8, fill_holes=True)),
    "paper": _PAPER,
}

DEFAULT_PRESET = "best"
DEFAULT_SETTINGS: Settings = PRESETS[DEFAULT_PRESET]


def with_channels(settings: Settings, *, wanted: bool) -> Settings:
    """Let the learner use all raw channels, or the displayed colours alone."""
    groups = set(settings.features) - {FeatureGroup.CHANNELS}
    if wanted:
        groups |= {FeatureGroup.CHANNELS}
    return replace(settings, features=tuple(group for group in FeatureGroup if group in groups))


def preset_with(name: str, before: Settings) -> Settings:
    """Return a preset with the raw channels and the encoder of the settings before."""
    settings = with_channels(PRESETS[name], wanted=FeatureGroup.CHANNELS in before.features)
    seen = FeatureGroup.ENCODER in before.features
    return with_encoder(settings, before.encoder if seen else "")


def preset_of(settings: Settings) -> str | None:
    """Return the preset's name for settings, whatever their channels and encoder."""
    beside = {FeatureGroup.CHANNELS, FeatureGroup.ENCODER}
    if not beside.issuperset(settings.features):
        settings = with_channels(with_encoder(settings, ""), wanted=False)
    return next((name for name, preset in PRESETS.items() if preset == settings), None)


_LARGEST = 2**53  # other programs round larger integers
_LONGEST_LIST = 32  # bandwidths, groups of features: each entry costs a kernel matrix
Plain = dict[str, Any]


def to_plain(settings: Settings) -> Plain:
    """Return settings as numbers, texts, lists and dictionaries that JSON can hold."""
    plain: Plain = _plain(settings)
    return plain


def from_plain(plain: object) -> Settings:
    """Make settings from `to_plain`'s values.

    Missing values get their defaults and unknown ones are left out, so that files of older
    versions open. A value of the wrong kind raises `SegappError`.
    """
    settings: Settings = _typed(Settings, plain, "settings")
    return settings


def with_value(settings: Settings, assignment: str) -> Settings:
    """Change one setting as the user writes it: ``bits=8``, ``clean_up.smoothing=2``.

    Lists are written with commas, truth as ``true`` or ``false``, nothing as ``none``.

    >>> with_value(Settings(), "bandwidths=0.1,0.5").bandwidths
    (0.1, 0.5)
    >>> with_value(Settings(), "clean_up.smoothing=2").clean_up.smoothing
    2
    >>> with_value(Settings(), "bits=many")
    Traceback (most recent call last):
    segapp.model.validation.SegappError: bits: wanted a whole number, got 'many'.
    """
    name, equals, text = assignment.partition("=")
    if not equals:
        raise SegappError(f"--set: wanted name=value, got {short_repr(assignment)}.")
    changed: Settings = _changed(settings, name.strip().split("."), text.strip(), name.strip())
    return changed


def setting_names() -> list[str]:
    """List the names that `with_value` knows."""
    return _names(Settings, "")


def _plain(value: object) -> Any:  # noqa: ANN401 - what JSON holds
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    return value


def _typed(kind: Any, value: Any, name: str) -> Any:  # noqa: ANN401 - types as values
    """Check a plain value against a type and build an instance."""
    if dataclasses.is_dataclass(kind):
        return _typed_dataclass(kind, value, name)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        others = [part for part in arguments if part is not type(None)]
        return None if value is None else _typed(others[0], value, name)
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise SegappError(f"{name}: wanted a list, got {short_repr(value)}.")
        if len(value) > _LONGEST_LIST:
            raise SegappError(f"{name}: wanted at most {_LONGEST_LIST} values, got {len(value)}.")
        return _differing(tuple(_typed(arguments[0], part, name) for part in value), name)
    if isinstance(kind, type) and issubclass(kind, Enum):
        try:
            return kind(value)
        except ValueError as error:
            known = ", ".join(str(member.value) for member in kind)
            raise SegappError(
                f"{name}: wanted one of {known}, got {short_repr(value)}."
            ) from error
    if kind is float and type(value) is int:
        return validation.require_number(value, name)
    if type(value) is not kind:
        raise SegappError(f"{name}: wanted {_KINDS.get(kind, kind)}, got {short_repr(value)}.")
    return validation.require_int(value, name, -_LARGEST, _LARGEST) if kind is int else value


def _differing(values: tuple[Any, ...], name: str) -> tuple[Any, ...]:
    """Refuse a feature group that is named twice; equal numbers are allowed."""
    if values and isinstance(values[0], Enum) and len(set(values)) < len(values):
        raise SegappError(f"{name}: wanted each once, got {', '.join(str(v) for v in values)}.")
    return values


_KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}


def _typed_dataclass(kind: Any, value: Any, name: str) -> Any:  # noqa: ANN401 - types as values
    if not isinstance(value, dict):
        raise SegappError(f"{name}: wanted named values, got {short_repr(value)}.")
    hints = typing.get_type_hints(kind)
    known = {f.name for f in dataclasses.fields(kind)}
    return kind(
        **{key: _typed(hints[key], part, key) for key, part in value.items() if key in known}
    )


def _changed(value: Any, path: list[str], text: str, name: str) -> Any:  # noqa: ANN401
    hints = typing.get_type_hints(type(value)) if dataclasses.is_dataclass(value) else {}
    if path[0] not in hints:
        raise SegappError(
            f"There is no setting {short_repr(name)}: wanted one of {', '.join(setting_names())}."
        )
    inner = getattr(value, path[0])
    if len(path) > 1:
        part = _changed(inner, path[1:], text, name)
    else:
        part = _typed(hints[path[0]], _parsed(hints[path[0]], text), name)
    return dataclasses.replace(value, **{path[0]: part})


def _parsed(kind: Any, text: str) -> Any:  # noqa: ANN401 - types as values
    """Parse a text for a type; `_typed` refuses a text that cannot be parsed."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        if text.lower() == "none":
            return None
        return _parsed(next(part for part in arguments if part is not type(None)), text)
    if origin is tuple:
        return [_parsed(arguments[0], part.strip()) for part in text.split(",") if part.strip()]
    if kind is bool:
        return {"true": True, "false": False}.get(text.lower(), text)
    if kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            return text
    return text


def _names(kind: Any, prefix: str) -> list[str]:  # noqa: ANN401 - types as values
    names = []
    for name, part in typing.get_type_hints(kind).items():
        if dataclasses.is_dataclass(part):
            names += _names(part, f"{prefix}{name}.")
        else:
            names.append(prefix + name)
    return names


@dataclass(frozen=True, slots=True)
class SettingsChoice:
    """A preset with changes as ``name=value``; ``None`` takes the project's settings.

    ``encoder`` is the digest of a network, nothing for none at all, and ``None`` to follow the
    settings. Wrong names and values are refused here, before any image is loaded.
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
        """Return its name in a report; ``own`` tells which images have settings.

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
