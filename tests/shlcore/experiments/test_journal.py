import csv
import json

import pytest

from shlcore.experiments.journal import JOURNAL, Journal, JournalError, settings_in, write_rows

SETTINGS = {"dataset": "d", "train": 5}


def test_a_second_journal_knows_what_the_first_one_found(tmp_path):
    Journal(tmp_path / "new", SETTINGS).add("run=0", {"precision": 0.5})
    assert Journal(tmp_path / "new", SETTINGS).cells == {"run=0": {"precision": 0.5}}


@pytest.mark.parametrize("cut", [1, 5, 20])
def test_a_line_cut_off_is_measured_again_and_what_follows_is_kept(tmp_path, cut):
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
def test_a_damaged_line_is_left_out_and_told(tmp_path, line):
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
