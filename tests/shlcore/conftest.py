import os
from pathlib import Path

import numpy as np
import pytest

DATA = Path(os.environ.get("SEGAPP_DATA", Path(__file__).parents[3] / "shared" / "data"))


@pytest.fixture(scope="session")
def hashing_data():
    """Read a hashing data set, or skip where the evaluation data are not at hand."""

    def read(name):
        path = DATA / "hashing" / f"{name}.npz"
        if not path.exists():
            pytest.skip(f"the evaluation data are absent: {path.name} (set SEGAPP_DATA)")
        with np.load(path) as archive:
            return archive["X"].astype(float), archive["y"]

    return read
