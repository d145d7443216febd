"""How SHL checks X, as scikit-learn's estimators do, without making it larger."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
from sklearn.utils.validation import validate_data

from shlcore.gathering import chosen_solver
from shlcore.grams import Grams
from shlcore.kernel_parameters import KernelParameters
from shlcore.sample_rows import SampleRows
from shlcore.samples import SeenColumns

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from shlcore.array_types import DaskArray, Table
    from shlcore.gathering import Solver
    from shlcore.parameters import Parameters

    Samples = ArrayLike | DaskArray | Grams


class SampleChecks(KernelParameters):
    """Turns the samples of a user into what the solvers take, and remembers their columns."""

    def _checked(
        self, X: Samples, parameters: Parameters
    ) -> tuple[Grams | SampleRows | Table, Solver]:
        """Check X, remember its columns, and settle the solver."""
        if parameters.precomputed:
            if parameters.solver == "random_features":
                raise ValueError(
                    "solver: wanted 'exact' or 'auto' with precomputed kernels, "
                    "got 'random_features'"
                )
            given = X if isinstance(X, Grams) else Grams(cast("ArrayLike", X))
            self.n_features_in_ = given.n_rows
            return given, "exact"
        shape: tuple[int, ...] = getattr(X, "shape", ())
        dask = hasattr(X, "dask")
        if parameters.solver != "exact" and len(shape) == 2 and 0 not in shape:
            validate_data(self, X, skip_check_array=True)
            solver = chosen_solver(parameters, self._columns(), shape[0], dask=dask)
            if solver == "random_features":
                return self._table(X), solver
        samples = self._rows(X, reset=True)
        solver = chosen_solver(parameters, self._columns(), len(samples), dask=False)
        return (samples if solver == "exact" else cast("Table", samples.X)), solver

    def _table(self, X: Samples) -> Table:
        """Check the columns of X; an array, memory map or Dask array is not read or copied."""
        if isinstance(X, np.ndarray) or hasattr(X, "dask"):
            validate_data(self, X, skip_check_array=True, reset=False)
            return cast("Table", X)
        return cast("Table", self._rows(X, reset=False).X)

    def _rows(self, X: Samples, *, reset: bool) -> SampleRows:
        """Check X as scikit-learn does; single precision and sparse rows stay what they are."""
        return SampleRows(
            validate_data(
                self, X, dtype=[np.float64, np.float32], accept_sparse="csr", reset=reset
            )
        )

    def _columns(self) -> SeenColumns:
        names = getattr(self, "feature_names_in_", None)
        return SeenColumns(self.n_features_in_, None if names is None else tuple(names))
