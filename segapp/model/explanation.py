"""Explanations of a pixel's class: shares of strokes, kernels and bits."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from segapp.model.settings import FeatureGroup
from segapp.model.validation import Message

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAX_CHECKED = 3
"""Strokes with the largest shares that are left out on trial."""
DECISIVE_FALL = 0.1
"""Fall of the lead without a stroke, as a share of the support, from which on it is decisive."""
_LEAST_SHARE = 0.05
"""Share below which a reason is not worth a phrase."""
_MOST_REASONS = 4


class Source(StrEnum):
    """The origin of a contribution, which is a stroke or one of the others."""

    STROKE = "stroke"
    INITIAL = "initial labels"
    BORDER = "image border"
    UNMARKED = "unmarked regions"
    ANSWER = "answer before"
    OUTLINE = "outline"
    CONSTANT = "constant"


@dataclass(frozen=True, slots=True)
class Contribution:
    """A part of the lead of a pixel's class over the next one.

    Parameters
    ----------
    source
        Where it comes from.
    stroke
        Position among the document's strokes, for `Source.STROKE`.
    ground
        The property by which it counts, where there is one.
    value
        Above 0 for the class, below 0 for the other one.
    """

    source: Source
    stroke: int | None
    ground: FeatureGroup | None
    value: float


@dataclass(frozen=True, slots=True)
class Code:
    """A pixel's code between the two nearest codewords.

    Parameters
    ----------
    values
        The value of each hash function; its sign is the bit.
    word, other
        The nearest codewords of the class and of the next one, -1 or +1.
    """

    values: tuple[float, ...]
    word: tuple[int, ...]
    other: tuple[int, ...]

    @property
    def deciding(self) -> tuple[int, ...]:
        """The bits in which the codewords differ."""
        return tuple(
            bit
            for bit, (one, two) in enumerate(zip(self.word, self.other, strict=True))
            if one != two
        )


@dataclass(frozen=True, slots=True)
class Effect:
    """A pixel's class without some strokes.

    Parameters
    ----------
    strokes
        Positions among the document's strokes.
    label
        The class without them; ``None`` where the others do not suffice for an answer.
    fall
        By how much the lead falls, as a share of the support; 1 where the class changes.
    """

    strokes: tuple[int, ...]
    label: int | None
    fall: float


@dataclass(frozen=True, slots=True)
class PixelExplanation:
    """The reasons for a pixel's class.

    Parameters
    ----------
    x, y
        In pixels of the image.
    label, other
        The class of the pixel, and the next one.
    contributions
        Their values sum to ``lead``; `Source.OUTLINE` is what neighbours or the clean-up had to
        add where all else spoke for the other class.
    lead
        By how much the class costs less than the next one; not below 0.
    kernels
        The part of each kernel, by its name.
    code
        ``None`` under a stroke.
    effects
        Of leaving out strokes with large shares, each alone; if none is decisive, all together.
        Nothing unless that was tried.
    """

    x: float
    y: float
    label: int
    other: int
    contributions: tuple[Contribution, ...]
    lead: float
    kernels: tuple[tuple[str, float], ...] = ()
    code: Code | None = None
    effects: tuple[Effect, ...] = ()

    @property
    def net(self) -> float:
        """The lead without the outline: below 0 where neighbours hold the class."""
        return sum(part.value for part in self.contributions if part.source is not Source.OUTLINE)

    @property
    def support(self) -> float:
        """The sum of all that speaks for the class."""
        return sum(part.value for part in self.contributions if part.value > 0)

    def share(self, part: Contribution) -> float:
        """Return a contribution as a share of the support; below 0 for the other class."""
        return part.value / self.support if self.support > 0 else 0.0

    def stroke_shares(self) -> dict[int, float]:
        """Return the share of each stroke, the largest first."""
        sums: dict[int, float] = defaultdict(float)
        for part in self.contributions:
            if part.stroke is not None:
                sums[part.stroke] += self.share(part)
        return dict(sorted(sums.items(), key=lambda item: -item[1]))

    def candidates(self) -> tuple[int, ...]:
        """Return the strokes with the largest shares."""
        shares = list(self.stroke_shares().items())[:MAX_CHECKED]
        return tuple(index for index, share in shares if share > 0)

    def decisive(self) -> tuple[int, ...]:
        """Return the strokes without which the class or its lead would be lost.

        They are those that leaving out has shown to be so; under a stroke it is that one.
        """
        if self.code is None:
            return self.candidates()
        found = [effect for effect in self.effects if effect.fall >= DECISIVE_FALL]
        return tuple(index for effect in found for index in effect.strokes)

    def reasons(self) -> Iterator[Contribution]:
        """Yield the contributions that are worth a phrase, the largest first."""
        for part in sorted(self.contributions, key=lambda part: -part.value):
            if self.share(part) >= _LEAST_SHARE and part.source is not Source.CONSTANT:
                yield part

    def sentence(self, names: Sequence[str]) -> Message:
        """Return the explanation in plain words, with the names of the classes."""
        name = names[self.label]
        if self.code is None:
            return Message("{}, because {} marks it.", name, _name(self.contributions[0]))
        reasons = list(self.reasons())
        grounds: dict[object, list[object]] = {}
        for part in reasons[:_MOST_REASONS]:
            share = f"{self.share(part):.0%}"
            named = Message("{} ({})", _name(part), share) if part.ground else f"({share})"
            grounds.setdefault(part.ground or part.source, []).append(named)
        phrases = [Message(_PHRASES[key], _listed(parts)) for key, parts in grounds.items()]
        text = Message("{}, because {}.", name, _listed(phrases)) if phrases else Message(name)
        for effect in self.effects:
            if effect.fall >= DECISIVE_FALL:
                text = Message("{} {}", text, _effect_phrase(effect, self.label, names))
        return text

    def to_plain(self, names: Sequence[str]) -> dict[str, Any]:
        """Return numbers, texts, lists and dictionaries that JSON can hold."""
        plain: dict[str, Any] = {
            "x": self.x,
            "y": self.y,
            "class": names[self.label],
            "other": names[self.other],
            "lead": round(self.lead, 6),
            "sentence": str(self.sentence(names)),
            "decisive_strokes": [index + 1 for index in self.decisive()],
            "without": [
                {
                    "strokes": [index + 1 for index in effect.strokes],
                    "class": None if effect.label is None else names[effect.label],
                    "fall": round(effect.fall, 4),
                }
                for effect in self.effects
            ],
            "stroke_shares": {
                str(index + 1): round(share, 4) for index, share in self.stroke_shares().items()
            },
            "contributions": [
                {
                    "source": part.source.value,
                    "stroke": None if part.stroke is None else part.stroke + 1,
                    "ground": None if part.ground is None else part.ground.value,
                    "value": round(part.value, 6),
                    "share": round(self.share(part), 4),
                }
                for part in self.contributions
            ],
            "kernels": [{"name": name, "value": round(value, 6)} for name, value in self.kernels],
        }
        if self.code is not None:
            plain["code"] = {
                "values": [round(value, 4) for value in self.code.values],
                "codewords": {
                    names[self.label]: list(self.code.word),
                    names[self.other]: list(self.code.other),
                },
                "deciding_bits": list(self.code.deciding),
            }
        return plain


_PHRASES: dict[object, Message] = {
    FeatureGroup.RGB: Message("it has the colour of {}"),
    FeatureGroup.COLOUR: Message("it has the colour of {}"),
    FeatureGroup.TEXTURE: Message("it has the colour and texture of {}"),
    FeatureGroup.CHANNELS: Message("it has the channels of {}"),
    FeatureGroup.POSITION: Message("it lies beside {}"),
    FeatureGroup.LIKELIHOOD: Message("its colour is frequent under {}"),
    FeatureGroup.NEARNESS: Message("it is connected with {}"),
    FeatureGroup.DESCRIPTORS: Message("its surroundings are like those of {}"),
    FeatureGroup.ENCODER: Message("the encoder finds it like {}"),
    Source.ANSWER: Message("it was so before the newest stroke {}"),
    Source.OUTLINE: Message("its neighbours moved the outline {}"),
}
_NAMES = {
    Source.INITIAL: Message("the initial labels"),
    Source.BORDER: Message("the border"),
    Source.UNMARKED: Message("similar unmarked areas"),
    Source.ANSWER: Message("the result itself"),
}


def _name(part: Contribution) -> Message:
    if part.stroke is not None:
        return Message("stroke {}", part.stroke + 1)
    return _NAMES[part.source]


def _effect_phrase(effect: Effect, label: int, names: Sequence[str]) -> Message:
    strokes = _listed([Message("stroke {}", index + 1) for index in effect.strokes])
    if effect.label is None:
        return Message("Without {} there would be no result.", strokes)
    if effect.label != label:
        return Message("Without {} it would be {}.", strokes, names[effect.label])
    return Message("Without {} it would be less certain by {}.", strokes, f"{effect.fall:.0%}")


def _listed(parts: Sequence[object]) -> object:
    """Join with commas, and the last one by "and"."""
    if len(parts) == 1:
        return parts[0]
    *others, last = parts
    text = others[0]
    for part in others[1:]:
        text = Message("{}, {}", text, part)
    return Message("{} and {}", text, last)
