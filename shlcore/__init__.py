"""Supervised hash learning (*SHL): kernel hash functions and codewords, learnt together."""

from shlcore.estimator import SHL, FitStep
from shlcore.kernels import Gaussian, Linear, Polynomial, paper_kernels
from shlcore.model_file import ModelFileError
from shlcore.svm import Grams

__all__ = [
    "SHL",
    "FitStep",
    "Gaussian",
    "Grams",
    "Linear",
    "ModelFileError",
    "Polynomial",
    "paper_kernels",
]
