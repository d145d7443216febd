"""What a training job reports while it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from segapp.labelling import Labelling


@dataclass(frozen=True, slots=True, eq=False)
class Insight:
    """What was learnt, for those who want to look inside.

    Parameters
    ----------
    kernels
        A readable name for each kernel, "colour, sigma 0.125" for instance.
    kernel_weights
        One row a bit, one column a kernel.
    codewords
        Classes x codewords x bits, -1 or +1.
    objective
        Eq. (6) after each block so far; never rises.
    seconds
        Time spent in each named step of this update.
    """

    kernels: tuple[str, ...]
    kernel_weights: NDArray[np.float64]
    codewords: NDArray[np.int8]
    objective: tuple[float, ...]
    seconds: dict[str, float]


@dataclass(frozen=True, slots=True, eq=False)
class Update:
    """One report: where the job is, and the answer so far if there is a new one."""

    step: str
    fraction: float
    labelling: Labelling | None = None
    insight: Insight | None = None
    final: bool = False
