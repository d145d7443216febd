"""The record of a fit as a header and arrays, for `shlcore.model_file`."""

from __future__ import annotations

import dataclasses
import numbers
from typing import TYPE_CHECKING, cast

from shlcore.feature_hash import FeatureHash
from shlcore.feature_map import FeatureMap
from shlcore.fitted import Fitted, Stages, check_shape
from shlcore.kernel_hash import KernelHash, RowHash, StackHash
from shlcore.kernels import Gaussian, Kernel, Linear, Polynomial, kernel_bank
from shlcore.model_file import ModelFileError
from shlcore.samples import SeenColumns
from shlcore.scaling import Scaling

Json = dict[str, object]

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from shlcore.array_types import FileArrays
    from shlcore.fitted import Hash
    from shlcore.kernels import KernelBank

_KERNELS = {"gaussian": Gaussian, "linear": Linear, "polynomial": Polynomial}
_BEFORE: Json = {"decoding": "hamming", "unlabelled_weight": 1.0}
_ONE_STAGE = {"weights": [1.0], "starts": [0]}
"""What files say that were written before there was a choice: they answer as they did."""

# Names in the file. They were those of the estimator's attributes when version 1 was settled.
_FITTED = (
    "codewords_",
    "n_codewords_",
    "kernel_weights_",
    "objective_",
    "classes_",
    "transduction_",
)


def dump(parameters: Mapping[str, object], fitted: Fitted) -> tuple[Json, FileArrays]:
    """Return the header (JSON values) and the arrays of a fitted SHL and its parameters."""
    header: Json = {
        "parameters": {name: _dump_parameter(name, value) for name, value in parameters.items()},
        "solver": fitted.solver,
        "stages": {"weights": list(fitted.stages.weights), "starts": list(fitted.stages.starts)},
        "n_iter": int(fitted.n_iter),
        "n_features_in": int(fitted.columns.count),
    }
    if fitted.kernels is not None:
        header["kernels"] = [_dump_kernel(kernel) for kernel in fitted.kernels]
    if fitted.columns.names is not None:
        header["feature_names_in"] = [str(name) for name in fitted.columns.names]
    arrays: FileArrays = {name: getattr(fitted, name.removesuffix("_")) for name in _FITTED}
    arrays["squared_norms"] = fitted.squared_norms
    return header, arrays | fitted.hash.arrays()


def restore(
    header: Json, arrays: FileArrays, name: str, known: Collection[str]
) -> tuple[Json, Fitted]:
    """Return the parameters, all of them known ones, and the record that `dump` was given.

    Raises
    ------
    ModelFileError
        If something is missing or does not fit; ``name`` is the file's name in the message.
    """
    try:
        parameters = _restore_parameters(cast("Json", header["parameters"]), known)
        names = cast("list[str] | None", header.get("feature_names_in"))
        columns = SeenColumns(
            cast("int", header["n_features_in"]),
            None if names is None else tuple(names),
        )
        solver = str(header.get("solver", "exact"))
        stages = cast("dict[str, list[float]]", header.get("stages", _ONE_STAGE))
        kernels = parameters["kernels"]
        if "kernels" in header:
            kernels = [_restore_kernel(found) for found in cast("list[Json]", header["kernels"])]
        fitted = Fitted(
            **{name.removesuffix("_"): arrays[name] for name in _FITTED},
            squared_norms=arrays["squared_norms"],
            n_iter=cast("int", header["n_iter"]),
            solver=solver,
            columns=columns,
            stages=Stages(tuple(stages["weights"]), tuple(int(i) for i in stages["starts"])),
            hash=_restore_hash(parameters | {"kernels": kernels}, columns, solver, arrays),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelFileError(
            f"{name}: the model is incomplete or its parts do not fit together"
        ) from error
    return parameters, fitted


def _restore_parameters(written: Json, known: Collection[str]) -> Json:
    unknown = set(written) - set(known)
    if unknown:
        raise ValueError(f"parameters: wanted known ones, got {sorted(unknown)}")
    parameters = _BEFORE | dict(written)
    if not isinstance(parameters["kernels"], str):
        kernels = cast("Iterable[Json]", parameters["kernels"])
        parameters["kernels"] = [_restore_kernel(kernel) for kernel in kernels]
    return parameters


def _restore_hash(parameters: Json, columns: SeenColumns, solver: str, arrays: FileArrays) -> Hash:
    n_bits = arrays["codewords_"].shape[-1]
    if solver == "random_features":
        map_ = FeatureMap.restored(_bank(parameters, columns), arrays)
        check_shape(arrays["hash_weights"], map_.n_features, n_bits)
        return FeatureHash(
            map_, _scaling(arrays), arrays["hash_weights"], arrays["hash_intercepts"]
        )
    fields = [field.name for field in dataclasses.fields(KernelHash)]
    functions = KernelHash(*(arrays[f"hash_{field}"] for field in fields))
    check_shape(functions.coefficients, n_bits, len(functions.support))
    check_shape(functions.scales, *arrays["kernel_weights_"].shape)
    if "support_rows" not in arrays:
        return StackHash(functions, columns.count)
    bank = _bank(parameters, columns)
    return RowHash(functions, bank, _scaling(arrays), arrays["support_rows"])


def _bank(parameters: Json, columns: SeenColumns) -> KernelBank:
    kernels = cast("str | Sequence[Kernel]", parameters["kernels"])
    groups = cast("Mapping[str, Sequence[int]] | None", parameters.get("column_groups"))
    return kernel_bank(kernels, columns.count, groups, columns.names)


def _scaling(arrays: FileArrays) -> Scaling:
    return Scaling(arrays["offsets"], arrays["factors"])


def _dump_parameter(name: str, value: object) -> object:
    if name == "kernels" and not isinstance(value, str):
        return [_dump_kernel(kernel) for kernel in cast("Iterable[Kernel]", value)]
    if name == "column_groups" and value is not None:
        groups = cast("Mapping[str, Sequence[int]]", value)
        return {group: [int(i) for i in columns] for group, columns in groups.items()}
    if name == "random_state" and not isinstance(value, int | None):
        return None
    return _plain(value)


def _plain(value: object) -> object:
    """Turn numpy's numbers into JSON's."""
    if isinstance(value, bool | str | list | dict | None):
        return value
    return int(value) if isinstance(value, numbers.Integral) else float(cast("float", value))


def _dump_kernel(kernel: Kernel) -> Json:
    fields = dataclasses.asdict(kernel)
    columns = fields["columns"]
    if columns is not None and not isinstance(columns, str):
        fields["columns"] = [c if isinstance(c, str) else int(c) for c in columns]
    kind = next(name for name, type_ in _KERNELS.items() if type(kernel) is type_)
    return {"kind": kind, **{key: _plain(value) for key, value in fields.items()}}


def _restore_kernel(fields: Json) -> Kernel:
    arguments = {key: value for key, value in fields.items() if key != "kind"}
    if isinstance(arguments["columns"], list):
        arguments["columns"] = tuple(arguments["columns"])
    return cast("Kernel", _KERNELS[str(fields["kind"])](**arguments))
