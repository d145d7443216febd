"""Unknown digits: the distance to the nearest codeword tells them from known ones.

python open_set.py --out .

Digits 0 to 6 are learnt, and 7 to 9 are not. ``predict(X, reject=0.05)`` masks samples that are
farther from all codewords than all but 5 % of the training samples, each judged by functions of
the others: so about 5 % of the known digits are lost, and most unknown ones are found.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from shlcore import SHL

BLUE, ORANGE, INK = "#3367a8", "#d9822b", "#333333"


def main() -> None:
    """Fit, tell the shares of rejected digits, and draw."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path(), help="folder for the picture")
    parser.add_argument("--samples", type=int, default=600, help="samples to learn from")
    parser.add_argument("--reject", type=float, default=0.05, help="share of known ones to lose")
    options = parser.parse_args()
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    known = y[order] < 7
    train = order[known][: options.samples]
    new = np.setdiff1d(order, train)
    is_known = y[new] < 7

    model = SHL(n_bits=45, random_state=0).fit(X[train], y[train])
    distances = model.codeword_distance(X[new])
    classes = model.predict(X[new], reject=options.reject)
    rejected = np.ma.getmaskarray(classes)
    right = (np.ma.getdata(classes) == y[new])[is_known & ~rejected].mean()
    print(f"{rejected[is_known].mean():.1%} of the known digits are rejected")
    print(f"{rejected[~is_known].mean():.1%} of the unknown digits are rejected")
    print(f"{right:.1%} of the known digits that remain are right")

    figure = plt.figure(figsize=(9.6, 2.6), layout="constrained")
    left, middle, last = figure.subfigures(1, 3, width_ratios=(2.2, 1, 1))
    axes = left.subplots()
    bins = np.linspace(0, distances.max(), 40).tolist()
    for chosen, colour, label in ((is_known, BLUE, "0 to 6"), (~is_known, ORANGE, "7 to 9")):
        axes.hist(distances[chosen], bins, color=colour, alpha=0.75, label=label)
    axes.axvline(distances[rejected].min(), color=INK, linewidth=1, linestyle="--")
    axes.set(xlabel="distance to the nearest codeword", ylabel="digits")
    axes.legend(frameon=False)
    for part, chosen, title in (
        (middle, is_known & rejected, "known, rejected"),
        (last, ~is_known & ~rejected, "unknown, accepted"),
    ):
        part.suptitle(title, fontsize=10, color=INK)
        shown = iter(new[chosen])
        for place in part.subplots(3, 3).flat:
            place.set_axis_off()
            index = next(shown, None)
            if index is not None:
                place.imshow(X[index].reshape(8, 8), cmap="gray_r")
    figure.savefig(options.out / "open_set.png", dpi=100)


if __name__ == "__main__":
    main()
