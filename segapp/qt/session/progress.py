"""Where the learner is, in words and numbers for the user."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Stage(Enum):
    """The states of the answer that a user can tell apart."""

    EMPTY = "no picture"
    WAITING = "no answer yet"
    RUNNING = "learning"
    FOLLOWING = "a look at the stroke in the making"
    OUTDATED = "older than the strokes"
    UNFINISHED = "stopped with a preview"
    CURRENT = "up to date"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Progress:
    """The stage, what to say about it, and while it runs how far it is.

    ``started`` and ``seconds`` are of `time.monotonic`; ``seconds`` is set at the end.
    """

    stage: Stage = Stage.EMPTY
    text: str = ""
    fraction: float = 0.0
    started: float = 0.0
    seconds: float = 0.0
