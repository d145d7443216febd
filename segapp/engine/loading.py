"""Lazy loading of the trainer, its models and encoder features."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from segapp.model.settings import FeatureGroup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from segapp.engine.learnt_model import LearntModel
    from segapp.engine.trainer import Trainer
    from segapp.model.picture import EncoderFeatures
    from segapp.model.settings import Settings


@contextmanager
def exempt_from_gc() -> Iterator[None]:
    """Exempt all objects that exist at the end of the block from garbage collection.

    Modules and the window live as long as the program. Scanning them all takes a tenth of a
    second, in which no thread runs, not even the window's. Objects without references are freed
    as before; only reference cycles among the exempt ones would stay.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


# scikit-learn, scikit-image and SciPy take longer to load than all the rest of the program, and
# longer than many answers take: the window paints first, and a process that only waits for others
# never loads them.

MODEL_SUFFIX = ".shlmodel"


def trainer_of(rgb: NDArray[np.uint8], channels: NDArray[Any] | None) -> Trainer:
    """Return a trainer for an image."""
    return _trainer_class()(rgb, channels)


@cache
def _trainer_class() -> type[Trainer]:
    with exempt_from_gc():
        from segapp.engine.trainer import Trainer
    return Trainer


def save_model(model: LearntModel, path: Path) -> None:
    """Write a learnt model."""
    from segapp.engine.learnt_model import save_model

    save_model(model, path)


def load_model(path: Path) -> LearntModel:
    """Read a learnt model."""
    from segapp.engine.learnt_model import load_model

    return load_model(path)


if TYPE_CHECKING:
    EncodeImage = Callable[[NDArray[np.uint8]], EncoderFeatures | None]


@contextmanager
def open_encoder(settings: Settings) -> Iterator[EncodeImage]:
    """Start the settings' encoder; the function returns ``None`` where they have none.

    A missing or failing encoder raises an error with one sentence. Its process ends with the
    block.
    """
    if FeatureGroup.ENCODER not in settings.features:
        yield lambda _: None
        return
    from segapp.encoders.feature_cache import FeatureExtractor  # loaded for encoders alone

    with FeatureExtractor.with_identity(settings.encoder) as extractor:
        yield extractor.features
