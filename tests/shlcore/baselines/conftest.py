import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    """Small matrices: threads of BLAS would only wait for each other."""
    with threadpool_limits(1):
        yield
