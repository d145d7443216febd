"""Checks of SHL's parameters: each error names the parameter, the wish and what came."""

from __future__ import annotations

import math
import numbers
from typing import TYPE_CHECKING, Any

from shlcore.scaling import SCALES

if TYPE_CHECKING:
    from collections.abc import Mapping


FEATURES = ("landmarks", "fourier")
SOLVERS = ("auto", "exact", "random_features")
_UNITS = {"": 1, "B": 1} | {
    f"{prefix}{suffix}": base**power
    for power, prefix in enumerate("KMGT", start=1)
    for suffix, base in (("B", 1000), ("iB", 1024))
}


def check_parameters(parameters: Mapping[str, Any]) -> None:
    """Raise a ValueError for the first parameter that is out of its range."""
    for name, least in (("n_bits", 1), ("n_codewords", 1), ("max_iter", 1)):
        _check_whole(name, parameters[name], least)
    if parameters["n_classes"] is not None:
        _check_whole("n_classes", parameters["n_classes"], 2)
    _check_real("lambda1", parameters["lambda1"], 0.0, strict=True)
    _check_real("lambda2", parameters["lambda2"], 0.0, strict=False)
    _check_real("p", parameters["p"], 1.0, strict=True)
    _check_real("tol", parameters["tol"], 0.0, strict=False)
    _check_whole("n_components", parameters["n_components"], 1)
    bytes_of(parameters["memory"])
    if parameters["solver"] not in SOLVERS:
        raise ValueError(f"solver: wanted one of {SOLVERS}, got {parameters['solver']!r}")
    if parameters["features"] not in FEATURES:
        raise ValueError(f"features: wanted one of {FEATURES}, got {parameters['features']!r}")
    if parameters["scale"] not in SCALES:
        raise ValueError(f"scale: wanted one of {SCALES}, got {parameters['scale']!r}")
    kernels = parameters["kernels"]
    if isinstance(kernels, str) and kernels not in ("paper", "precomputed"):
        raise ValueError(
            f"kernels: wanted 'paper', 'precomputed' or a list of kernels, got {kernels!r}"
        )


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
    wish = f"above {bound:g}" if strict else f"of at least {bound:g}"
    raise ValueError(f"{name}: wanted a finite number {wish}, got {value!r}")


def bytes_of(memory: object) -> float:
    """Read an amount of memory: a number of bytes, or text as "4GB", "512 MiB"."""
    text = str(memory).strip()
    number = text.rstrip("BKMGTi ")
    unit = text[len(number) :].strip()
    try:
        amount = float(number) * float(_UNITS[unit])
    except (ValueError, KeyError):
        amount = -1.0
    if not 0 < amount < math.inf or isinstance(memory, bool):
        raise ValueError(f"memory: wanted an amount as '4GB' or bytes, got {memory!r}")
    return amount
