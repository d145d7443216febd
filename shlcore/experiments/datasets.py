"""Datasets (NumPy archives, IDX, LIBSVM, CSV, generated) and random splits."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

import numpy as np
from sklearn.datasets import load_digits, load_svmlight_file

from shlcore.model_file import READ_ERRORS, BoundedReader, printable, read_arrays

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from shlcore.array_types import AnyArray, Array, Indices


Parts = tuple[object, object, object]
"""Unchecked rows, classes and mask of test rows (or None) of a file."""

LABEL_NAMES = ("label", "labels", "class", "target", "y")  # columns of a CSV file
LARGEST_DATASET = 16 << 30  # bytes; the paper's largest, cifar10, has 1.5 GB as float64
SUFFIXES_OF_PACKED = (".gz", ".bz2")
TRAINING_ROWS = {"pendigits": 3000, "usps": 3000, "mnist": 6000, "cifar10": 6000}  # sect. 6.1
IDX_TYPES = {
    0x08: ">u1",
    0x09: ">i1",
    0x0B: ">i2",
    0x0C: ">i4",
    0x0D: ">f4",
    0x0E: ">f8",
}


class DatasetError(ValueError):
    """A file that is not a valid dataset; the message is one sentence for the user."""


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """Rows and their classes.

    Attributes
    ----------
    name : str
        The file's name without suffixes.
    X : (n, d) array of float64
    y : (n,) array of classes
    is_test : (n,) bool array or None
        The dataset's own test rows, if it defines any.
    """

    name: str
    X: Array
    y: AnyArray
    is_test: NDArray[np.bool_] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Training rows (the database), queries, and as many unseen rows if there are any."""

    X: Array
    y: AnyArray
    queries: Array
    query_labels: AnyArray
    unseen: Array = field(default_factory=lambda: np.empty((0, 0)))
    unseen_labels: AnyArray = field(default_factory=lambda: np.empty(0))


def load_dataset(path: str | Path) -> Dataset:
    """Read a dataset; the suffix decides how.

    ``.npz``: arrays ``X``, ``y`` and optionally ``is_test``. IDX (``...images...idx3-ubyte``):
    the labels are read from the file with "labels" and "idx1" in its name. LIBSVM:
    ``.libsvm``, ``.svm``, ``.scale``, ``.t``. ``.csv``: with or without a header; classes are
    the column called label, class, target or y, or else the last one. All but ``.npz`` may be
    packed with gzip or bzip2.
    """
    path = Path(path)
    if not path.is_file():
        raise DatasetError(f"{path}: wanted a dataset file, got none there")
    name, reader = path.name, _reader(path)
    try:
        return _checked(name.split(".")[0], reader(path), path)
    except DatasetError:
        raise
    except MemoryError as error:
        raise DatasetError(f"{path}: wanted a dataset that fits into memory") from error
    except READ_ERRORS as error:
        raise DatasetError(
            f"{path}: wanted a readable dataset, got: {printable(error)}"
        ) from error


def _reader(path: Path) -> Callable[[Path], Parts]:
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix not in SUFFIXES_OF_PACKED]
    last = suffixes[-1] if suffixes else ""
    if last == ".npz":
        return _read_npz
    if "idx3" in path.name or "idx2" in path.name:
        return _read_idx
    if last == ".csv":
        return _read_csv
    if last in {".libsvm", ".svm", ".scale", ".t"}:
        return _read_libsvm
    raise DatasetError(f"{path}: wanted .npz, IDX (idx3-ubyte), .libsvm or .csv, got {path.name}")


def _checked(name: str, parts: Parts, path: Path) -> Dataset:
    """Check the content of a file, and convert it to a dataset."""
    X, y, is_test = parts
    rows = np.asarray(X, dtype=np.float64)
    rows = rows.reshape(len(rows), -1) if rows.ndim > 2 else rows
    classes = np.asarray(y)
    if rows.ndim != 2 or not rows.size or classes.shape != (len(rows),):
        raise DatasetError(
            f"{path}: wanted rows X and one class y for each, got {printable(rows.shape)} and "
            f"{printable(classes.shape)}"
        )
    if not np.isfinite(rows).all():
        raise DatasetError(f"{path}: wanted finite values in X, got NaN or infinity")
    marked = None if is_test is None else np.asarray(is_test, dtype=bool)
    if marked is not None and marked.shape != (len(rows),):
        raise DatasetError(f"{path}: wanted is_test for each row, got {printable(marked.shape)}")
    return Dataset(name, rows, classes, marked)


def _read_npz(path: Path) -> Parts:
    arrays = read_arrays(path, LARGEST_DATASET)
    if not {"X", "y"} <= set(arrays):
        raise DatasetError(f"{path}: wanted arrays X and y, got {printable(sorted(arrays))}")
    return arrays["X"], arrays["y"], arrays.get("is_test")


def _unpacked(path: Path) -> bytes:
    with path.open("rb") as packed:
        file: IO[bytes] = packed
        if path.suffix == ".gz":
            file = cast("IO[bytes]", gzip.GzipFile(fileobj=packed))
        elif path.suffix == ".bz2":
            file = cast("IO[bytes]", bz2.BZ2File(packed))
        return BoundedReader(file, LARGEST_DATASET).read_all()


def _read_idx(path: Path) -> Parts:
    name = path.name.replace("images", "labels").replace("idx3", "idx1").replace("idx2", "idx1")
    beside = path.with_name(name)
    if name == path.name or not beside.is_file():
        raise DatasetError(f"{path}: wanted its labels beside it in {name}, got no such file")
    return idx_array(_unpacked(path)), idx_array(_unpacked(beside)), None


def idx_array(content: bytes) -> AnyArray:
    """Read an IDX array: two zeros, type, rank, big-endian sizes, values."""
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] not in IDX_TYPES:
        raise ValueError("no IDX header")
    rank = content[3]
    shape = tuple(int(size) for size in np.frombuffer(content, ">u4", rank, offset=4))
    values = np.frombuffer(content, IDX_TYPES[content[2]], offset=4 + 4 * rank)
    if values.size != np.prod(shape):
        raise ValueError(f"an IDX header that says {shape} before {values.size} values")
    return values.reshape(shape)


def _read_libsvm(path: Path) -> Parts:
    X, y = load_svmlight_file(io.BytesIO(_unpacked(path)))
    if 8 * X.shape[0] * X.shape[1] > LARGEST_DATASET:
        raise DatasetError(f"{path}: wanted fewer columns, got {X.shape[1]} for {len(y)} rows")
    return X.toarray(), y, None


def _read_csv(path: Path) -> Parts:
    lines = [line for line in csv.reader(io.StringIO(_unpacked(path).decode())) if line]
    widths = {len(line) for line in lines}
    if len(widths) != 1 or widths == {1}:
        raise DatasetError(
            f"{path}: wanted lines of one width, at least 2, got {printable(sorted(widths))}"
        )
    column = len(lines[0]) - 1
    names = [cell.strip().lower() for cell in lines[0]]
    if not all(_is_number(cell) for cell in lines[0][:-1]):
        column = next((names.index(name) for name in LABEL_NAMES if name in names), column)
        lines = lines[1:]
    y = [line.pop(column).strip() for line in lines]
    return np.array(lines, dtype=float), np.array(y), None


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def training_rows(dataset: Dataset) -> int:
    """Return the paper's number of training rows, by default a third of the rows."""
    for name, count in TRAINING_ROWS.items():
        if dataset.name.lower().startswith(name):
            return count
    return max(2, len(dataset.X) // 3)


def split(
    dataset: Dataset,
    *,
    n_train: int,
    n_queries: int | None,
    given: bool,
    seed: int,
    apart: Indices | None = None,
) -> Split:
    """Draw training rows, and queries from the rest.

    Parameters
    ----------
    dataset : Dataset
    n_train : int
        Training rows to draw.
    n_queries : int or None
        Queries to draw; None takes all of the rest.
    given : bool
        Draw queries from the dataset's own test rows, and training rows from the others, instead
        of both from all rows (as the paper does).
    seed : int
        Seed of the draw.
    apart : indices or None
        Rows to exclude.
    """
    order = np.random.default_rng(seed).permutation(len(dataset.X))
    if apart is not None:
        order = order[~np.isin(order, apart)]
    train, rest = order[:n_train], order[n_train:]
    if given:
        test = own_test_rows(dataset)[order]
        train, rest = order[~test][:n_train], order[test]
    asking = rest[:n_queries]
    if len(train) < n_train or not len(asking):
        raise DatasetError(
            f"{dataset.name}: wanted {n_train} training rows and at least one query, "
            f"got {len(order)} rows in all"
        )
    unseen = rest[len(asking) :][:n_train]
    X, y = dataset.X, dataset.y
    return Split(X[train], y[train], X[asking], y[asking], X[unseen], y[unseen])


def own_test_rows(dataset: Dataset) -> NDArray[np.bool_]:
    """Return the mask of the dataset's own test rows."""
    if dataset.is_test is None:
        raise DatasetError(f"{dataset.name}: wanted is_test for its own split, got none")
    return dataset.is_test


def hold_out(dataset: Dataset, *, count: int, given: bool, seed: int) -> Indices:
    """Draw development rows, which all splits exclude, without own test rows.

    The random generator is independent of that of the splits.
    """
    order = np.random.default_rng([seed, count]).permutation(len(dataset.X))
    return order[~own_test_rows(dataset)[order]][:count] if given else order[:count]


CLASSES, MODES, COLUMNS, ROWS = 4, 3, 5, 4000
SPREAD = 0.45  # of a cluster, where centres have a spread of 1


def digits() -> Dataset:
    """Return scikit-learn's 1797 digits of 8 x 8 pixels."""
    X, y = load_digits(return_X_y=True)
    return Dataset("digits", X, y)


def modes() -> Dataset:
    """Return four classes of three clusters each, with random centres.

    No plane separates a class from all others, so that linear functions cannot learn codes of one
    codeword per class.
    """
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((CLASSES * MODES, COLUMNS))
    drawn = rng.integers(CLASSES * MODES, size=ROWS)
    X = centres[drawn] + SPREAD * rng.standard_normal((ROWS, COLUMNS))
    return Dataset("modes", X, drawn % CLASSES)


MADE: dict[str, Callable[[], Dataset]] = {"digits": digits, "modes": modes}
