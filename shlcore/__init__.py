"""*Supervised Hash Learning (*SHL): kernel hash functions and codewords together.

The method: Y. Huang, M. Georgiopoulos and G. C. Anagnostopoulos,
"Learning Hash Function through Codewords".
"""

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shlcore.estimator import SHL, FitStep
    from shlcore.gram_matrices import Grams
    from shlcore.kernels import Gaussian, Linear, Polynomial, paper_kernels
    from shlcore.model_file import ModelFileError

    __version__: str

_HOMES = {
    "SHL": "estimator",
    "FitStep": "estimator",
    "Gaussian": "kernels",
    "Linear": "kernels",
    "Polynomial": "kernels",
    "paper_kernels": "kernels",
    "ModelFileError": "model_file",
    "Grams": "gram_matrices",
}
"""Loaded when they are asked for: scikit-learn takes a second, and few modules need it."""

__all__ = [
    "SHL",
    "FitStep",
    "Gaussian",
    "Grams",
    "Linear",
    "ModelFileError",
    "Polynomial",
    "__version__",
    "paper_kernels",
]


def __getattr__(name: str) -> object:
    if name == "__version__":
        return _version()
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)


@cache
def _version() -> str:
    return version_of("segapp", "shlcore")


def version_of(*distributions: str) -> str:
    """Return the version of the first of these that is installed, or "unknown"."""
    from importlib.metadata import PackageNotFoundError, version

    for distribution in distributions:
        try:
            return version(distribution)
        except PackageNotFoundError:  # used from its folder, or in a bundle without metadata
            continue
    return "unknown"
