"""Journals of interrupted experiments, and runs of cells in processes."""

import csv
import json
import os

import pytest

from shlcore.experiments.journal import (
    JOURNAL,
    Journal,
    JournalError,
    cell_name,
    run_cells,
    settings_in,
    write_rows,
)

SETTINGS = {"dataset": "d", "train": 5}


def test_a_second_journal_has_the_results_of_the_first(tmp_path):
    Journal(tmp_path / "new", SETTINGS).add("run=0", {"precision": 0.5})
    assert Journal(tmp_path / "new", SETTINGS).cells == {"run=0": {"precision": 0.5}}


@pytest.mark.parametrize("cut", [1, 5, 20])
def test_a_truncated_line_is_measured_again_and_later_ones_are_kept(tmp_path, cut):
    journal = Journal(tmp_path, SETTINGS)
    journal.add("run=0", 1)
    journal.add("run=1", 2)
    path = tmp_path / JOURNAL
    path.write_text(path.read_text()[: -1 - cut])
    again = Journal(tmp_path, SETTINGS)
    assert again.cells == {"run=0": 1}
    again.add("run=1", 3)
    assert Journal(tmp_path, SETTINGS).cells == {"run=0": 1, "run=1": 3}


def test_results_of_other_settings_are_not_mixed(tmp_path):
    Journal(tmp_path, SETTINGS).add("run=0", 1)
    with pytest.raises(JournalError, match="wanted an empty folder or results of the same"):
        Journal(tmp_path, {**SETTINGS, "train": 6})
    assert Journal(tmp_path, SETTINGS).cells == {"run=0": 1}


def test_rows_are_written_as_json_and_csv(tmp_path):
    rows = [{"method": "LSH", "k": 10}, {"method": "*SHL", "k": 15}]
    Journal(tmp_path, SETTINGS)
    write_rows(tmp_path, "results", rows)
    written = json.loads((tmp_path / "results.json").read_text())
    assert written["rows"] == rows
    assert written["settings"] == SETTINGS
    assert {"python", "segapp", "numpy", "scikit-learn"} <= set(written["versions"])
    with (tmp_path / "results.csv").open(newline="") as file:
        assert [*csv.DictReader(file)] == [{**row, "k": str(row["k"])} for row in rows]


DEEP = "[" * 100_000


@pytest.mark.parametrize(
    "line",
    ["{}", '{"cell": "a"}', '{"cell": [], "found": 1}', DEEP, "9" * 5000, "[]", "\udcff"],
    ids=["empty", "nothing found", "no name", "deep", "long number", "list", "no UTF-8"],
)
def test_a_damaged_line_is_dropped_with_a_warning(tmp_path, line):
    journal = Journal(tmp_path, SETTINGS)
    journal.add("run=0", 1)
    with journal.path.open("ab") as file:
        file.write(line.encode(errors="surrogateescape") + b"\n")
    journal.add("run=1", 2)
    with pytest.warns(UserWarning, match="left out 1 damaged lines, the first is line 3"):
        assert Journal(tmp_path, SETTINGS).cells == {"run=0": 1, "run=1": 2}
    assert Journal(tmp_path, SETTINGS).cells == {"run=0": 1, "run=1": 2}


@pytest.mark.parametrize("first", ["{", "[]", DEEP, '{"settings": "' + "x" * 5000 + '"}'])
def test_cells_of_unknown_settings_are_refused_in_one_sentence(tmp_path, first):
    path = tmp_path / JOURNAL
    path.write_text(first + '\n{"cell": "run=0", "found": 1}\n')
    with pytest.raises(JournalError) as caught:
        Journal(tmp_path, SETTINGS)
    assert len(str(caught.value)) < 500
    assert "run=0" in path.read_text()
    assert settings_in(tmp_path) == {}


CELLS = [{"run": run, "bits": bits} for run in (0, 1) for bits in (3, 4)]


def measure(cell):
    if cell["bits"] == 9:
        raise ValueError("wanted fewer bits")
    return {"product": cell["run"] * cell["bits"], "process": os.getpid()}


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_all_cells_are_measured_whatever_the_number_of_processes(tmp_path, jobs):
    journal = Journal(tmp_path, {})
    assert run_cells(CELLS, measure, journal, jobs) == 0
    assert {name: found["product"] for name, found in journal.cells.items()} == {
        "run=0 bits=3": 0,
        "run=0 bits=4": 0,
        "run=1 bits=3": 3,
        "run=1 bits=4": 4,
    }
    here = {found["process"] == os.getpid() for found in journal.cells.values()}
    assert here == {jobs == 1}


def test_cells_in_the_journal_are_not_measured_again(tmp_path):
    journal = Journal(tmp_path, {})
    journal.add(cell_name(CELLS[0]), "known")
    seen = []
    run_cells(CELLS, lambda cell: seen.append(cell), journal, 1)
    assert seen == CELLS[1:]
    assert journal.cells[cell_name(CELLS[0])] == "known"


def test_an_interruption_keeps_the_cells_before_it(tmp_path):
    def interrupted(cell):
        if cell == CELLS[2]:
            raise KeyboardInterrupt
        return 1

    with pytest.raises(KeyboardInterrupt):
        run_cells(CELLS, interrupted, Journal(tmp_path, {}), 1)
    assert list(Journal(tmp_path, {}).cells) == [cell_name(cell) for cell in CELLS[:2]]


def test_a_failing_cell_is_reported_and_the_others_continue(tmp_path, capsys):
    journal = Journal(tmp_path, {})
    assert run_cells([{"run": 0, "bits": 9}, *CELLS], measure, journal, 1) == 1
    assert len(journal.cells) == 4
    assert "run=0 bits=9: wanted fewer bits" in capsys.readouterr().err
