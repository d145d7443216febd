"""Settings of all tests: one thread of linear algebra, and no deadlines."""

from contextlib import ExitStack

from hypothesis import settings

from shlcore.parallel import limit_threads

# As in the program. The threads of several test processes would wait for each other, spinning.
# Before NumPy is loaded, so that it also holds in threads that tests start.
_limits = ExitStack()
_limits.enter_context(limit_threads(1))


def pytest_unconfigure():
    _limits.close()


# A busy machine takes longer; how long something may take is for the benchmarks.
settings.register_profile("no hurry", deadline=None)
settings.load_profile("no hurry")
