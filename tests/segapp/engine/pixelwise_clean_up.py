"""Tidying pixel by pixel, as its rules are said: the truth that the graph of parts is held to."""

import numpy as np
from scipy import ndimage

from segapp.engine.region_graph import ACROSS, DOWN


def clean_up(labels, marked, wishes, background):
    tidy = labels
    if wishes.smallest_area > 1:
        numbers, held = parts(tidy, marked)
        small = np.bincount(numbers.ravel(), minlength=len(held)) < wishes.smallest_area
        tidy = without(tidy, (small & ~held)[numbers])
    if wishes.fill_holes:
        tidy = without(tidy, holes(tidy, marked, background))
    if wishes.keep_touching:
        numbers, held = parts(tidy, marked)
        tidy = without(tidy, ~held[numbers] & (tidy != background))
    return tidy


def parts(labels, marked):
    """Number the connected parts of each class from 1; tell which hold a stroke of their own."""
    numbers, total = np.zeros(labels.shape, dtype=np.int32), 0
    for label in np.unique(labels):
        own, count = ndimage.label(labels == label)
        numbers[labels == label] = own[labels == label] + total
        total += count
    held = np.zeros(total + 1, dtype=bool)
    held[numbers[marked == labels]] = True
    return numbers, held


def holes(labels, marked, background):
    numbers, held = parts(labels, marked)
    mask = np.zeros(labels.shape, dtype=bool)
    for part in range(1, len(held)):
        own = numbers == part
        around = ndimage.binary_dilation(own) & ~own
        at_edge = own[0].any() or own[-1].any() or own[:, 0].any() or own[:, -1].any()
        if len(np.unique(labels[around])) == 1 and not at_edge and not held[part]:
            mask |= own & (labels == background)
    return mask


def without(labels, dropped):
    if dropped.all() or not dropped.any():
        return labels
    regions, count = ndimage.label(dropped)
    border = np.zeros((count + 1, int(labels.max()) + 1), dtype=int)
    for here, there in (ACROSS, ACROSS[::-1], DOWN, DOWN[::-1]):
        meets = dropped[here] & ~dropped[there]
        np.add.at(border, (regions[here][meets], labels[there][meets]), 1)
    return np.where(dropped, border.argmax(axis=1)[regions], labels).astype(np.uint8)
