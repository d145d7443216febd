"""Supervised hash learning (*SHL): kernel hash functions and codewords, learnt together.

The method: Y. Huang, M. Georgiopoulos and G. C. Anagnostopoulos,
"Learning Hash Function through Codewords".
"""

from importlib.metadata import PackageNotFoundError, version

from shlcore.estimator import SHL, FitStep
from shlcore.grams import Grams
from shlcore.kernels import Gaussian, Linear, Polynomial, paper_kernels
from shlcore.model_file import ModelFileError

try:
    __version__ = version("segapp")
except PackageNotFoundError:  # used from its folder, without having been installed
    __version__ = "unknown"

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
