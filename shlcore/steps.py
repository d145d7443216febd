"""What a fit reports after each block, and when it has converged."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from shlcore.problem import Function, Model

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shlcore.array_types import Indices


@dataclass(frozen=True, slots=True, eq=False)
class Step(Generic[Function]):
    """The state after one block.

    Parameters
    ----------
    iteration
        Outer pass; 0 is the start.
    bit
        The bit that was worked on (the last one, when several were).
    block
        "start", "svm", "kernels" or "codewords".
    objective
        Eq. (6) after the block. During the start it is that of the empty model.
    members
        Gamma as flat codeword indices.
    pass_ended
        Whether the outer pass is over, so that convergence may be judged.
    """

    iteration: int
    bit: int
    block: str
    objective: float
    model: Model[Function]
    members: Indices
    pass_ended: bool = False


def until_converged(
    steps: Iterator[Step[Function]], *, tol: float, max_iter: int
) -> Iterator[Step[Function]]:
    """Pass steps on until a pass lowers eq. (6) by less than ``tol`` and moves nobody.

    Warns when ``max_iter`` passes end the descent instead.
    """
    last: Step[Function] | None = None
    for step in steps:
        yield step
        if not step.pass_ended:
            continue
        if last is not None:
            gained = last.objective - step.objective
            settled = gained <= tol * max(abs(last.objective), np.finfo(float).tiny)
            if settled and np.array_equal(last.members, step.members):
                return
        if step.iteration >= max_iter:
            warnings.warn(
                f"SHL stopped after max_iter={max_iter} passes without converging to "
                f"tol={tol:g}; raise max_iter or tol.",
                ConvergenceWarning,
                # The caller of `SHL.fit`, past this, the stages, `moments`, `_iterate` and `fit`.
                stacklevel=6,
            )
            return
        last = step
