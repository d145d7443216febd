"""The hinge ``[1 - u]_+``: the only copy of the formula and of its weighted sum."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shlcore.array_types import Array, Floats, Reals


def hinge(margins: Reals) -> Reals:
    """Return ``[1 - u]_+`` of each margin u, in the precision of the margins."""
    return cast("Reals", np.maximum(1.0 - margins, 0.0))


def hinge_loss(costs: Array, targets: NDArray[np.int8], projections: Floats) -> float:
    """Return ``sum_n c_n [1 - y_n f(x_n)]_+`` of one bit: the loss in eqs. (6) and (7)."""
    return float(costs @ hinge(targets * projections))
