"""Table 1 and the deformed digits, from the command line on 300 digits."""

import json
import re
import sys

import numpy as np
import pytest

from shlcore.__main__ import main
from shlcore.experiments import infinite_mnist, large


def run(*words):
    return main(["experiment", *map(str, words)])


@pytest.mark.slow
def test_large_writes_the_rows_of_table_1(digits_file, tmp_path, capsys):
    words = ["large", digits_file, "--bits", "5,8", "--components", 100, "--output", tmp_path]
    assert run(*words) == 0
    found = json.loads((tmp_path / "results.json").read_text())
    rows = found["rows"]
    assert {"python", "numpy", "scikit-learn", "segapp"} <= found["versions"].keys()
    assert found["settings"]["components"] == 100
    wanted = {"dataset", "bits", "precision_at_10", "train_seconds", "peak_rss_mb", "workers"}
    assert all(wanted <= row.keys() for row in rows)
    assert [row["bits"] for row in rows] == [5, 8]
    assert min(row["precision_at_10"] for row in rows) > 0.8
    assert "| digits | 200 | 5 | 0." in capsys.readouterr().out


def test_large_accepts_the_formats_it_names(tmp_path, capsys):
    """CSV, LIBSVM and IDX files do not say which rows are queries."""
    with pytest.raises(SystemExit, match="0"):
        run("large", "--help")
    told = capsys.readouterr().out
    assert ".npz" in told
    assert ".npy" in told
    assert not {"CSV", "LIBSVM", "IDX", "digits"} & set(re.findall(r"[A-Za-z]+", told))
    (tmp_path / "d.csv").write_text("1,2,a\n3,4,b\n")
    assert run("large", tmp_path / "d.csv", "--out", tmp_path / "results") == 1
    assert "wanted is_test, which rows are queries, got none" in capsys.readouterr().err


def test_unknown_memory_is_a_dash_in_the_table(monkeypatch):
    assert large.peak_memory_mb() > 10
    monkeypatch.setitem(sys.modules, "resource", None)
    assert large.peak_memory_mb() is None
    row = {"dataset": "d", "samples": 9, "bits": 5, "precision_at_10": 0.5, "train_seconds": 1.0}
    row |= {"train_cpu_seconds": 1.0, "peak_rss_mb": None, "workers": 0}
    assert "| 1 s | – | none |" in large.markdown_table([row])


@pytest.mark.slow
def test_deformed_digits_are_learnt_from_disk(digits_file, tmp_path):
    out = tmp_path / "many.npy"
    assert run("infinite-mnist", "--samples", 450, "--source", digits_file, "--out", out) == 0
    split = large.large_split(out)
    assert isinstance(split.X, np.memmap)
    assert split.X.shape == (450, 64)
    with np.load(digits_file) as archive:
        wanted = archive["X"][archive["is_test"]]
    np.testing.assert_allclose(split.queries, np.rint(wanted * (255 / 16)), atol=1)
    words = ["large", out, "--bits", "6", "--components", 100, "--output", tmp_path / "results"]
    assert run(*words) == 0
    rows = json.loads((tmp_path / "results" / "results.json").read_text())["rows"]
    assert rows[0]["samples"] == 450
    assert rows[0]["precision_at_10"] > 0.7


def test_deformed_digits_are_reproducible_and_near_the_original():
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:28, :28]
    image = np.exp(-((y - 14) ** 2 + (x - 12) ** 2) / 30).astype(np.float32)
    fields = infinite_mnist.elastic_fields(5, 28, rng)
    np.testing.assert_allclose(fields.std(axis=(2, 3)), 1, rtol=1e-4)
    images = np.repeat(image[None], 50, axis=0)
    one, other = (
        infinite_mnist.deform(images, fields.copy(), np.random.default_rng(1)) for _ in range(2)
    )
    np.testing.assert_array_equal(one, other)
    assert np.ptp(one, axis=0).max() > 0.2
    likeness = (one * image).sum(axis=(1, 2)) / (image**2).sum()
    assert likeness.min() > 0.7
    assert one.min() >= 0
    assert one.max() <= image.max() + 1e-6


def test_no_shift_turn_or_bend_is_no_change(monkeypatch):
    for name in ("LARGEST_BEND", "LARGEST_SHIFT", "LARGEST_TURN"):
        monkeypatch.setattr(infinite_mnist, name, 0.0)
    rng = np.random.default_rng(0)
    images = rng.random((3, 9, 9)).astype(np.float32)
    fields = infinite_mnist.elastic_fields(2, 9, rng)
    np.testing.assert_allclose(infinite_mnist.deform(images, fields, rng), images, atol=1e-6)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["large", "nowhere.npy"], "wanted rows there and labels in nowhere.npz"),
        (["large", "nowhere.npz"], "wanted a dataset file"),
        (["large", "{digits}", "--memory", "much"], "--memory: wanted an amount"),
        (["infinite-mnist", "--source", "no.npz", "--out", "x"], "wanted a dataset file"),
    ],
)
def test_missing_files_are_one_sentence(
    digits_file, tmp_path, monkeypatch, capsys, words, message
):
    monkeypatch.chdir(tmp_path)
    assert run(*(word.format(digits=digits_file) for word in words)) == 1
    told = capsys.readouterr().err
    assert message in told
    assert "Traceback" not in told


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_cells_run_on_a_scheduler_too(digits_file, tmp_path):
    distributed = pytest.importorskip("distributed")
    words = ["retrieval", digits_file, "--methods", "LSH", "--bits", 5, 8, "--runs", 2]
    words += ["--train", 150]
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
    ) as cluster:
        there = ["--scheduler", cluster.scheduler_address, "--output", tmp_path / "there"]
        assert run(*words, *there) == 0
    assert run(*words, "--output", tmp_path / "here") == 0

    def precisions(name):
        rows = json.loads((tmp_path / name / "results.json").read_text())["rows"]
        return [(row["bits"], row["run"], row["k"], row["precision"]) for row in rows]

    assert precisions("there") == precisions("here")
