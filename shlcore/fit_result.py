"""The immutable result of a fit, and its form as header and arrays of a file."""

from __future__ import annotations

import dataclasses
import numbers
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from shlcore.feature_data import FeatureHash
from shlcore.kernel_data import KernelHash, PrecomputedHash, RowHash
from shlcore.kernels import Gaussian, Kernel, KernelBank, Linear, Polynomial, choose_kernels
from shlcore.model_file import READ_ERRORS, ModelFileError
from shlcore.parameters import DECODINGS
from shlcore.random_features import FeatureMap, Whitening
from shlcore.samples import ColumnInfo
from shlcore.scaling import Scaling

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from shlcore.array_types import AnyArray, Array, FileArrays, Indices


Hash = RowHash | PrecomputedHash | FeatureHash
"""All B hash functions: on support rows, on precomputed kernels, or on explicit features."""

Json = dict[str, object]

_KERNELS = {"gaussian": Gaussian, "linear": Linear, "polynomial": Polynomial}
_OLD_DEFAULTS: Json = {"decoding": "hamming", "unlabelled_weight": 1.0, "probability": False}
_ONE_STAGE = {"weights": [1.0], "starts": [0]}
"""Values for files from before these parameters existed, whose predictions stay the same."""

_OLD_NAMES = {"transductive"}
_OLD_WEIGHT_CHOICES = ("annealed", "label_spreading")  # of unlabelled_weight
"""Names of version 1 for `SHL.semi_supervised`."""

_LARGEST = 1e100  # of real numbers: products of three of them are finite
_LARGEST_INTEGER = (1 << 62) - 1
_LARGEST_DEGREE = 1000

# Names in the file. They were those of the estimator's attributes when version 1 was settled.
_RESULT_ARRAYS = (
    "codewords_",
    "n_codewords_",
    "kernel_weights_",
    "objective_",
    "classes_",
    "transduction_",
)


@dataclass(frozen=True, slots=True, eq=False)
class Stages:
    """Weight of the unlabelled rows, first step and cost of each stage of a fit.

    The cost is lambda1, or the value that replaced it; old files hold none.
    """

    weights: tuple[float, ...]
    starts: tuple[int, ...]
    costs: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FitResult:
    """The result of a fit, at its end or after any step.

    Parameters
    ----------
    classes
        ``(C,)``, values of the labels.
    codewords
        ``(C, S, B)``, -1 or +1.
    n_codewords
        ``(C,)``, distinct codewords of each class.
    kernel_weights, squared_norms
        ``(B, M)``, theta and ``||w_bm||^2``.
    objective
        Eq. (6) at the start of each stage and after every block.
    stages
        Stages of the fit, with their first steps in ``objective``.
    transduction
        ``(n,)``, label of each training sample.
    n_iter
        Passes made.
    solver
        "exact" or "random_features".
    columns
        Columns of X.
    hash
        The hash functions for further samples.
    temperature
        Divisor of the scores in the softmax; None: not learnt.
    distance_quantiles
        ``(1001,)``, quantiles of the training rows' leave-one-out distances to their nearest
        codeword; None: not learnt.
    """

    classes: AnyArray
    codewords: NDArray[np.int8]
    n_codewords: Indices
    kernel_weights: Array
    squared_norms: Array
    objective: Array
    stages: Stages
    transduction: AnyArray
    n_iter: int
    solver: str
    columns: ColumnInfo
    hash: Hash
    temperature: float | None = None
    distance_quantiles: Array | None = None

    def __post_init__(self) -> None:
        n_classes, _, n_bits = self.codewords.shape
        check_shape(self.classes, n_classes)
        check_shape(self.kernel_weights, n_bits, self.hash.n_kernels)
        check_shape(self.hash.intercepts, n_bits)
        if self.temperature is not None and not 0.0 < self.temperature < np.inf:
            raise ValueError(f"temperature: wanted a number above 0, got {self.temperature!r}")

    @property
    def kernels(self) -> tuple[Kernel, ...] | None:
        """The kernels in use; None if they were precomputed."""
        if isinstance(self.hash, RowHash):
            return self.hash.bank.kernels
        return None if isinstance(self.hash, PrecomputedHash) else self.hash.map.bank.kernels

    def attributes(self) -> dict[str, object]:
        """Return the attributes of the fitted estimator by name."""
        named: dict[str, object] = {
            "classes_": self.classes,
            "codewords_": self.codewords,
            "n_codewords_": self.n_codewords,
            "kernel_weights_": self.kernel_weights,
            "objective_": self.objective,
            "stage_starts_": np.array(self.stages.starts, dtype=np.intp),
            "stage_weights_": np.array(self.stages.weights),
            "stage_costs_": np.array(self.stages.costs),
            "transduction_": self.transduction,
            "labels_": self.transduction,
            "n_iter_": self.n_iter,
            "solver_": self.solver,
            "n_features_in_": self.columns.count,
        }
        if self.temperature is not None:
            named["temperature_"] = self.temperature
        if self.kernels is not None:
            named["kernels_"] = list(self.kernels)
        if self.columns.names is not None:
            named["feature_names_in_"] = np.array(self.columns.names, dtype=object)
        return named


def check_shape(array: AnyArray, *shape: int) -> None:
    """Raise a ValueError unless an array has the given shape."""
    if array.shape != shape:
        raise ValueError(f"shape: wanted {shape}, got {array.shape}")


def dump(parameters: Mapping[str, object], result: FitResult) -> tuple[Json, FileArrays]:
    """Return the header (JSON values) and the arrays of a result and its parameters."""
    header: Json = {
        "parameters": {name: _dump_parameter(name, value) for name, value in parameters.items()},
        "solver": result.solver,
        "stages": {
            name: list(values) for name, values in dataclasses.asdict(result.stages).items()
        },
        "n_iter": int(result.n_iter),
        "n_features_in": int(result.columns.count),
        "temperature": result.temperature,
    }
    if result.kernels is not None:
        header["kernels"] = [_dump_kernel(kernel) for kernel in result.kernels]
    if result.columns.names is not None:
        header["feature_names_in"] = [str(name) for name in result.columns.names]
    arrays: FileArrays = {name: getattr(result, name.removesuffix("_")) for name in _RESULT_ARRAYS}
    arrays["squared_norms"] = result.squared_norms
    if result.distance_quantiles is not None:
        arrays["distance_quantiles"] = result.distance_quantiles
    return header, arrays | result.hash.arrays()


def restore(
    header: Json, arrays: FileArrays, name: str, known: Collection[str]
) -> tuple[Json, FitResult]:
    """Return the parameters, all of them ``known`` ones, and the result of a `dump`.

    Raises
    ------
    ModelFileError
        If a part is missing or invalid; ``name`` is the file's name in the message.
    """
    try:
        parameters = _restore_parameters(cast("Json", header["parameters"]), known)
        columns = _columns(header)
        solver = str(header.get("solver", "exact"))
        kernels = parameters["kernels"]
        if "kernels" in header:
            kernels = [_restore_kernel(fields) for fields in cast("list[Json]", header["kernels"])]
        hash_ = _restore_hash(parameters | {"kernels": kernels}, columns, solver, arrays)
        _check_arrays(arrays, hash_.n_kernels)
        result = FitResult(
            **{name.removesuffix("_"): arrays[name] for name in _RESULT_ARRAYS},
            squared_norms=arrays["squared_norms"],
            n_iter=_integer(header["n_iter"], 0),
            solver=solver,
            columns=columns,
            stages=_stages(header, len(arrays["objective_"])),
            hash=hash_,
            temperature=_temperature(header),
            distance_quantiles=arrays.get("distance_quantiles"),
        )
    except READ_ERRORS as error:
        raise ModelFileError(
            f"{name}: the model is incomplete or its parts do not fit together"
        ) from error
    return parameters, result


def _restore_parameters(written: Json, known: Collection[str]) -> Json:
    unknown = set(written) - set(known) - _OLD_NAMES
    if unknown:
        raise ValueError(f"parameters: wanted known ones, got {sorted(unknown)}")
    parameters = _current_names(_OLD_DEFAULTS | dict(written))
    if parameters["decoding"] not in DECODINGS:
        raise ValueError(f"decoding: wanted one of {DECODINGS}, got another")
    if not isinstance(parameters["kernels"], str):
        kernels = cast("Iterable[str | Json]", parameters["kernels"])
        parameters["kernels"] = [
            item if isinstance(item, str) else _restore_kernel(item) for item in kernels
        ]
    return parameters


def _current_names(parameters: Json) -> Json:
    """Replace the parameters of earlier versions by those of today."""
    if "transductive" not in parameters:
        return parameters
    spreads = parameters["unlabelled_weight"] in _OLD_WEIGHT_CHOICES
    mode = "spreading" if spreads else "paper"
    parameters["semi_supervised"] = mode if parameters.pop("transductive") else "none"
    parameters["codewords"] = "learnt"
    if spreads:
        parameters["unlabelled_weight"] = 1.0
    return parameters


def _columns(header: Json) -> ColumnInfo:
    count = _integer(header["n_features_in"], 1)
    names = header.get("feature_names_in")
    if names is None:
        return ColumnInfo(count)
    if not isinstance(names, list) or len(names) != count:
        raise ValueError(f"feature_names_in: wanted {count} names")
    return ColumnInfo(count, tuple(str(name) for name in names))


def _stages(header: Json, n_steps: int) -> Stages:
    stages = cast("dict[str, list[float]]", header.get("stages", _ONE_STAGE))
    starts = tuple(_integer(start, 0) for start in stages["starts"])
    weights = tuple(_real(weight) for weight in stages["weights"])
    costs = tuple(_real(cost) for cost in stages.get("costs", ()))
    if len(starts) != len(weights) or max(starts) > n_steps or len(costs) not in (0, len(starts)):
        raise ValueError("stages: wanted a weight, a step and a cost for each")
    return Stages(weights, starts, costs)


def _temperature(header: Json) -> float | None:
    value = header.get("temperature")
    if isinstance(value, bool):
        raise ValueError("temperature: wanted a number, got a truth value")  # noqa: TRY004
    return None if value is None else _real(value)


def _integer(value: object, least: int) -> int:
    if not isinstance(value, int) or not least <= value <= _LARGEST_INTEGER:
        raise ValueError(f"header: wanted a whole number from {least} on")
    return value


def _real(value: object) -> float:
    if not isinstance(value, int | float) or not abs(value) <= _LARGEST:
        raise ValueError("header: wanted a finite number")
    return float(value)


def _check_array(array: AnyArray, dtype_kinds: str, *shape: int) -> None:
    """Check the shape of an array, and that its numbers are finite and of some kinds."""
    check_shape(array, *shape)
    if array.dtype.kind not in dtype_kinds or array.itemsize > 8:
        raise ValueError(f"dtype: wanted one of kind {dtype_kinds}, got {array.dtype}")
    if dtype_kinds == "f" and not (np.abs(array) <= np.float64(_LARGEST)).all():
        raise ValueError("values: wanted finite ones, got others")


def _check_integers(array: AnyArray, least: int, largest: int, *shape: int) -> None:
    _check_array(array, "iu", *shape)
    if array.size and not least <= array.min() <= array.max() <= largest:
        raise ValueError(f"values: wanted {least} to {largest}, got others")


def _check_arrays(arrays: FileArrays, n_kernels: int) -> None:
    """Check the arrays other than those of the hash functions."""
    codewords, classes = arrays["codewords_"], arrays["classes_"]
    n_classes, n_each, n_bits = codewords.shape
    _check_array(codewords, "i", n_classes, n_each, n_bits)
    if not codewords.size or not (abs(codewords) == 1).all():
        raise ValueError("codewords: wanted -1 and 1, got others")
    _check_integers(arrays["n_codewords_"], 1, n_each, n_classes)
    for name in ("kernel_weights_", "squared_norms"):
        _check_array(arrays[name], "f", n_bits, n_kernels)
        if (arrays[name] < 0).any():
            raise ValueError(f"{name}: wanted none below 0")
    _check_array(arrays["objective_"], "f", arrays["objective_"].size)
    if "distance_quantiles" in arrays:
        _check_array(arrays["distance_quantiles"], "f", arrays["distance_quantiles"].size)
    for labels, size in ((classes, n_classes), (arrays["transduction_"], None)):
        check_shape(labels, labels.size if size is None else size)
        if labels.dtype.kind not in "biufUSMm":
            raise ValueError(f"classes: wanted labels, got {labels.dtype}")
        if labels.dtype.kind == "f" and not np.isfinite(labels).all():
            raise ValueError("classes: wanted finite numbers, got others")
        labels.tolist()  # raises an error for invalid text


def _restore_hash(parameters: Json, columns: ColumnInfo, solver: str, arrays: FileArrays) -> Hash:
    n_bits = arrays["codewords_"].shape[-1]
    _check_array(arrays["hash_intercepts"], "f", n_bits)
    if solver == "random_features":
        bank = _bank(parameters, columns)
        map_ = _restore_map(bank, columns.count, arrays)
        _check_array(arrays["hash_weights"], "f", map_.n_features, n_bits)
        scaling = _scaling(arrays, columns.count)
        return FeatureHash(map_, scaling, arrays["hash_weights"], arrays["hash_intercepts"])
    fields = [field.name for field in dataclasses.fields(KernelHash)]
    functions = KernelHash(*(arrays[f"hash_{field}"] for field in fields))
    n_support = functions.support.size
    _check_integers(functions.support, 0, _LARGEST_INTEGER, n_support)
    _check_array(functions.coefficients, "f", n_bits, n_support)
    _check_array(functions.scales, "f", *arrays["kernel_weights_"].shape)
    if "support_rows" not in arrays:
        _check_integers(functions.support, 0, columns.count - 1, n_support)
        return PrecomputedHash(functions, columns.count)
    _check_array(arrays["support_rows"], "f", n_support, columns.count)
    bank = _bank(parameters, columns)
    return RowHash(functions, bank, _scaling(arrays, columns.count), arrays["support_rows"])


def _restore_map(bank: KernelBank, n_columns: int, arrays: FileArrays) -> FeatureMap:
    _check_array(arrays["diagonal"], "b", len(bank))
    _check_array(arrays["lacks"], "f", len(bank))  # the missing diagonal
    n_landmarks = len(arrays["landmarks"])
    _check_array(arrays["landmarks"], "f", n_landmarks, n_columns)
    map_ = FeatureMap.from_arrays(bank, arrays)
    for kernel, width, part in zip(bank.kernels, bank.widths, map_.parts, strict=True):
        if isinstance(part, Whitening):
            rows, count = part.matrix.shape
            _check_array(part.matrix, "f", min(rows, n_landmarks), count)
        elif part is not None:
            gaussian = isinstance(kernel, Gaussian)
            if (gaussian and len(part) != 1) or (isinstance(kernel, Linear) and part):
                raise ValueError("map: wanted matrices as the kernel needs them")
            for matrix in part:
                _check_array(matrix, "f", width + (not gaussian), part[0].shape[1])
                check_shape(matrix, matrix.shape[0], max(1, matrix.shape[1]))
    return map_


def _bank(parameters: Json, columns: ColumnInfo) -> KernelBank:
    kernels = choose_kernels(parameters["kernels"], np.zeros((1, columns.count)))
    groups = cast("Mapping[str, Sequence[int]] | None", parameters.get("column_groups"))
    return KernelBank(kernels, columns.count, groups, columns.names)


def _scaling(arrays: FileArrays, n_columns: int) -> Scaling:
    for name in ("offsets", "factors"):
        _check_array(arrays[name], "f", n_columns)
    return Scaling(arrays["offsets"], arrays["factors"])


def _dump_parameter(name: str, value: object) -> object:
    if name == "kernels" and not isinstance(value, str):
        items = value if isinstance(value, list | tuple) else [value]
        return [
            item if isinstance(item, str) else _dump_kernel(cast("Kernel", item)) for item in items
        ]
    if name == "column_groups" and value is not None:
        groups = cast("Mapping[str, Sequence[int]]", value)
        return {group: [int(i) for i in columns] for group, columns in groups.items()}
    if name == "codewords" and not isinstance(value, str):
        return np.asarray(value).tolist()
    if name == "random_state" and not isinstance(value, int | None):
        return None
    return _json_value(value)


def _json_value(value: object) -> object:
    """Convert numpy's numbers to those of JSON."""
    if isinstance(value, bool | str | list | dict | None):
        return value
    return int(value) if isinstance(value, numbers.Integral) else float(cast("float", value))


def _dump_kernel(kernel: Kernel) -> Json:
    kind = next((name for name, type_ in _KERNELS.items() if type(kernel) is type_), None)
    if kind is None:
        raise ValueError(f"kernels: wanted kernels that a file can hold, got {kernel!r}")
    fields = dataclasses.asdict(kernel)
    columns = fields["columns"]
    if columns is not None and not isinstance(columns, str):
        fields["columns"] = [c if isinstance(c, str) else int(c) for c in columns]
    return {"kind": kind, **{key: _json_value(value) for key, value in fields.items()}}


def _restore_kernel(fields: Json) -> Kernel:
    arguments = {key: value for key, value in fields.items() if key != "kind"}
    if isinstance(arguments["columns"], list):
        arguments["columns"] = tuple(arguments["columns"])
    for name in {"sigma", "bias"} & set(arguments):
        if _real(arguments[name]) < 1 / _LARGEST:
            raise ValueError(f"{name}: wanted a number whose square is above 0")
    if _real(arguments.get("degree", 1)) > _LARGEST_DEGREE:
        raise ValueError(f"degree: wanted at most {_LARGEST_DEGREE}, got more")
    return cast("Kernel", _KERNELS[str(fields["kind"])](**arguments))
