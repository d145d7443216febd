"""Learnt hash functions, ready for samples that were not there in training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from shlcore.kernel_solver import KernelFunction
    from shlcore.kernels import KernelBank

    Array = NDArray[np.float64]

_BLOCK_BYTES = 64 * 2**20


@dataclass(frozen=True, slots=True, eq=False)
class KernelHash:
    """All B kernel functions over the union of their support rows.

    Parameters
    ----------
    support
        ``(k,)``, which training rows these are.
    coefficients
        ``(B, k)``.
    scales
        ``(B, M)``.
    intercepts
        ``(B,)``.
    """

    support: NDArray[np.intp]
    coefficients: Array
    scales: Array
    intercepts: Array

    @classmethod
    def of(cls, functions: Sequence[KernelFunction]) -> KernelHash:
        """Bring the functions onto one set of support rows."""
        support = np.unique(np.concatenate([function.support for function in functions]))
        coefficients = np.zeros((len(functions), len(support)))
        for row, function in zip(coefficients, functions, strict=True):
            row[np.searchsorted(support, function.support)] = function.coefficients
        return cls(
            support,
            coefficients,
            np.stack([function.scales for function in functions]),
            np.array([function.intercept for function in functions]),
        )

    def project(self, cross_kernels: Iterable[Array], n_rows: int) -> Array:
        """Return f (``n x B``), given each kernel between n rows and the support rows."""
        total = np.tile(self.intercepts, (n_rows, 1))
        for kernel, scales in zip(cross_kernels, self.scales.T, strict=True):
            total += kernel @ (self.coefficients * scales[:, None]).T
        return total

    def project_rows(self, bank: KernelBank, X: Array, support_rows: Array) -> Array:
        """Return f of scaled rows, a block at a time so that memory stays bounded."""
        size = max(1, _BLOCK_BYTES // (8 * max(1, len(support_rows))))
        blocks = [
            self.project(bank.each(block, support_rows), len(block))
            for block in (X[first : first + size] for first in range(0, len(X), size))
        ]
        return np.concatenate(blocks)
