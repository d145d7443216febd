"""Every experiment from the command line, on 300 digits."""

import csv
import json
import sys

import numpy as np
import pytest

from shlcore.__main__ import main
from shlcore.experiments import (
    codewords,
    methods,
    plots,
    qualitative,
    retrieval,
    transductive,
)
from shlcore.experiments.methods import METHODS, Method

# With so few rows some costs lose a class, as the learner says.
pytestmark = pytest.mark.filterwarnings("ignore:lambda1")


def run(*words):
    return main(["experiment", *map(str, words)])


def quick(digits_file, folder, *more):
    methods = ["--methods", "SHL", "LSH", "--bits", 5, 8, "--runs", 2, "--train", 150]
    return ["retrieval", digits_file, "--output", folder, *methods, *more]


@pytest.mark.slow
def test_retrieval_writes_rows_tables_and_figures(digits_file, tmp_path, capsys):
    assert run(*quick(digits_file, tmp_path)) == 0
    rows = json.loads((tmp_path / "results.json").read_text())["rows"]
    wanted = {"dataset", "method", "bits", "run", "k", "precision", "cpu_seconds", "bank", "cost"}
    assert all(wanted <= row.keys() for row in rows)
    assert len(rows) == 2 * 2 * 2 * 9
    assert {row["k"] for row in rows} == set(range(10, 51, 5))
    with (tmp_path / "summary.csv").open(newline="") as file:
        summary = [
            row for row in csv.DictReader(file) if (row["method"], row["k"]) == ("LSH", "10")
        ]
    for line in summary:
        values = [
            row["precision"]
            for row in rows
            if (row["method"], row["k"], row["bits"]) == ("LSH", 10, int(line["bits"]))
        ]
        assert float(line["precision"]) == pytest.approx(np.mean(values))
        assert float(line["deviation"]) == pytest.approx(np.std(values, ddof=1))
        corrected = np.std(values, ddof=1) * np.sqrt(1 / 2 + 75 / 150)  # 75 rows are put aside
        assert float(line["error"]) == pytest.approx(corrected)
    assert all((tmp_path / name).stat().st_size for name in ("retrieval.png", "retrieval.pdf"))
    told = capsys.readouterr().out
    assert "| *SHL | **0." in told
    assert (tmp_path / "tables.md").read_text() in told


@pytest.mark.slow
def test_results_carry_versions_settings_choices_and_parameters(digits_file, tmp_path):
    words = ["--methods", "SDH-same", "one-hot-ridge", "score-ridge", "KSH", "--bits", 5]
    words += ["--runs", 1, "--train", 100, "--queries", 50, "--out", tmp_path]
    assert run("retrieval", digits_file, *words) == 0
    found = json.loads((tmp_path / "results.json").read_text())
    assert {"python", "numpy", "scipy", "scikit-learn", "segapp"} <= found["versions"].keys()
    assert found["settings"]["development"] == 75
    assert found["choices"]["bank"] in {"auto", "gaussian", "paper"}
    assert {row["method"] for row in found["choices"]["tried"]} >= {"*SHL", "KSH-same"}
    fits = {fit["method"]: fit for fit in found["fits"]}
    assert fits["SDH-same"]["parameters"]["n_anchors"] == "None"
    assert float(fits["SDH-same"]["parameters"]["ridge"]) == fits["SDH-same"]["cost"]
    assert fits["KSH"]["parameters"]["n_labelled"] == "None"
    assert {row["bits"] for row in found["rows"] if row["method"] == "one-hot-ridge"} == {10}
    assert all(0 < row["unseen_precision"] <= 1 for row in found["rows"])


@pytest.mark.slow
def test_retrieval_continues_after_an_interruption(digits_file, tmp_path, monkeypatch):
    words = quick(digits_file, tmp_path, "--bits", 5)
    measured = []
    real = retrieval.measure

    def interrupted(path, settings, cell):
        if len(measured) == 3:
            raise KeyboardInterrupt
        measured.append(cell)
        return real(path, settings, cell)

    monkeypatch.setattr(retrieval, "measure", interrupted)
    assert run(*words) == 130
    measured.clear()
    monkeypatch.setattr(retrieval, "measure", lambda *a: measured.append(a[2]) or real(*a))
    assert run(*words) == 0
    assert len(measured) == 2 * 2 - 3
    measured.clear()
    assert run(*words) == 0
    assert measured == []
    assert run(*words, "--output", tmp_path / "unbroken") == 0
    broken, unbroken = (timeless(folder) for folder in (tmp_path, tmp_path / "unbroken"))
    assert broken == unbroken


def timeless(folder):
    """Return all that was found but how long it took."""
    found = json.loads((folder / "results.json").read_text())
    found["rows"] = [
        {name: value for name, value in row.items() if "seconds" not in name}
        for row in found["rows"]
    ]
    return found


@pytest.mark.slow
def test_selection_continues_after_an_interruption(digits_file, tmp_path, monkeypatch):
    from shlcore.experiments import model_selection

    words = quick(digits_file, tmp_path, "--methods", "SDH-same", "--bits", 5, "--runs", 1)
    measured = []
    real = model_selection.measure

    def interrupted(path, settings, cell):
        if len(measured) == 4:
            raise KeyboardInterrupt
        measured.append(cell)
        return real(path, settings, cell)

    monkeypatch.setattr(model_selection, "measure", interrupted)
    assert run(*words) == 130
    first = list(measured)
    measured.clear()
    monkeypatch.setattr(model_selection, "measure", lambda *a: measured.append(a[2]) or real(*a))
    assert run(*words) == 0
    assert len(first) + len(measured) == 3 * 3 * 3
    assert not [cell for cell in measured if cell in first]


def test_queries_are_test_rows_and_the_database_is_the_training_set(
    digits_file, tmp_path, monkeypatch
):
    seen = {}

    def look(queries, wanted, database, labels, *, n_bits):
        seen.update(queries=len(queries), database=len(database))
        raise KeyboardInterrupt

    monkeypatch.setattr(methods, "rank", look)
    words = ["--methods", "LSH", "--given-split", "--queries", 30, "--train", 120]
    assert run(*quick(digits_file, tmp_path, *words)) == 130
    assert seen == {"queries": 30, "database": 120}


def test_other_settings_in_the_same_folder_are_refused(digits_file, tmp_path, capsys):
    words = quick(digits_file, tmp_path, "--methods", "LSH")
    assert run(*words) == 0
    assert run(*words, "--seed", 5) == 1
    assert "wanted an empty folder or results of the same settings" in capsys.readouterr().err


def test_without_matplotlib_the_tables_are_still_written(
    digits_file, tmp_path, monkeypatch, capsys
):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert run(*quick(digits_file, tmp_path, "--methods", "LSH")) == 0
    assert "they need matplotlib" in capsys.readouterr().err
    assert (tmp_path / "results.json").exists()
    assert not (tmp_path / "retrieval.png").exists()


@pytest.mark.slow
def test_qualitative_frames_wrong_answers_red(digits_file, tmp_path, monkeypatch):
    drawn = []
    real = plots.draw_image
    monkeypatch.setattr(
        plots, "draw_image", lambda *a, **k: drawn.append(k.get("wrong")) or real(*a, **k)
    )
    words = ["--query", 2, "--bits", 8, "--methods", "SHL", "LSH", "--train", 150]
    assert run("qualitative", digits_file, "--output", tmp_path, *words) == 0
    rows = json.loads((tmp_path / "results.json").read_text())["rows"]
    assert [row["rank"] for row in rows] == [*range(1, 16), *range(1, 16)]
    assert drawn.count(True) == sum(not row["right"] for row in rows) > 0
    assert drawn.count(None) == 2  # the query, once a method
    assert (tmp_path / "query-2.png").exists()
    assert (tmp_path / "query-2.pdf").exists()


def test_qualitative_resumes(digits_file, tmp_path, monkeypatch):
    words = [digits_file, "--output", tmp_path, "--bits", 8, "--train", 150, "--methods"]
    assert run("qualitative", *words, "LSH") == 0
    fitted = []
    monkeypatch.setitem(
        qualitative.METHODS,
        "ITQ",
        Method(lambda real=METHODS["ITQ"], **a: fitted.append("ITQ") or real.make(**a)),
    )
    monkeypatch.setitem(qualitative.METHODS, "LSH", Method(lambda **_: fitted.append("LSH")))
    assert run("qualitative", *words, "LSH", "ITQ") == 0
    assert fitted == ["ITQ"]
    rows = json.loads((tmp_path / "results.json").read_text())["rows"]
    assert [row["method"] for row in rows] == ["LSH"] * 15 + ["ITQ"] * 15


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--query", 150], "--query: wanted 0 to 149, got 150"),
        (["--shape", 3, 4], "--shape: wanted a height and width of 64 pixels, got 3 x 4"),
        (["--count", 151], "--count: wanted at most 150, got 151"),
    ],
)
def test_qualitative_names_wrong_arguments(digits_file, tmp_path, capsys, words, message):
    assert run("qualitative", digits_file, "--output", tmp_path, "--train", 150, *words) == 1
    assert message in capsys.readouterr().err


def test_transductive_compares_both_modes(digits_file, tmp_path, capsys):
    words = ["--bits", 4, 6, "--runs", 2, "--train", 60, "--test", 30, "--output", tmp_path]
    assert run("transductive", digits_file, *words) == 0
    rows = json.loads((tmp_path / "results.json").read_text())["rows"]
    assert {row["bits"] for row in rows} == {4, 6}
    assert min(row[mode] for row in rows for mode in transductive.MODES) > 0.5
    assert all(abs(row["transductive"] - row["inductive"]) <= row["differing"] for row in rows)
    assert (tmp_path / "transductive.png").exists()
    assert "| mean |" in capsys.readouterr().out


@pytest.mark.parametrize(("n_classes", "first"), [(2, 4), (11, 4), (16, 4), (17, 5), (26, 5)])
def test_transductive_starts_where_each_class_can_have_a_codeword(n_classes, first):
    assert list(transductive.code_lengths(n_classes)) == list(range(first, 16))


def test_both_modes_see_the_same_rows_scaling_and_decoding(digits_file, tmp_path, monkeypatch):
    seen = []
    real = transductive.SHL.fit

    def look(self, X, y):
        seen.append((self.semi_supervised, self.decoding, X.tobytes(), y.tolist()))
        return real(self, X, y)

    monkeypatch.setattr(transductive.SHL, "fit", look)
    words = ["--bits", 4, "--runs", 1, "--train", 60, "--test", 30, "--output", tmp_path]
    assert run("transductive", digits_file, *words) == 0
    (first, *alike), (second, *others) = seen
    assert (first, second) == ("none", "paper")
    assert alike == others


@pytest.mark.slow
def test_codewords_compares_variants(digits_file, tmp_path, capsys):
    words = ["--codewords", 1, 2, "--noise", 0.2, "--bits", 8, "--runs", 2, "--train", 100]
    words += ["--queries", 80, "--kernels", "linear", "--output", tmp_path]
    assert run("codewords", digits_file, *words) == 0
    rows = json.loads((tmp_path / "results.json").read_text())["rows"]
    assert len(rows) == 2 * 3 * len(codewords.VARIANTS)
    assert {(row["codewords"], row["noise"]) for row in rows} == {(1, 0.0), (2, 0.0), (1, 0.2)}
    fixed = [row for row in rows if row["variant"].endswith("fixed")]
    assert {row["moved"] for row in fixed} == {0.0}
    assert max(row["moved"] for row in rows) > 0
    assert (tmp_path / "codewords.png").exists()
    assert "| linear | 1 | 1 | 20% | " in capsys.readouterr().out


@pytest.mark.slow
def test_codewords_merge_if_the_pull_is_strong(digits_file, tmp_path):
    words = ["--codewords", 2, "--noise", 0, "--lambda2", 0, 1e9, "--bits", 8, "--runs", 1]
    words += ["--train", 100, "--kernels", "auto", "--output", tmp_path]
    assert run("codewords", digits_file, *words) == 0
    rows = json.loads((tmp_path / "results.json").read_text())["rows"]
    remaining = {
        (row["codewords"], row["lambda2"]): row["remaining"]
        for row in rows
        if row["variant"] == "spread learnt"
    }
    assert remaining[2, 0] > 1
    assert remaining[2, 1e9] == remaining[1, 0] == 1


def test_generated_datasets_are_found_by_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["--codewords", 1, "--noise", 0, "--runs", 1, "--train", 60, "--queries", 40]
    assert run("codewords", "modes", "--kernels", "linear", *words) == 0
    found = json.loads((tmp_path / "modes-codewords" / "results.json").read_text())
    assert found["settings"]["rows"] == 4000


def test_means_and_errors_of_the_transductive_table():
    found = [
        {"bits": 4, "inductive": a, "transductive": b, "differing": d}
        for a, b, d in ((0.5, 0.6, 0.2), (0.7, 0.7, 0.0))
    ]
    (line,) = transductive.summarise(found, {"train": 300, "test": 150})
    assert (line["inductive"], line["runs"]) == (pytest.approx(0.6), 2)
    error = np.std([0.1, 0.0], ddof=1) * np.sqrt(1 / 2 + 1 / 2)
    assert line["error"] == pytest.approx(error)
    assert "| 4 | 0.600 | 0.650 | +0.050 ± 0.071 | 10.0% |" in transductive.markdown_table([line])


def test_a_table_marks_the_best_and_cells_of_fewer_runs():
    found = [("*SHL", 0, 0.9), ("*SHL", 1, 0.8), ("LSH", 0, 0.5)]
    rows = [
        {"dataset": "d", "method": m, "bits": 5, "run": r, "k": 10, "precision": p}
        for m, r, p in found
    ]
    table = retrieval.table(rows, "precision", n_train=200, n_test=100)
    assert "| *SHL | **0.850** ± 0.071 |" in table  # 0.0707 sqrt(1/2 + 1/2)
    assert "| LSH | 0.500 (1) |" in table


def test_verdicts_distinguish_precision_and_area():
    rows = [
        {"method": m, "bits": 5, "run": r, "k": 10, "precision": p, "mean_average_precision": a}
        for m, p, a in (("*SHL", 0.9, 0.8), ("LSH", 0.5, 0.8), ("ITQ", 0.95, 0.9))
        for r in range(3)
    ]
    told = retrieval.verdicts(rows, n_train=2, n_test=1)
    assert "| LSH | win / tie |" in told
    assert "| ITQ | loss |" in told


@pytest.mark.parametrize("module", [retrieval, qualitative, transductive, codewords])
def test_every_experiment_explains_itself_with_an_example(module, capsys):
    with pytest.raises(SystemExit, match="0"):
        run(module.NAME, "--help")
    assert f"shlcore experiment {module.NAME} " in capsys.readouterr().out


def test_a_missing_dataset_is_one_sentence(tmp_path, capsys):
    assert run("retrieval", tmp_path / "none.npz") == 1
    assert capsys.readouterr().err.strip().endswith("wanted a dataset file, got none there")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--methods", "PCA"], "wanted some of *SHL"),
        (["--bits", "0"], "wanted a whole number of at least 1, got '0'"),
        (["--bits", "many"], "got 'many'"),
    ],
)
def test_wrong_arguments_are_refused_before_the_run(digits_file, words, message, capsys):
    with pytest.raises(SystemExit, match="2"):
        run("retrieval", digits_file, *words)
    assert message in capsys.readouterr().err
