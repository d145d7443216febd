import gc
import weakref

import pytest

from segapp.engine.loading import exempt_from_gc


@pytest.fixture(autouse=True)
def thawed():
    """Undo the exemption after each test."""
    yield
    gc.unfreeze()
    gc.enable()


class Ring:
    """A reference cycle, which the collector alone frees."""

    def __init__(self):
        self.itself = self


def test_exempt_objects_are_not_collected_and_later_ones_are():
    with exempt_from_gc():
        assert not gc.isenabled()
        earlier = weakref.ref(Ring())
    assert gc.isenabled()
    assert gc.get_freeze_count() > 10_000  # modules above all
    later = weakref.ref(Ring())
    gc.collect()
    assert earlier() is not None
    assert later() is None


def test_an_error_leaves_the_collector_at_work():
    with pytest.raises(ImportError), exempt_from_gc():
        raise ImportError("no such library")
    assert gc.isenabled()
