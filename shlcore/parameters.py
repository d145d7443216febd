"""Checked parameters of a fit."""

from __future__ import annotations

import math
import numbers
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from shlcore.kernels import Kernel, KernelBank, choose_kernels
from shlcore.scaling import SCALES

if TYPE_CHECKING:
    from shlcore.samples import ColumnInfo, ScaledRows

KernelChoice = str | Kernel | Callable[..., object] | Sequence[object]
ScaleChoice = Literal["minmax", "standard"] | None
SolverChoice = Literal["auto", "exact", "random_features"]
FeatureChoice = Literal["landmarks", "fourier"]

DecodingChoice = Literal["hinge", "hamming"]
WeightChoice = Literal["label_spreading"] | float
ClassWeight = Literal["balanced"] | Mapping[object, float] | None
Label = int | float | str | None

DECODINGS = ("hinge", "hamming")
FEATURES = ("landmarks", "fourier")
SOLVERS = ("auto", "exact", "random_features")
LABEL_SPREADING = "label_spreading"
_BITS_PER_DOUBLING = 5
"""Bits for each doubling of the number of classes. Two classes: 5 bits, which have one SVM; ten:
20. On 1500 rows of letter (26 classes) 15 bits give 0.863, 30 give 0.867, a tuned SVC 0.875; on
digits and usps 15 and 30 are equal."""
_UNITS = {"": 1, "B": 1} | {
    f"{prefix}{suffix}": base**power
    for power, prefix in enumerate("KMGT", start=1)
    for suffix, base in (("B", 1000), ("iB", 1024))
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Parameters:
    """The parameters of one fit, documented in `shlcore.SHL`.

    The constructor checks all values. ``random_state`` and ``warm_start`` are not among the
    fields, because the estimator turns the one into a random generator, the other into a start.
    """

    n_bits: int | Literal["auto"]
    n_codewords: int
    kernels: KernelChoice
    column_groups: Mapping[str, Sequence[int]] | None
    lambda1: float
    lambda2: float
    p: float
    transductive: bool
    unlabelled: Label
    unlabelled_weight: WeightChoice
    decoding: DecodingChoice
    class_weight: ClassWeight
    scale: ScaleChoice
    n_classes: int | None
    max_iter: int
    tol: float
    solver: SolverChoice
    n_components: int
    features: FeatureChoice
    memory: str | float
    probability: bool
    n_jobs: int | None
    verbose: bool

    def __post_init__(self) -> None:
        for name, least in (("n_bits", 1), ("n_codewords", 1), ("max_iter", 1)):
            if getattr(self, name) != "auto" or name != "n_bits":
                _check_whole(name, getattr(self, name), least)
        if isinstance(self.unlabelled_weight, str) and not self.spreads_labels:
            raise ValueError(
                f"unlabelled_weight: wanted {LABEL_SPREADING!r} or a number above 0, "
                f"got {self.unlabelled_weight!r}"
            )
        if not self.spreads_labels:
            _check_real("unlabelled_weight", self.unlabelled_weight, 0.0, strict=True)
        if self.n_classes is not None:
            _check_whole("n_classes", self.n_classes, 2)
        _check_real("lambda1", self.lambda1, 0.0, strict=True)
        _check_real("lambda2", self.lambda2, 0.0, strict=False)
        _check_real("p", self.p, 1.0, strict=True)
        _check_real("tol", self.tol, 0.0, strict=False)
        _check_whole("n_components", self.n_components, 1)
        bytes_of(self.memory)
        whole = isinstance(self.n_jobs, numbers.Integral) and not isinstance(self.n_jobs, bool)
        if self.n_jobs is not None and (not whole or self.n_jobs == 0):
            raise ValueError(f"n_jobs: wanted None or a nonzero integer, got {self.n_jobs!r}")
        for name, wanted in (
            ("solver", SOLVERS),
            ("features", FEATURES),
            ("scale", SCALES),
            ("decoding", DECODINGS),
        ):
            if getattr(self, name) not in wanted:
                raise ValueError(f"{name}: wanted one of {wanted}, got {getattr(self, name)!r}")
        if not self.precomputed:
            choose_kernels(self.kernels, np.zeros((1, 1)))  # raises an error for other values

    @property
    def precomputed(self) -> bool:
        """Whether X is a stack of kernel matrices."""
        return isinstance(self.kernels, str) and self.kernels == "precomputed"

    @property
    def spreads_labels(self) -> bool:
        """Whether labels spread, and the weight of unlabelled samples grows by stages."""
        choice = self.unlabelled_weight
        return isinstance(choice, str) and choice == LABEL_SPREADING

    @property
    def threads(self) -> int:
        """Number of threads for SVMs, as scikit-learn counts jobs."""
        jobs = 1 if self.n_jobs is None else int(self.n_jobs)
        return jobs if jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + jobs)

    def bits_for(self, n_classes: int) -> int:
        """Return the number of bits: as given, or by the number of codewords."""
        if self.n_bits != "auto":
            return int(self.n_bits)
        return _BITS_PER_DOUBLING * max(1, (n_classes * int(self.n_codewords) - 1).bit_length())

    def bank(self, columns: ColumnInfo, rows: ScaledRows | None = None) -> KernelBank:
        """Return the kernels for the columns of X; "auto" depends on scaled rows, too."""
        sample = np.zeros((1, columns.count)) if rows is None else rows
        kernels = choose_kernels(self.kernels, sample)
        return KernelBank(kernels, columns.count, self.column_groups, columns.names)


def _check_whole(name: str, value: object, least: int) -> None:
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        number = int(value)
        if number >= least:
            return
    raise ValueError(f"{name}: wanted a whole number of at least {least}, got {value!r}")


def _check_real(name: str, value: object, bound: float, *, strict: bool) -> None:
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        number = float(value)
        if math.isfinite(number) and (number > bound or (number == bound and not strict)):
            return
    range_ = f"above {bound:g}" if strict else f"of at least {bound:g}"
    raise ValueError(f"{name}: wanted a finite number {range_}, got {value!r}")


def bytes_of(memory: object) -> float:
    """Parse an amount of memory: a number of bytes, or text like "4GB", "512 MiB".

    >>> bytes_of("4GB"), bytes_of("512 MiB"), bytes_of(1000)
    (4000000000.0, 536870912.0, 1000.0)
    """
    text = str(memory).strip()
    number = text.rstrip("BKMGTi ")
    unit = text[len(number) :].strip()
    try:
        amount = float(number) * float(_UNITS[unit])
    except (ValueError, KeyError):
        amount = -1.0
    if not 0 < amount < math.inf or isinstance(memory, bool):
        raise ValueError(f"memory: wanted an amount like '4GB' or bytes, got {memory!r}")
    return amount
