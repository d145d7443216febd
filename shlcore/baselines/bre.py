"""Binary Reconstructive Embedding (Kulis and Darrell, NIPS 2009)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shlcore.baselines.base import HashTransformer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shlcore.array_types import Array, Features


class BRE(HashTransformer):
    """Codes whose Hamming distances reconstruct given distances.

    Rows are centred and scaled to unit length. A bit is the sign of a weighted sum of linear
    kernels to its own few anchor rows. The weights lower
    ``sum over pairs (d - hamming / n_bits)^2`` by exact coordinate descent: along one weight
    the loss is piecewise constant, so all pieces are evaluated and the best is taken.
    With classes, d is 0 within a class and 1 between classes; without, it is half
    the squared distance of the scaled rows.

    Parameters
    ----------
    n_bits : int, default=5
        Length of the codes.
    n_anchors : int, default=50
        Rows in the sum of each bit.
    n_train : int, default=1000
        Rows drawn for the pairs.
    max_iter : int, default=20
        Sweeps over all weights of all bits, at most.
    tol : float, default=1e-3
        Stop when a sweep lowers the loss by less than this share.
    random_state : int, RandomState or None
        Draws rows, anchors, first weights and the order of descent.

    Attributes
    ----------
    mean_ : (n_features,) array
        Centre of the training rows.
    directions_ : (n_features, n_bits) array
        Kernels being linear, the sum over anchors is one direction a bit.
    n_iter_ : int
        Sweeps done.
    losses_ : array
        The loss at first, and after each sweep.
    """

    targets = "optional"

    def __init__(
        self,
        *,
        n_bits: int = 5,
        n_anchors: int = 50,
        n_train: int = 1000,
        max_iter: int = 20,
        tol: float = 1e-3,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        # scikit-learn reads the parameters from this signature, so there is no shared constructor.
        self.n_bits = n_bits
        self.n_anchors = n_anchors
        self.n_train = n_train
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _learn(
        self, X: Array, rng: np.random.RandomState, classes: NDArray[np.int64] | None
    ) -> None:
        self.mean_ = X.mean(axis=0)
        drawn = rng.choice(len(X), min(self.n_train, len(X)), replace=False)
        rows = self._scaled(X[drawn])
        if classes is None:
            targets = 1.0 - np.clip(rows @ rows.T, -1, 1)
        else:
            targets = (classes[drawn][:, None] != classes[drawn][None, :]).astype(float)
        n_anchors = min(self.n_anchors, len(rows))
        anchors = [
            rows[rng.choice(len(rows), n_anchors, replace=False)] for _ in range(self.n_bits)
        ]
        weights = rng.standard_normal((self.n_bits, n_anchors))
        kernels = [rows @ anchor.T for anchor in anchors]
        descent = _BreDescent(targets, kernels, weights)
        losses = [descent.loss()]
        for _ in range(self.max_iter):
            for bit in rng.permutation(self.n_bits):
                descent.improve(bit, rng.permutation(n_anchors))
            losses.append(descent.loss())
            if losses[-2] - losses[-1] <= self.tol * losses[-2]:
                break
        self.directions_ = np.column_stack(
            [anchor.T @ weight for anchor, weight in zip(anchors, descent.weights, strict=True)]
        )
        self.losses_ = np.array(losses)
        self.n_iter_ = len(losses) - 1

    def _scaled(self, X: Array) -> Array:
        centred = X - self.mean_
        length = np.linalg.norm(centred, axis=1, keepdims=True)
        return np.asarray(centred / np.where(length > 0, length, 1))

    def _project(self, X: Array) -> Array:
        return np.asarray(self._scaled(X) @ self.directions_)


class _BreDescent:
    """The state of the coordinate descent: weights, bits and code distances.

    With the other bits fixed, the loss in one bit's signs s (+1, -1) is a constant minus
    half of ``s' C s``, where ``C = 1/B^2 - 2 (d - others) / B`` has a zero diagonal.
    """

    def __init__(
        self,
        targets: Array,
        kernels: list[Array],
        weights: Array,
    ) -> None:
        self.targets, self.kernels, self.weights = targets, kernels, weights.copy()
        pairs = zip(kernels, weights, strict=True)
        self.signs = np.array([_signs(kernel @ weight) for kernel, weight in pairs])
        self.distances = (len(weights) - self.signs.T @ self.signs) / 2

    def loss(self) -> float:
        return float(((self.targets - self.distances / len(self.weights)) ** 2).sum())

    def improve(self, bit: int, order: NDArray[np.int64]) -> None:
        """Move each weight of a bit to its best value, one after another."""
        n_bits, signs = len(self.weights), self.signs[bit]
        others = self.distances - (1 - np.outer(signs, signs)) / 2
        gains = 1 / n_bits**2 - 2 * (self.targets - others / n_bits) / n_bits
        np.fill_diagonal(gains, 0)
        gains = gains.astype(
            np.float32
        )  # sums of many small terms: twice as fast and accurate enough
        kernel, weight = self.kernels[bit], self.weights[bit]
        values = kernel @ weight
        for anchor in order:
            step = _best_step(values, kernel[:, anchor], gains)
            if step != 0:
                weight[anchor] += step
                values = kernel @ weight
        new = _signs(values)
        change = (1 - np.outer(new, new)) / 2 - (1 - np.outer(signs, signs)) / 2
        # Because the sums have single precision, a bit that is worse is rejected.
        before = self.targets - self.distances / n_bits
        if ((before - change / n_bits) ** 2).sum() <= (before**2).sum():
            self.signs[bit] = new
            self.distances += change


def _signs(values: Array) -> Array:
    return np.where(values > 0, 1.0, -1.0)


def _best_step(values: Array, slope: Array, gains: Features) -> float:
    """Return the t that maximises ``s' gains s`` for ``s = sign(values + t slope)``.

    As t grows from -infinity, the rows change sign one by one, at ``-values / slope``. With
    row i, the sum changes by ``-4 s_i sum_j gains_ij s_j``, where the rows j that
    changed before count with their new sign.
    """
    # Rows have unit length, so that such small values are rounding errors of 0.
    moving = np.abs(slope) > 1e-12
    if not moving.any():
        return 0.0
    first = np.where(moving, -np.sign(slope), _signs(values)).astype(np.float32)
    crossings = np.full(len(values), np.inf)
    crossings[moving] = -values[moving] / slope[moving]
    order = np.argsort(crossings, kind="stable")
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order))
    earlier = (gains * (rank[:, None] > rank[None, :])) @ first
    changes = -4.0 * first * (gains @ first - 2 * earlier)
    order = order[: int(moving.sum())]
    sums = np.concatenate(([0.0], np.cumsum(changes[order], dtype=np.float64)))
    ends = crossings[order]
    lows = np.concatenate(([ends[0] - 2.0], ends))
    highs = np.concatenate((ends, [ends[-1] + 2.0]))
    sums[highs - lows <= 1e-9 * (1 + np.abs(lows))] = -np.inf  # no interval between the two
    best = int(np.argmax(sums))
    here = int(np.searchsorted(ends, 0.0))
    # The sums are of single precision, so a gain in the seventh digit is none.
    if sums[best] <= sums[here] + 1e-6 * abs(sums[here]) + 1e-9:
        return 0.0
    return float((lows[best] + highs[best]) / 2)
