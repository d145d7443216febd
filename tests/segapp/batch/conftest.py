import pytest

from tests.segapp.batch.discs import make_case


@pytest.fixture
def folder(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    for name in ("a", "bb", "ccc é"):
        make_case(data, name)
    return data
