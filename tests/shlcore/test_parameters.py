"""Refusal of invalid parameters in one sentence."""

import dataclasses
import inspect

import numpy as np
import pytest

from shlcore import SHL
from shlcore.parameters import Parameters, bytes_of
from shlcore.samples import ColumnInfo

GOOD = {
    name: parameter.default
    for name, parameter in inspect.signature(SHL).parameters.items()
    if name not in {"random_state", "warm_start"}
}


def test_the_defaults_are_those_of_the_estimator():
    parameters = Parameters(**GOOD)
    assert {field.name for field in dataclasses.fields(Parameters)} == set(GOOD)
    assert len(parameters.bank(ColumnInfo(4))) == 9
    assert len(Parameters(**GOOD | {"kernels": "paper"}).bank(ColumnInfo(4))) == 11
    assert not parameters.precomputed
    assert Parameters(**GOOD | {"kernels": "precomputed"}).precomputed


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("n_bits", 0, "n_bits: wanted a whole number of at least 1, got 0"),
        ("n_bits", True, "n_bits: wanted a whole number of at least 1, got True"),
        ("n_codewords", 1.5, "n_codewords: wanted a whole number of at least 1, got 1.5"),
        ("max_iter", 0, "max_iter: wanted a whole number of at least 1, got 0"),
        ("n_classes", 1, "n_classes: wanted a whole number of at least 2, got 1"),
        ("n_components", 0, "n_components: wanted a whole number of at least 1, got 0"),
        ("lambda1", 0.0, "lambda1: wanted a finite number above 0, got 0.0"),
        ("lambda2", -1, "lambda2: wanted a finite number of at least 0, got -1"),
        ("p", 1.0, "p: wanted a finite number above 1, got 1.0"),
        ("tol", float("nan"), "tol: wanted a finite number of at least 0, got nan"),
        (
            "unlabelled_weight",
            "annealed",
            "unlabelled_weight: wanted a finite number above 0, got 'annealed'",
        ),
        ("memory", "4 apples", "memory: wanted an amount like '4GB' or bytes, got '4 apples'"),
        (
            "solver",
            "fast",
            "solver: wanted one of ('auto', 'exact', 'random_features'), got 'fast'",
        ),
        ("features", "x", "features: wanted one of ('landmarks', 'fourier'), got 'x'"),
        ("scale", "log", "scale: wanted one of ('minmax', 'standard', None), got 'log'"),
        (
            "kernels",
            "cosine",
            (
                "kernels: wanted 'precomputed', or one or several of ('auto', 'paper', 'linear', "
                "'poly', 'rbf'), kernel objects and functions, got 'cosine'"
            ),
        ),
        ("decoding", "x", "decoding: wanted one of ('hinge', 'hamming'), got 'x'"),
        (
            "unlabelled_weight",
            0.0,
            "unlabelled_weight: wanted a finite number above 0, got 0.0",
        ),
    ],
)
def test_invalid_parameters_are_refused(name, value, sentence):
    with pytest.raises(ValueError, match=name) as refused:
        Parameters(**GOOD | {name: value})
    assert str(refused.value) == sentence
    with pytest.raises(ValueError, match=name) as refused:
        SHL(**{name: value}).fit(np.eye(4), [0, 0, 1, 1])
    assert str(refused.value) == sentence
    with pytest.raises(ValueError, match=name):
        dataclasses.replace(Parameters(**GOOD), **{name: value})


def test_parameters_do_not_change():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Parameters(**GOOD).n_bits = 3


def test_amounts_of_memory():
    assert bytes_of("1KiB") == 1024
    assert bytes_of(10) == 10
    for wrong in ("", "-1GB", "inf", True, None):
        with pytest.raises(ValueError, match="memory: wanted an amount"):
            bytes_of(wrong)
