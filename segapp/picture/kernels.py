"""Which kernels compare two regions: a few for each group of features that the settings choose."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segapp.values.settings import STROKE_BOUND, FeatureGroup, Settings
from shlcore.kernels import Gaussian, Kernel, Linear, paper_kernels

if TYPE_CHECKING:
    from collections.abc import Iterable


def kernels_of(group: FeatureGroup, settings: Settings) -> tuple[Kernel, ...]:
    """Return the kernels that act on the columns of a group."""
    if group in STROKE_BOUND:
        bandwidths = settings.stroke_bandwidths
    elif group is FeatureGroup.POSITION:
        bandwidths = settings.position_bandwidths
    else:
        bandwidths = settings.bandwidths
    if not bandwidths:
        return paper_kernels(group.value)
    return tuple(Gaussian(sigma, group.value) for sigma in bandwidths)


def kernels_of_all(groups: Iterable[FeatureGroup], settings: Settings) -> list[Kernel]:
    """Return the kernels of several groups, one group after the other."""
    return [kernel for group in groups for kernel in kernels_of(group, settings)]


def kernel_names(settings: Settings) -> tuple[str, ...]:
    """Name the kernels for people, in the order of their matrices: those of strokes are last."""
    groups = (*fixed_groups(settings), *stroke_groups(settings))
    return tuple(_kernel_name(kernel) for kernel in kernels_of_all(groups, settings))


def _kernel_name(kernel: Kernel) -> str:
    if isinstance(kernel, Gaussian):
        return f"{kernel.columns}, sigma {kernel.sigma:g}"
    return f"{kernel.columns}, {'linear' if isinstance(kernel, Linear) else 'polynomial'}"


def fixed_groups(settings: Settings) -> tuple[FeatureGroup, ...]:
    """Return the groups that the picture alone gives."""
    return tuple(g for g in settings.features if g not in STROKE_BOUND)


def stroke_groups(settings: Settings) -> tuple[FeatureGroup, ...]:
    """Return the groups that depend on the strokes."""
    return tuple(g for g in settings.features if g in STROKE_BOUND)
