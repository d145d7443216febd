"""Warnings of our own code fail the tests; those that libraries cause among themselves do not."""

import warnings

import pytest


def warn_in(module):
    """Warn as a line of a module would."""
    exec("warnings.warn('old', DeprecationWarning)", {"__name__": module, "warnings": warnings})


@pytest.mark.parametrize("module", ["segapp.imaging.measures", "shlcore", "tests.conftest"])
def test_ours_are_errors(module):
    with pytest.raises(DeprecationWarning, match="old"):
        warn_in(module)


@pytest.mark.parametrize(
    "module", ["skimage.morphology.grayreconstruct", "segapplication", "numpy"]
)
def test_those_of_libraries_are_not(module):
    with warnings.catch_warnings(record=True) as told:
        warn_in(module)
    assert [str(warning.message) for warning in told] == ["old"]
