"""Checked parameters of a fit."""

from __future__ import annotations

import math
import numbers
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from shlcore.codewords import has_collision
from shlcore.kernels import Kernel, KernelBank, automatic_banks, choose_kernels
from shlcore.scaling import SCALES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shlcore.samples import ColumnInfo, ScaledRows

KernelChoice = str | Kernel | Callable[..., object] | Sequence[object]
ScaleChoice = Literal["minmax", "standard"] | None
SolverChoice = Literal["auto", "exact", "random_features"]
FeatureChoice = Literal["landmarks", "fourier"]

DecodingChoice = Literal["hinge", "hamming"]
CodewordChoice = Literal["auto", "spread", "learnt"] | ArrayLike
SemiSupervision = Literal["auto", "none", "paper", "spreading", "leave_one_out"]
ClassWeight = Literal["balanced"] | Mapping[object, float] | None
Label = int | float | str | None

DECODINGS = ("hinge", "hamming")
FEATURES = ("landmarks", "fourier")
SOLVERS = ("auto", "exact", "random_features")
CODEWORDS = ("auto", "spread", "learnt")
SEMI_SUPERVISION = ("auto", "none", "paper", "spreading", "leave_one_out")
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
    n_codewords: int | Literal["auto"]
    codewords: CodewordChoice
    kernels: KernelChoice
    column_groups: Mapping[str, Sequence[int]] | None
    lambda1: float | Literal["auto"]
    lambda2: float
    p: float
    semi_supervised: SemiSupervision
    unlabelled: Label
    unlabelled_weight: float
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
            if name == "max_iter" or not _is_auto(getattr(self, name)):
                _check_whole(name, getattr(self, name), least)
        _check_real("unlabelled_weight", self.unlabelled_weight, 0.0, strict=True)
        if self.n_classes is not None:
            _check_whole("n_classes", self.n_classes, 2)
        if not _is_auto(self.lambda1):
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
            ("semi_supervised", SEMI_SUPERVISION),
        ):
            if getattr(self, name) not in wanted:
                raise ValueError(f"{name}: wanted one of {wanted}, got {getattr(self, name)!r}")
        self._check_codewords()
        if not self.precomputed:
            choose_kernels(self.kernels, np.zeros((1, 1)))  # raises an error for other values

    @property
    def precomputed(self) -> bool:
        """Whether X is a stack of kernel matrices."""
        return isinstance(self.kernels, str) and self.kernels == "precomputed"

    def _check_codewords(self) -> None:
        """Check that codewords agree with the numbers of bits and of codewords a class."""
        given = self.given_codewords
        if given is None:
            if self.codewords not in CODEWORDS:
                raise ValueError(
                    f"codewords: wanted one of {CODEWORDS} or an array, got {self.codewords!r}"
                )
            return
        for name, size, default in (
            ("n_codewords", given.shape[1], 1),
            ("n_bits", given.shape[2], "auto"),
        ):
            if getattr(self, name) not in (size, default, "auto"):
                raise ValueError(
                    f"codewords: wanted {name}={getattr(self, name)}, got an array of {size}"
                )

    @property
    def threads(self) -> int:
        """Number of threads for SVMs, as scikit-learn counts jobs."""
        jobs = 1 if self.n_jobs is None else int(self.n_jobs)
        return jobs if jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + jobs)

    def bits_for(self, n_classes: int) -> int:
        """Return the number of bits: as given, or by the number of codewords."""
        if not isinstance(self.codewords, str):
            return int(as_codewords(self.codewords).shape[2])
        if self.n_bits != "auto":
            return int(self.n_bits)
        return _BITS_PER_DOUBLING * max(1, (n_classes * self.words_per_class - 1).bit_length())

    @property
    def given_codewords(self) -> NDArray[np.int8] | None:
        """The codewords if they are an array."""
        return None if isinstance(self.codewords, str) else as_codewords(self.codewords)

    @property
    def words_per_class(self) -> int:
        """Number of codewords S of each class; 1 before "auto" has been resolved."""
        if not isinstance(self.codewords, str):
            return int(as_codewords(self.codewords).shape[1])
        return 1 if self.n_codewords == "auto" else int(self.n_codewords)

    @property
    def learns_codewords(self) -> bool:
        """Whether block 3 of the algorithm is in use."""
        if not isinstance(self.codewords, str):
            return False
        return self.codewords == "learnt" or (
            self.codewords == "auto" and self.words_per_class > 1
        )

    def bank(self, columns: ColumnInfo, rows: ScaledRows | None = None) -> KernelBank:
        """Return the kernels for the columns of X; "auto" depends on scaled rows, too."""
        sample = np.zeros((1, columns.count)) if rows is None else rows
        return self._bank_of(choose_kernels(self.kernels, sample), columns)

    def banks(
        self, columns: ColumnInfo, rows: ScaledRows, *, compact: bool = False
    ) -> list[KernelBank]:
        """Return the sets of kernels to choose among; the first one is the default."""
        if not _is_auto(self.kernels) or not _is_auto(self.lambda1):
            return [self.bank(columns, rows)]
        sets = automatic_banks(rows, compact=compact)
        return [self._bank_of(kernels, columns) for kernels in sets]

    def _bank_of(self, kernels: Sequence[Kernel], columns: ColumnInfo) -> KernelBank:
        return KernelBank(kernels, columns.count, self.column_groups, columns.names)


def as_codewords(given: ArrayLike) -> NDArray[np.int8]:
    """Check codewords given as an array, ``(C, B)`` or ``(C, S, B)`` of -1 and 1.

    >>> as_codewords([[1, -1], [-1, 1]]).shape
    (2, 1, 2)
    """
    array = np.asarray(given)
    words = array[:, None] if array.ndim == 2 else array
    if words.ndim != 3 or not words.size or words.dtype.kind not in "iuf":
        raise ValueError(f"codewords: wanted an array (C, B) or (C, S, B), got {array.shape}")
    if not (np.abs(words) == 1).all():
        raise ValueError("codewords: wanted -1 and 1, got other values")
    if has_collision(words := words.astype(np.int8)):
        raise ValueError("codewords: wanted different ones for each class, got equal ones")
    return words


def _is_auto(value: object) -> bool:
    return isinstance(value, str) and value == "auto"


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
