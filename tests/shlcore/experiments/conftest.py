import numpy as np
import pytest
from sklearn.datasets import load_digits


@pytest.fixture(scope="session")
def digits_file(tmp_path_factory):
    X, y = load_digits(return_X_y=True)
    path = tmp_path_factory.mktemp("data") / "digits.npz"
    np.savez(path, X=X[:300].astype(np.uint8), y=y[:300], is_test=np.arange(300) >= 200)
    return path
