"""The exact solver: kernel matrices, and LIBSVM for each bit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shlcore.path import BitSolution, BitTask
from shlcore.svm import Grams, solve_svm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class KernelFunction:
    """``f(x) = sum_m scales_m sum_i coefficients_i k_m(x, x_support_i) + intercept``.

    ``scales`` are the kernel weights under which the SVM was solved. Block 2 changes the
    weights afterwards, but not w, hence not f.
    """

    support: NDArray[np.intp]
    coefficients: Array
    scales: Array
    intercept: float


class KernelMachine:
    """Solves block 1 on kernel matrices, one SVM at a time."""

    at_once = 1

    def __init__(self, grams: Grams) -> None:
        self._grams = grams
        self.n_kernels = len(grams)

    def solve(self, tasks: Sequence[BitTask]) -> list[BitSolution[KernelFunction]]:
        """Solve independent SVMs."""
        return [self._solve(task) for task in tasks]

    def _solve(self, task: BitTask) -> BitSolution[KernelFunction]:
        svm = solve_svm(self._grams, task.kernel_weights, task.targets, task.costs)
        function = KernelFunction(
            svm.support, svm.coefficients, task.kernel_weights, svm.intercept
        )
        return BitSolution(function, svm.projections, svm.squared_norms)

    def empty(self) -> KernelFunction:
        """Return the function that is 0 everywhere."""
        nobody = np.empty(0, dtype=np.intp)
        return KernelFunction(nobody, np.empty(0), np.zeros(self.n_kernels), 0.0)

    def scaled(self, function: KernelFunction, factor: float) -> KernelFunction:
        """Return ``factor * f``."""
        return KernelFunction(
            function.support,
            factor * function.coefficients,
            function.scales,
            factor * function.intercept,
        )
