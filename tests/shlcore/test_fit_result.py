"""The immutable result of a fit, and its header and arrays."""

import dataclasses

import numpy as np
import pytest
from sklearn.datasets import load_iris

from shlcore import SHL
from shlcore.fit_result import dump, restore
from shlcore.samples import SampleRows


@pytest.fixture(scope="module")
def model():
    return SHL(n_bits=4, random_state=0, max_iter=5).fit(*load_iris(return_X_y=True))


def test_the_attributes_are_those_of_the_result(model):
    record = model._result
    for name, value in record.attributes().items():
        assert getattr(model, name) is value or getattr(model, name) == value
    with pytest.raises(dataclasses.FrozenInstanceError):
        record.n_iter = 0


@pytest.mark.parametrize(
    "change",
    [
        {"classes": np.arange(7)},
        {"kernel_weights": np.ones((4, 3))},
        {"codewords": np.ones((3, 1, 9), dtype=np.int8)},
    ],
)
def test_inconsistent_parts_are_refused(model, change):
    with pytest.raises(ValueError, match="shape: wanted"):
        dataclasses.replace(model._result, **change)


def test_a_result_survives_header_and_arrays(model):
    parameters = model.get_params(deep=False)
    header, arrays = dump(parameters, model._result)
    again, record = restore(header, arrays, "model", parameters)
    assert again == parameters
    assert record.columns == model._result.columns or record.columns.count == 4
    X, _ = load_iris(return_X_y=True)
    np.testing.assert_array_equal(record.hash.project(SampleRows(X)), model.project(X))


@pytest.mark.parametrize(
    ("transductive", "weight", "mode"),
    [
        (True, "annealed", "spreading"),
        (True, "label_spreading", "spreading"),
        (True, 1.0, "paper"),
        (False, "label_spreading", "none"),
    ],
)
def test_the_old_parameters_of_semi_supervision_still_load(model, transductive, weight, mode):
    parameters = model.get_params(deep=False)
    header, arrays = dump(parameters, model._result)
    written = header["parameters"]
    del written["semi_supervised"], written["codewords"]
    written |= {"transductive": transductive, "unlabelled_weight": weight}
    restored, _ = restore(header, arrays, "model", parameters)
    assert restored["semi_supervised"] == mode
    assert restored["unlabelled_weight"] == 1.0
    assert restored["codewords"] == "learnt"
    assert not set(restored) - set(parameters)


def test_given_codewords_survive_the_file(tmp_path):
    X, y = load_iris(return_X_y=True)
    words = np.array([[1, 1, -1, -1], [-1, 1, 1, -1], [-1, -1, -1, 1]])
    SHL(codewords=words, random_state=0).fit(X, y).save(tmp_path / "model")
    loaded = SHL.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.codewords, words)
    np.testing.assert_array_equal(loaded.codewords_[:, 0], words)
    assert loaded.predict(X, reject=0.1).mask.sum() > 0


def test_a_fit_without_names_forgets_those_of_the_last():
    pandas = pytest.importorskip("pandas")
    X, y = load_iris(return_X_y=True)
    model = SHL(random_state=0, max_iter=3)
    model.fit(pandas.DataFrame(X, columns=list("abcd")), y)
    assert list(model.feature_names_in_) == list("abcd")
    model.fit(X, y)
    assert not hasattr(model, "feature_names_in_")
