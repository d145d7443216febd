import gc
import weakref

import pytest

from segapp.engine.loading import loaded_to_stay


@pytest.fixture(autouse=True)
def thawed():
    """Nothing of a test shall stay."""
    yield
    gc.unfreeze()
    gc.enable()


class Ring:
    """Garbage that only the collector finds."""

    def __init__(self):
        self.itself = self


def test_what_is_loaded_to_stay_is_not_looked_at_again_and_what_comes_later_is():
    with loaded_to_stay():
        assert not gc.isenabled()
        earlier = weakref.ref(Ring())
    assert gc.isenabled()
    assert gc.get_freeze_count() > 10_000  # modules above all
    later = weakref.ref(Ring())
    gc.collect()
    assert earlier() is not None
    assert later() is None


def test_an_error_leaves_the_collector_at_work():
    with pytest.raises(ImportError), loaded_to_stay():
        raise ImportError("no such library")
    assert gc.isenabled()
