"""Two moons, six labels: how samples without a label move the boundary.

python two_moons.py --out .

The picture shows the function that the labels alone would give, the one after the labels have
spread to neighbours, and the default: each other sample chooses its codeword by functions that
were learnt without it. How much is gained depends on which samples have labels: try --seed.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray
from sklearn.datasets import make_moons

from shlcore import SHL, FitStep

BLUE, ORANGE, INK = "#3367a8", "#d9822b", "#333333"


def moons(
    samples: int, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.intp], NDArray[np.intp]]:
    """Return samples, their classes, and the labels that are told: three of each moon."""
    X, y = make_moons(samples, noise=0.06, random_state=seed)
    rng = np.random.default_rng(seed)
    labels = np.full(len(y), -1)
    for c in (0, 1):
        labels[rng.choice(np.flatnonzero(y == c), 3, replace=False)] = c
    return X, y, labels


def draw(
    axes: Axes, model: SHL, X: NDArray[np.float64], labels: NDArray[np.intp], title: str
) -> None:
    """Draw a model's probabilities, its boundary, and the samples."""
    low, high = X.min(axis=0) - 0.35, X.max(axis=0) + 0.35
    across, up = np.meshgrid(np.linspace(low[0], high[0], 160), np.linspace(low[1], high[1], 110))
    shares = model.predict_proba(np.column_stack([across.ravel(), up.ravel()]))[:, 1]
    levels = np.linspace(0, 1, 11)
    shade = mpl.colors.LinearSegmentedColormap.from_list("", ["#a9c4e4", "#ffffff", "#f3cfa4"])
    axes.contourf(across, up, shares.reshape(across.shape), levels=levels, cmap=shade)
    axes.contour(
        across, up, shares.reshape(across.shape), levels=[0.5], colors=INK, linewidths=1.4
    )
    axes.scatter(*X[labels == -1].T, s=7, color="#8a8a8a", linewidths=0)
    for c, colour in enumerate((BLUE, ORANGE)):
        axes.scatter(*X[labels == c].T, s=90, color=colour, edgecolors="white", linewidths=1.5)
    axes.set(title=title, xticks=[], yticks=[], aspect="equal")
    axes.title.set(fontsize=10, color=INK)
    for side in axes.spines.values():
        side.set_visible(False)


def main() -> None:
    """Fit, tell the accuracies, and draw."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path(), help="folder for the picture")
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--seed", type=int, default=3)
    options = parser.parse_args()
    X, y, labels = moons(options.samples, options.seed)
    alone = SHL(semi_supervised="none", random_state=0).fit(X, labels)
    model = SHL(semi_supervised="spreading", random_state=0)
    steps: list[FitStep] = [step for step in model.iter_fit(X, labels) if step.pass_ended]
    first = steps[0].snapshot()
    best = SHL(random_state=0).fit(X, labels)
    figure, places = plt.subplots(1, 3, figsize=(9.6, 2.25), layout="constrained")
    for place, shown, title in zip(
        places,
        (alone, first, best),
        ("six labels alone", "labels spread to neighbours", "functions without the sample"),
        strict=True,
    ):
        right = float((shown.predict(X) == y).mean())
        print(f"{title}: {right:.3f} of the samples right")
        draw(place, shown, X, labels, f"{title}: {right:.1%} right")
    figure.savefig(options.out / "two_moons.png", dpi=100)


if __name__ == "__main__":
    main()
