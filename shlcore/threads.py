"""How many threads linear algebra takes: many that do little only wait for each other."""

from __future__ import annotations

import os
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

from threadpoolctl import ThreadpoolController, threadpool_limits

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

_READ_WHEN_LOADED = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


@contextmanager
def limited_threads(number: int) -> Iterator[None]:
    """Limit all linear algebra within a ``with`` block, for those to whom the process belongs.

    Libraries that are loaded meanwhile are limited as well, and stay so: a limit reaches only
    what is there, and each of NumPy, SciPy and scikit-learn brings threads of its own.
    """
    before = {name: os.environ.get(name) for name in _READ_WHEN_LOADED}
    os.environ.update(dict.fromkeys(_READ_WHEN_LOADED, str(number)))
    try:
        with threadpool_limits(number):
            yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def one_blas_thread() -> AbstractContextManager[object]:
    """Limit BLAS to one thread within a ``with`` block."""
    limit: AbstractContextManager[object] = _controller().limit(limits=1, user_api="blas")
    return limit


@cache
def _controller() -> ThreadpoolController:
    # Looking for the libraries takes milliseconds, so it is done once.
    return ThreadpoolController()
