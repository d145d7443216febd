"""What is loaded to stay, and is none of the garbage collector's business."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def loaded_to_stay() -> Iterator[None]:
    """Keep Python's collector from looking for garbage meanwhile, and at what is there ever after.

    Modules and the window live as long as the program. To look at them all takes a tenth of a
    second, in which no thread does anything else, the window's own least of all. What nobody
    refers to any more is freed as ever; only rings among what is there now would stay.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
