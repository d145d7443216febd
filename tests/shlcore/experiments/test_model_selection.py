"""Selection on development rows, which all splits exclude."""

from pathlib import Path

import numpy as np
import pytest

from shlcore.__main__ import main
from shlcore.experiments import model_selection, options, retrieval
from shlcore.experiments.datasets import Dataset, hold_out, split
from shlcore.experiments.methods import BANKS, METHODS
from shlcore.experiments.model_selection import DECIDING, best_choice, with_choice

# With so few rows some costs lose a class, as the learner says.
pytestmark = pytest.mark.filterwarnings("ignore:lambda1")


def numbered(n_rows=200, *, is_test=None):
    """Rows whose only column is their number, so that each can be told wherever it turns up."""
    return Dataset(
        "numbered", np.arange(n_rows, dtype=float)[:, None], np.arange(n_rows) % 3, is_test
    )


def numbers(rows):
    return set(rows.ravel().astype(int))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("given", [False, True])
def test_no_split_ever_has_a_development_row(seed, given):
    dataset = numbered(is_test=np.arange(200) >= 120)
    apart = hold_out(dataset, count=50, given=given, seed=0)
    assert len(set(apart)) == 50
    drawn = split(dataset, n_train=40, n_queries=30, given=given, seed=seed, apart=apart)
    for rows in (drawn.X, drawn.queries, drawn.unseen):
        assert len(rows)
        assert not numbers(rows) & set(apart)
    parts = [numbers(rows) for rows in (drawn.X, drawn.queries, drawn.unseen)]
    assert sum(map(len, parts)) == len(set.union(*parts)) == 40 + 30 + 40


def test_own_test_rows_are_never_development_rows():
    dataset = numbered(is_test=np.arange(200) >= 120)
    assert hold_out(dataset, count=100, given=True, seed=0).max() < 120


def test_development_rows_do_not_depend_on_the_run(digits_file):
    settings = settings_of(digits_file, development=60)
    first = options.development_rows(digits_file, settings)
    options.run_split(digits_file, settings, 3)
    np.testing.assert_array_equal(first, options.development_rows(digits_file, settings))


def settings_of(path, **more):
    found = {"train": 100, "queries": 50, "given_split": False, "seed": 0, "development": 60}
    return {"dataset": path.stem, **found, **more}


def test_selection_uses_development_rows_alone(digits_file, monkeypatch):
    """The choice fits on, hashes and scores rows put aside alone."""
    settings = settings_of(digits_file)
    dataset = options.dataset_at(digits_file)
    allowed = {row.tobytes() for row in dataset.X[options.development_rows(digits_file, settings)]}
    seen = set()

    class Spy:
        def fit(self, X, y):
            return self.note(X)

        def note(self, X):
            seen.update(row.tobytes() for row in X)
            return self

        def project(self, X):
            return self.note(X) and np.ones((len(X), 8))

        def hash(self, X):
            return self.note(X) and np.zeros((len(X), 1), np.uint8)

    real = METHODS["*SHL"]
    spied = type(real)(lambda **_: Spy(), real.cost_name, real.costs)
    monkeypatch.setitem(METHODS, "*SHL", spied)
    monkeypatch.setattr(type(real), "hasher", lambda self, n, s, X, *_: Spy().note(X))
    model_selection.measure(digits_file, settings, {"method": "*SHL", "bank": "auto", "cost": 1.0})
    assert len(seen) == 60
    assert seen == allowed


def test_queries_do_not_change_the_choice(digits_file, tmp_path, monkeypatch):
    """Other labels and other pixels everywhere but in the development rows: the same choice."""
    settings = settings_of(digits_file)
    kept = options.development_rows(digits_file, settings)
    with np.load(digits_file) as archive:
        X, y = archive["X"], archive["y"]
    other = np.ones(len(X), dtype=bool)
    other[kept] = False
    rng = np.random.default_rng(0)
    X[other], y[other] = rng.permutation(X[other].ravel()).reshape(-1, 64), 0
    np.savez(tmp_path / "changed.npz", X=X, y=y)
    cell = {"method": "SDH-same", "bank": "auto", "cost": 1e-7}
    found = [
        model_selection.measure(path, settings, cell)
        for path in (digits_file, tmp_path / "changed.npz")
    ]
    assert found[0] == found[1]


def tried(method, bank, cost, value):
    return {"method": method, "bank": bank, "cost": cost, "mean_average_precision": value}


def test_the_bank_is_best_in_the_mean_and_costs_are_best_on_it():
    found = [
        tried(method, bank, cost, 0.5 + 0.1 * (bank == "paper") + 0.01 * (cost == 2))
        for method in (*DECIDING, "ECOC-SVM")
        for bank in BANKS
        for cost in (1, 2, 3)
    ]
    # One method alone likes another bank, and a method that does not decide likes it even more.
    found += [tried("*SHL", "auto", 9, 0.65), tried("ECOC-SVM", "auto", 9, 1.0)]
    assert best_choice(found) == {
        "bank": "paper",
        "costs": dict.fromkeys((*DECIDING, "ECOC-SVM"), 2),
    }


def test_a_cell_holds_the_choice_for_its_method():
    choice = {"bank": "paper", "costs": {"*SHL": 30.0}}
    assert with_choice({"method": "*SHL"}, choice) == {
        "method": "*SHL",
        "bank": "paper",
        "cost": 30.0,
    }
    assert with_choice({"method": "LSH"}, choice)["bank"] == "own"
    assert with_choice({"method": "LSH"}, {})["cost"] is None


@pytest.mark.slow
def test_the_chosen_bank_and_cost_reach_the_methods(digits_file, tmp_path, monkeypatch):
    seen = []
    real = retrieval.measure
    monkeypatch.setattr(retrieval, "measure", lambda *a: seen.append(a[2]) or real(*a))
    words = ["retrieval", str(digits_file), "--out", str(tmp_path), "--bits", "6", "--runs", "1"]
    words += ["--train", "100", "--methods", "SDH-same", "SDH"]
    monkeypatch.setattr(
        model_selection, "best_choice", lambda _: {"bank": "paper", "costs": {"SDH-same": 1e-5}}
    )
    assert main(["experiment", *words]) == 0
    assert [(c["method"], c["bank"], c["cost"]) for c in seen] == [
        ("SDH-same", "paper", 1e-5),
        ("SDH", "own", None),
    ]
    assert Path(tmp_path / "choices" / "journal.jsonl").exists()
