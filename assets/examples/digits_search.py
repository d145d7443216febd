"""Search in handwritten digits by their codes: SHL.hash, then faiss.

python digits_search.py --out .

Codes of 20 bits take three bytes a digit. faiss (pip install faiss-cpu) searches them exactly;
without it, shlcore.index.HammingIndex does the same.
"""

from __future__ import annotations

import argparse
import importlib.util
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from shlcore import SHL
from shlcore.index import HammingIndex

WRONG, RIGHT = "#c0392b", "#dddddd"


def nearest(
    codes: NDArray[np.uint8], queries: NDArray[np.uint8], count: int
) -> tuple[str, NDArray[np.intp]]:
    """Return who searched, and the nearest codes of each query."""
    if importlib.util.find_spec("faiss") is None:
        return "HammingIndex", np.asarray(HammingIndex().fit(codes).kneighbors(queries, count)[1])
    import faiss

    index = faiss.IndexBinaryFlat(8 * codes.shape[1])
    index.add(codes)
    return "faiss", np.asarray(index.search(queries, count)[1], dtype=np.intp)


def main() -> None:
    """Learn codes, search, tell the precision, and draw."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path(), help="folder for the picture")
    parser.add_argument("--samples", type=int, default=1200, help="digits to learn and search")
    options = parser.parse_args()
    X, y = load_digits(return_X_y=True)
    known, new = np.split(np.random.default_rng(0).permutation(len(X)), [options.samples])
    model = SHL(random_state=0).fit(X[known], y[known])
    codes, queries = model.hash(X[known]), model.hash(X[new])
    who, found = nearest(codes, queries, 10)
    right = y[known][found] == y[new][:, None]
    print(f"{codes.shape[1]} bytes a digit, {who}: precision@10 {right.mean():.3f}")
    # One query of each digit, those whose answers are worst: errors are what one wants to see.
    shown = [min(np.flatnonzero(y[new] == d), key=lambda i: right[i].sum()) for d in range(10)]
    figure, places = plt.subplots(10, 12, figsize=(6.4, 5.4), gridspec_kw={"wspace": 0.12})
    figure.suptitle("the worst query of each digit, and its ten nearest codes", fontsize=10)
    for line, query in zip(places, shown, strict=True):
        pictures = [X[new][query], None, *X[known][found[query]]]
        for column, (place, picture) in enumerate(zip(line, pictures, strict=True)):
            place.set(xticks=[], yticks=[])
            for side in place.spines.values():
                wrong = column > 1 and not right[query, column - 2]
                side.set(color=WRONG if wrong else RIGHT, linewidth=2.0 if wrong else 0.8)
                side.set_visible(picture is not None)
            if picture is not None:
                place.imshow(picture.reshape(8, 8), cmap="gray_r")
    figure.savefig(options.out / "digits_search.png", dpi=90, bbox_inches="tight")


if __name__ == "__main__":
    main()
