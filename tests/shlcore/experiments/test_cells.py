import os

import pytest

from shlcore.experiments.journal import Journal, cell_name, run_cells

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


def test_what_the_journal_knows_is_not_measured_again(tmp_path):
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


def test_a_cell_that_fails_is_told_and_the_others_go_on(tmp_path, capsys):
    journal = Journal(tmp_path, {})
    assert run_cells([{"run": 0, "bits": 9}, *CELLS], measure, journal, 1) == 1
    assert len(journal.cells) == 4
    assert "run=0 bits=9: wanted fewer bits" in capsys.readouterr().err
