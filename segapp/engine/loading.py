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
    from segapp.model.answer import Segmenter
    from segapp.model.picture import EncoderFeatures
    from segapp.model.settings import Settings


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


# scikit-learn, scikit-image and SciPy take longer to load than all the rest of the program, and
# longer than many a picture takes to be answered: the window paints first, and a process that only
# waits for others never loads them.

MODEL_SUFFIX = ".shlmodel"


def trainer_of(rgb: NDArray[np.uint8], channels: NDArray[Any] | None) -> Trainer:
    """Return what answers strokes on a picture."""
    return _learner()(rgb, channels)


@cache
def _learner() -> type[Trainer]:
    with loaded_to_stay():
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
    Sight = Callable[[NDArray[np.uint8]], EncoderFeatures | None]


@contextmanager
def sight_of(settings: Settings) -> Iterator[Sight]:
    """Return what makes of a picture what the encoder sees; ``None`` where none takes part.

    A sentence says when it is missing, or fails. Its process ends with the block.
    """
    if FeatureGroup.ENCODER not in settings.features:
        yield lambda _: None
        return
    from segapp.encoders.feature_cache import FeatureExtractor  # loaded by nobody else

    with FeatureExtractor.with_identity(settings.encoder) as extractor:
        yield extractor.features


def let_see(segmenter: Segmenter, rgb: NDArray[np.uint8], settings: Settings) -> None:
    """Hand a segmenter what it needs of a network, if anything."""
    with sight_of(settings) as sight:
        encoded = sight(rgb)
    if encoded is not None:
        segmenter.see(encoded)
