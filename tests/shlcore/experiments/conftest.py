import numpy as np
import pytest
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    """Small matrices: threads of BLAS would only wait for each other."""
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="session")
def digits_file(tmp_path_factory):
    X, y = load_digits(return_X_y=True)
    path = tmp_path_factory.mktemp("data") / "digits.npz"
    np.savez(path, X=X[:300].astype(np.uint8), y=y[:300], is_test=np.arange(300) >= 200)
    return path
