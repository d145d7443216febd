"""The learner and its models, loaded by whoever first needs them.

scikit-learn, scikit-image and SciPy take longer to load than all the rest of the program, and
longer than many a picture takes to be answered: the window paints first, and a process that only
waits for others never loads them.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from segapp.staying import loaded_to_stay

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from segapp.learning.learnt_model import LearntModel
    from segapp.learning.training import Trainer

MODEL_SUFFIX = ".shlmodel"


def trainer_of(rgb: NDArray[np.uint8], channels: NDArray[Any] | None) -> Trainer:
    """Return what answers strokes on a picture."""
    return _learner()(rgb, channels)


@cache
def _learner() -> type[Trainer]:
    with loaded_to_stay():
        from segapp.learning.training import Trainer
    return Trainer


def save_model(model: LearntModel, path: Path) -> None:
    """Write a learnt model."""
    from segapp.learning.model_file import save_model

    save_model(model, path)


def load_model(path: Path) -> LearntModel:
    """Read a learnt model."""
    from segapp.learning.model_file import load_model

    return load_model(path)
