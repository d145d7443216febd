"""Linear algebra on one thread, where more of them would only wait for each other."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from threadpoolctl import ThreadpoolController

if TYPE_CHECKING:
    from contextlib import AbstractContextManager


def one_blas_thread() -> AbstractContextManager[object]:
    """Limit BLAS to one thread within a ``with`` block."""
    limit: AbstractContextManager[object] = _controller().limit(limits=1, user_api="blas")
    return limit


@cache
def _controller() -> ThreadpoolController:
    # Looking for the libraries takes milliseconds, so it is done once.
    return ThreadpoolController()
