"""The learner of a preset, and how long it is let run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from segapp.learning.supervision import UNLABELLED
from shlcore import SHL

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from segapp.values.settings import Settings
    from shlcore.estimator import FitStep
    from shlcore.kernels import Kernel


def estimator_of(
    settings: Settings,
    kernels: Literal["precomputed"] | Sequence[Kernel],
    column_groups: Mapping[str, Sequence[int]] | None = None,
) -> SHL:
    """Return an estimator with the settings' parameters; features come scaled already."""
    return SHL(
        n_bits=settings.bits,
        n_codewords=settings.codewords,
        kernels=kernels,
        column_groups=column_groups,
        lambda1=settings.lambda1,
        lambda2=settings.lambda2,
        p=settings.p,
        transductive=settings.transductive,
        # Unmarked regions bring their own weights, which fade as strokes grow.
        unlabelled=UNLABELLED,
        unlabelled_weight=1.0,
        decoding="hamming",
        scale=None,
        probability=False,
        # One pass more than is made: `first_passes` ends the fit, and warns of nothing.
        max_iter=settings.passes + 1,
        random_state=settings.seed,
    )


def first_passes(steps: Iterator[FitStep], settings: Settings) -> Iterator[FitStep]:
    """Yield the steps of the passes that the settings allow; the last one ends a pass."""
    for step in steps:
        yield step
        if step.pass_ended and step.iteration >= settings.passes:
            return
