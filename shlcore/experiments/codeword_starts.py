"""*SHL from codewords of one's choice, learnt further or held as they are: for the ablation.

`shlcore.SHL` always begins with spread codewords and always learns them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from itertools import product
from typing import TYPE_CHECKING, Literal

import numpy as np
from sklearn.utils import check_random_state

from shlcore import hamming
from shlcore.assignments import class_scores
from shlcore.baselines.anchors import KernelMean
from shlcore.gathering import gather
from shlcore.kernel_hash import RowHash
from shlcore.kernels import KernelBank
from shlcore.parameters import Parameters
from shlcore.sample_rows import SampleRows
from shlcore.samples import SeenColumns
from shlcore.scaling import learn_scaling, summarise

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shlcore.array_types import AnyArray, Array, Indices
    from shlcore.estimator import SHL
    from shlcore.fitted import Fitted

    Codewords = NDArray[np.int8]

Source = Literal["random", "spread", "similar"]
_FLIPPED = 8  # bits of a word, the least decided, among whose flips an own word is looked for


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What was learnt, and from which codewords."""

    record: Fitted
    first: Codewords

    @property
    def moved(self) -> float:
        """The share of codeword bits that are not what they were."""
        return float((self.record.codewords != self.first).mean())

    def predict(self, X: Array) -> AnyArray:
        """Return classes, by hinge distance."""
        scores = class_scores(self._project(X), self.record.codewords)
        return np.asarray(self.record.classes[scores.argmax(axis=1)])

    def hash(self, X: Array) -> NDArray[np.uint8]:
        """Return packed codes."""
        return hamming.pack((self._project(X) >= 0).astype(np.uint8))

    def _project(self, X: Array) -> Array:
        functions = self.record.hash
        if not isinstance(functions, RowHash):
            raise TypeError(f"kernels: wanted functions of rows, got {type(functions).__name__}")
        return functions.project(SampleRows(X))


def learn(model: SHL, X: Array, y: AnyArray, source: Source, *, learnt: bool) -> Outcome:
    """Fit with a model's parameters, from other codewords, or without block 3.

    All rows have a label, the model a list of kernels. The same seed gives the spread codewords of
    ``model.fit``.
    """
    parameters = Parameters(**{f.name: getattr(model, f.name) for f in fields(Parameters)})
    seed = check_random_state(model.random_state).randint(2**31 - 1)
    rng = np.random.default_rng(seed)
    samples, columns = SampleRows(X), SeenColumns(X.shape[1])
    data = gather(samples, columns, (y, None), parameters, "exact", rng)
    start = data.cold_start(np.random.default_rng(seed))
    if source != "spread":
        shape = start.codewords.shape
        values = rng.standard_normal((shape[0] * shape[1], shape[2]))
        if source == "similar":
            values = _similarity_root(model, X, start.members[data.rows.row_of_sample]) @ values
        start = replace(start, codewords=distinct_signs(values).reshape(shape))
    problem = replace(data.problem, fixed_codewords=not learnt)
    *_, last = replace(data, problem=problem).moments(start, parameters)
    return Outcome(last.fitted(), start.codewords)


def similarities(gram: Array, members: Indices) -> Array:
    """Return how alike groups of rows are: the cosines of their centred means in kernel space."""
    shares = np.eye(int(members.max()) + 1)[members]
    shares /= np.maximum(shares.sum(axis=0), 1)
    shares -= 1 / len(members)
    products = shares.T @ gram @ shares
    lengths = np.sqrt(np.maximum(np.diagonal(products), np.finfo(float).tiny))
    return np.asarray(products / lengths[:, None] / lengths)


def _similarity_root(model: SHL, X: Array, members: Indices) -> Array:
    """Return A with A A' the groups' similarity.

    Signs of A z, z normal, agree on a bit the more often the more alike two groups are: with
    probability ``1 - arccos(similarity) / pi``.
    """
    scaling = learn_scaling("minmax", summarise(X, np.ones(len(X))))
    gram = KernelMean(KernelBank(model.kernels, X.shape[1]), scaling, scaling.apply(X)).of(X)
    values, vectors = np.linalg.eigh(similarities(gram, members))
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0)))


def distinct_signs(values: Array) -> Codewords:
    """Return the signs of each row's values; of equal words the later flips its weakest bits."""
    words = np.where(values >= 0, 1, -1).astype(np.int8)
    taken: set[bytes] = set()
    for word, row in zip(words, np.abs(values), strict=True):
        weakest = np.argsort(row, kind="stable")[:_FLIPPED]
        masks = np.array(list(product([False, True], repeat=len(weakest))))
        for mask in masks[np.argsort(masks @ row[weakest], kind="stable")]:
            flipped = word.copy()
            flipped[weakest[mask]] *= -1
            if flipped.tobytes() not in taken:
                word[:] = flipped
                break
        taken.add(word.tobytes())
    return words
