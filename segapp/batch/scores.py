"""How well an answer agrees with the truth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

IGNORED = -1
"""The truth's value where it does not judge: the band between object and ground."""


def iou(labels: NDArray[np.integer], truth: NDArray[np.integer], label: int = 0) -> float:
    """Intersection over union of one class, outside the ignored band; 1 if it is nowhere.

    >>> iou(np.array([0, 0, 1, 0]), np.array([0, 1, 1, IGNORED]))
    0.5
    """
    judged = truth != IGNORED
    found, wanted = (labels == label) & judged, (truth == label) & judged
    union = np.count_nonzero(found | wanted)
    return float(np.count_nonzero(found & wanted) / union) if union else 1.0


def score(
    labels: NDArray[np.integer], truth: NDArray[np.integer], n_classes: int, background: int = 1
) -> float:
    """IoU of the foreground where there are two classes, else its mean over all classes."""
    if n_classes == 2:
        return iou(labels, truth, 1 - background)
    return float(np.mean([iou(labels, truth, label) for label in range(n_classes)]))
