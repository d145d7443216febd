"""Dataset formats, damaged files, splits."""

import bz2
import gzip
import struct

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from shlcore.experiments.datasets import (
    Dataset,
    DatasetError,
    load_dataset,
    split,
    training_rows,
)

X = np.arange(24).reshape(6, 4)
y = np.array([3, 1, 3, 1, 2, 2])


def write_npz(folder):
    np.savez(folder / "d.npz", X=X, y=y, is_test=[0, 0, 0, 0, 1, 1])
    return folder / "d.npz"


def idx(array):
    header = struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape)
    return header + array.astype(np.uint8).tobytes()


def write_idx(folder):
    (folder / "d-images-idx3-ubyte").write_bytes(idx(X.reshape(6, 2, 2)))
    (folder / "d-labels-idx1-ubyte").write_bytes(idx(y))
    return folder / "d-images-idx3-ubyte"


def write_idx_gz(folder):
    (folder / "d-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx(X.reshape(6, 2, 2))))
    (folder / "d-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(y)))
    return folder / "d-images-idx3-ubyte.gz"


def write_libsvm(folder):
    dump_svmlight_file(X, y, str(folder / "d.libsvm"), zero_based=False)
    return folder / "d.libsvm"


def write_libsvm_bz2(folder):
    packed = folder / "d.scale.bz2"
    packed.write_bytes(bz2.compress(write_libsvm(folder).read_bytes()))
    return packed


def write_csv(folder):
    lines = [",".join(map(str, [*row, label])) for row, label in zip(X, y, strict=True)]
    (folder / "d.csv").write_text("\n".join(lines) + "\n")
    return folder / "d.csv"


def write_csv_with_header(folder):
    lines = [
        ",".join(map(str, [row[0], label, *row[1:]])) for row, label in zip(X, y, strict=True)
    ]
    (folder / "d.csv").write_text("a, Class ,b,c,d\n" + "\n".join(lines))
    return folder / "d.csv"


@pytest.mark.parametrize(
    "write",
    [
        write_npz,
        write_idx,
        write_idx_gz,
        write_libsvm,
        write_libsvm_bz2,
        write_csv,
        write_csv_with_header,
    ],
)
def test_every_format_gives_the_same_rows(tmp_path, write):
    dataset = load_dataset(write(tmp_path))
    assert dataset.name.split("-")[0] == "d"
    assert dataset.X.dtype == np.float64
    np.testing.assert_array_equal(dataset.X, X)
    np.testing.assert_array_equal(dataset.y.astype(float), y)


def test_the_dataset_defines_test_rows(tmp_path):
    np.testing.assert_array_equal(
        load_dataset(write_npz(tmp_path)).is_test, [False] * 4 + [True] * 2
    )


def damaged(content):
    def write(path):
        path.write_bytes(content)

    return write


def npz(**arrays):
    def write(path):
        with path.open("wb") as file:
            np.savez(file, **arrays)

    return write


@pytest.mark.parametrize(
    ("name", "write", "message"),
    [
        ("d.npz", None, "wanted a dataset file, got none there"),
        ("d.txt", damaged(b""), "wanted .npz, IDX"),
        ("d.npz", damaged(b"nothing"), "wanted a readable dataset"),
        ("d.npz", npz(A=X), "wanted arrays X and y"),
        ("d.npz", npz(X=X, y=y[:3]), "one class y for each"),
        ("d.npz", npz(X=X[:0], y=y[:0]), "wanted rows X"),
        ("d.npz", npz(X=X * np.nan, y=y), "wanted finite values"),
        ("d.npz", npz(X=X, y=y, is_test=[True]), "wanted is_test for each row"),
        ("d.npz", npz(X=np.array([{}]), y=y), "wanted a readable dataset"),
        ("images-idx3-ubyte", damaged(idx(X)), "wanted its labels beside it"),
        ("d.csv", damaged(b"1,2\n3\n"), "wanted lines of one width"),
        ("d.csv", damaged(b""), "wanted lines of one width"),
        ("d.csv", damaged(b"1,a,2\n3,b,4\n5,c,6"), "wanted a readable dataset"),
        ("d.libsvm", damaged(b"what is this"), "wanted a readable dataset"),
    ],
)
def test_other_files_are_refused_in_one_sentence(tmp_path, name, write, message):
    if write:
        write(tmp_path / name)
    with pytest.raises(DatasetError, match=message):
        load_dataset(tmp_path / name)


@pytest.mark.parametrize("content", [b"", b"\0\0\x08", b"\1\0\x08\1", idx(X)[:-3]])
def test_a_damaged_idx_file_is_refused(tmp_path, content):
    (tmp_path / "labels-idx1-ubyte").write_bytes(idx(y))
    (tmp_path / "images-idx3-ubyte").write_bytes(content)
    with pytest.raises(DatasetError, match="wanted a readable dataset"):
        load_dataset(tmp_path / "images-idx3-ubyte")


def numbered(n, name="d", is_test=None):
    return Dataset(name, np.arange(n, dtype=float)[:, None], np.arange(n), is_test)


def test_a_split_shares_no_row_and_depends_on_the_seed_alone():
    first = split(numbered(50), n_train=20, n_queries=None, given=False, seed=3)
    again = split(numbered(50), n_train=20, n_queries=None, given=False, seed=3)
    other = split(numbered(50), n_train=20, n_queries=None, given=False, seed=4)
    assert sorted([*first.y, *first.query_labels]) == list(range(50))
    np.testing.assert_array_equal(first.y, again.y)
    assert set(first.y) != set(other.y)
    np.testing.assert_array_equal(first.queries[:, 0], first.query_labels)


def test_a_given_split_keeps_to_its_sides():
    is_test = np.arange(50) % 2 == 0
    drawn = split(numbered(50, is_test=is_test), n_train=20, n_queries=9, given=True, seed=0)
    assert (drawn.y % 2 == 1).all()
    assert (drawn.query_labels % 2 == 0).all()
    assert (len(drawn.y), len(drawn.query_labels)) == (20, 9)


@pytest.mark.parametrize(
    ("dataset", "n_train", "given", "message"),
    [
        (numbered(5), 5, False, "at least one query"),
        (numbered(5), 9, False, "wanted 9 training rows"),
        (numbered(5), 2, True, "wanted is_test"),
        (numbered(5, is_test=np.arange(5) > 1), 3, True, "wanted 3 training rows"),
    ],
)
def test_too_few_rows_are_refused(dataset, n_train, given, message):
    with pytest.raises(DatasetError, match=message):
        split(dataset, n_train=n_train, n_queries=None, given=given, seed=0)


@pytest.mark.parametrize(
    ("name", "rows"), [("usps", 3000), ("cifar10gray_20k", 6000), ("other", 30)]
)
def test_training_rows_are_those_of_the_paper(name, rows):
    assert training_rows(numbered(90, name)) == rows


def test_a_file_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("shlcore.experiments.datasets.LARGEST_DATASET", 1 << 20)
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"1,2\n" * (1 << 20)))
    np.savez_compressed(tmp_path / "a.npz", X=np.zeros((1 << 10, 1 << 10)), y=np.zeros(1 << 10))
    for name in ("a.csv.gz", "a.npz"):
        with pytest.raises(DatasetError, match="unpacks to more than the allowed size"):
            load_dataset(tmp_path / name)


@pytest.mark.parametrize("where", [12, 40, -6])
def test_damaged_gzip_is_refused_in_one_sentence(tmp_path, where):
    content = bytearray(gzip.compress(b"1,2,3\n4,5,6\n" + bytes(range(48, 58)) * 20, mtime=0))
    content[where] ^= 0xFF
    (tmp_path / "a.csv.gz").write_bytes(content)
    with pytest.raises(DatasetError, match="wanted a readable dataset, got"):
        load_dataset(tmp_path / "a.csv.gz")


def test_a_long_reason_is_cut(tmp_path):
    (tmp_path / "a.csv").write_text("1,2\n" + "9" * 5000 + "x,2\n")
    with pytest.raises(DatasetError, match="…") as caught:
        load_dataset(tmp_path / "a.csv")
    assert len(str(caught.value)) < 300 + len(str(tmp_path))
