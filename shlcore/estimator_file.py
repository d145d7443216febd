"""SHL as a header and arrays, for `shlcore.model_file`."""

from __future__ import annotations

import dataclasses
import numbers
from typing import TYPE_CHECKING, Any

import numpy as np

from shlcore.hash_functions import FeatureHash, Hash, KernelHash, RowHash, StackHash
from shlcore.kernels import Gaussian, Linear, Polynomial, kernel_bank
from shlcore.model_file import ModelFileError
from shlcore.random_features import FeatureMap
from shlcore.scaling import Scaling

if TYPE_CHECKING:
    from numpy.typing import NDArray

_KERNELS = {"gaussian": Gaussian, "linear": Linear, "polynomial": Polynomial}
_FITTED = (
    "codewords_",
    "n_codewords_",
    "kernel_weights_",
    "objective_",
    "classes_",
    "transduction_",
)


def dump_estimator(estimator: Any) -> tuple[dict[str, Any], dict[str, Any]]:  # noqa: ANN401
    """Return the header (JSON values) and the arrays of a fitted SHL."""
    parameters = estimator.get_params(deep=False)
    if not isinstance(parameters["kernels"], str):
        parameters["kernels"] = [_dump_kernel(kernel) for kernel in parameters["kernels"]]
    if parameters["column_groups"] is not None:
        parameters["column_groups"] = {
            name: [int(i) for i in columns]
            for name, columns in parameters["column_groups"].items()
        }
    if not isinstance(parameters["random_state"], int | None):
        parameters["random_state"] = None
    header = {
        "parameters": {name: _plain(value) for name, value in parameters.items()},
        "solver": estimator.solver_,
        "n_iter": int(estimator.n_iter_),
        "n_features_in": int(estimator.n_features_in_),
    }
    if hasattr(estimator, "feature_names_in_"):
        header["feature_names_in"] = [str(name) for name in estimator.feature_names_in_]
    arrays = {name: getattr(estimator, name) for name in _FITTED}
    arrays["squared_norms"] = estimator._squared_norms
    return header, arrays | estimator._hash.arrays()


def restore_estimator(
    estimator: Any,  # noqa: ANN401 - SHL, which imports this module
    header: dict[str, Any],
    arrays: dict[str, Any],
    name: str,
) -> None:
    """Fill a new SHL with what `dump_estimator` returned.

    Raises
    ------
    ModelFileError
        If something is missing or does not fit; ``name`` is the file's name in the message.
    """
    try:
        parameters = dict(header["parameters"])
        if not isinstance(parameters["kernels"], str):
            parameters["kernels"] = [_restore_kernel(kernel) for kernel in parameters["kernels"]]
        estimator.set_params(**parameters)
        for attribute in _FITTED:
            setattr(estimator, attribute, arrays[attribute])
        estimator._squared_norms = arrays["squared_norms"]
        estimator.n_iter_ = header["n_iter"]
        estimator.n_features_in_ = header["n_features_in"]
        if "feature_names_in" in header:
            estimator.feature_names_in_ = np.array(header["feature_names_in"], dtype=object)
        estimator.solver_ = header.get("solver", "exact")
        estimator._hash = _restore_hash(estimator, arrays)
        _check_shapes(estimator)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelFileError(
            f"{name}: the model is incomplete or its parts do not fit together"
        ) from error


def _restore_hash(estimator: Any, arrays: dict[str, Any]) -> Hash:  # noqa: ANN401
    n_bits = estimator.codewords_.shape[-1]
    if estimator.solver_ == "random_features":
        map_ = FeatureMap.restored(kernel_bank(estimator), arrays)
        weights = _shaped(arrays["hash_weights"], map_.n_features, n_bits)
        return FeatureHash(map_, _scaling(arrays), weights, arrays["hash_intercepts"])
    fields = [field.name for field in dataclasses.fields(KernelHash)]
    functions = KernelHash(*(arrays[f"hash_{field}"] for field in fields))
    _shaped(functions.coefficients, n_bits, len(functions.support))
    _shaped(functions.scales, *estimator.kernel_weights_.shape)
    if "support_rows" not in arrays:
        return StackHash(functions, estimator.n_features_in_)
    bank = kernel_bank(estimator)
    return RowHash(functions, bank, _scaling(arrays), arrays["support_rows"])


def _scaling(arrays: dict[str, Any]) -> Scaling:
    return Scaling(arrays["offsets"], arrays["factors"])


def _shaped(array: NDArray[Any], *shape: int) -> NDArray[Any]:
    if array.shape != shape:
        raise ValueError("shapes do not agree")
    return array


def _check_shapes(estimator: Any) -> None:  # noqa: ANN401 - SHL, which imports this module
    n_classes, _, n_bits = estimator.codewords_.shape
    _shaped(estimator.classes_, n_classes)
    _shaped(estimator.kernel_weights_, n_bits, estimator._hash.n_kernels)
    _shaped(estimator._hash.intercepts, n_bits)


def _plain(value: Any) -> Any:  # noqa: ANN401 - JSON values in, JSON values out
    if isinstance(value, bool | str | list | dict | None):
        return value
    return int(value) if isinstance(value, numbers.Integral) else float(value)


def _dump_kernel(kernel: Gaussian | Linear | Polynomial) -> dict[str, Any]:
    fields = dataclasses.asdict(kernel)
    columns = fields["columns"]
    if columns is not None and not isinstance(columns, str):
        fields["columns"] = [c if isinstance(c, str) else int(c) for c in columns]
    kind = next(name for name, type_ in _KERNELS.items() if type(kernel) is type_)
    return {"kind": kind, **{key: _plain(value) for key, value in fields.items()}}


def _restore_kernel(fields: dict[str, Any]) -> Gaussian | Linear | Polynomial:
    arguments = {key: value for key, value in fields.items() if key != "kind"}
    if isinstance(arguments["columns"], list):
        arguments["columns"] = tuple(arguments["columns"])
    kernel: Gaussian | Linear | Polynomial = _KERNELS[fields["kind"]](**arguments)
    return kernel
