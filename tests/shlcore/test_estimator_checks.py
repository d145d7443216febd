"""scikit-learn's own checks of what an estimator must do."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from shlcore import SHL

EXPECTED_FAILURES = {
    "check_classifiers_classes": (
        "labels the classes -1 and 1, but in semi-supervised learning -1 marks a sample "
        "without a label, as in sklearn.semi_supervised"
    ),
}


@pytest.mark.contract
@parametrize_with_checks(
    [SHL(), SHL(n_codewords=2, n_bits=6)],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES,
)
def test_scikit_learn_check(estimator, check):
    check(estimator)
