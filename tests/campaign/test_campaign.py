"""A short sample of the campaign."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.campaign import (
    faults,
    hostile_folders,
    kills,
    power_loss,
    processor,
    random_users,
    shared_folders,
    soak,
)
from tests.campaign.__main__ import PARTS, SHARES
from tests.campaign.results import Failure, Row, table

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.campaign
IN_SECONDS = (
    "a_full_disk_for_the_copies",
    "a_full_disk_for_a_project",
    "a_full_disk_for_an_export",
    "an_image_that_is_deleted",
    "an_image_that_is_changed",
    "a_clock_that_is_set_back",
    "a_clock_that_jumps",
    "a_state_folder_that_is_missing",
    "a_memory_that_is_too_small",
    "a_scheduler_that_is_mute",
    "a_scheduler_that_lies",
)


def failures(rows):
    return [failure for row in rows for failure in row.failures]


@pytest.mark.slow
@pytest.mark.usefixtures("qapp")
@pytest.mark.parametrize("name", random_users.MACHINES)
def test_some_random_users_find_nothing(name):
    random_users.one(name, 1, examples=2)


@pytest.mark.usefixtures("qapp")
@pytest.mark.parametrize("name", IN_SECONDS)
def test_a_fault_is_reported_and_nothing_is_lost(name):
    assert failures(faults.run([name])) == []


@pytest.mark.slow
@pytest.mark.usefixtures("qapp")
def test_some_strokes_with_live_update_cost_no_thread():
    assert failures(soak.run(1, 12)) == []


@pytest.mark.slow
def test_a_kill_costs_no_stroke_older_than_two_seconds():
    rows = {}
    assert kills.chain("sample", 1, rows), failures(rows.values())


@pytest.mark.slow
@pytest.mark.usefixtures("qapp")
def test_a_slow_disk_stops_neither_the_window_nor_its_end():
    faults.a_slow_disk(0.4)


@pytest.mark.slow
@pytest.mark.skipif(not power_loss.can_mount(), reason="only root mounts a disk to shut down")
def test_a_power_loss_costs_no_stroke_older_than_two_seconds():
    rows = {}
    assert power_loss.chain("sample", 1, rows), failures(rows.values())


@pytest.mark.skipif(sys.platform != "linux", reason="the disk is read through /proc")
def test_a_save_that_is_cut_off_at_any_step_leaves_the_one_before_or_itself():
    assert failures([power_loss.cut_saves("sample", 2)]) == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["annotator", "shared"])
def test_two_windows_share_a_folder(kind):
    row = Row("shared", kind)
    with kills.Nursery() as nursery:
        shared_folders.pair(kind, "sample", 4, 30, nursery, row)
    assert failures([row]) == []
    assert row.tried > 0


@pytest.mark.slow
@pytest.mark.usefixtures("qapp")
@pytest.mark.parametrize("name", ["links_to_nothing", "pipes", "a_link_to_the_folder_itself"])
def test_a_folder_of_a_stranger_does_no_harm(name):
    assert failures(hostile_folders.run([name], 0)) == []


@pytest.mark.slow
def test_the_program_opens_no_connection(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "tests.campaign.quiet_program", str(tmp_path)],
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "QT_QPA_PLATFORM": "offscreen",
            **{f"XDG_{kind}_HOME": str(tmp_path / kind) for kind in ("STATE", "CONFIG", "CACHE")},
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-800:]
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("ran", "waited", "theirs"),
    [(0.0, 0.0, 0.0), (1.0, 4.0, 0.0), (0.25, 0.5, 0.5), (0.25, 3.0, 0.75)],
)
def test_only_time_that_others_took_does_not_count(ran, waited, theirs):
    assert processor.taken(1.0, ran, waited) == theirs


@pytest.mark.skipif(sys.platform != "linux", reason="Linux tells how long threads waited")
def test_a_program_that_sleeps_or_computes_has_its_time_counted():
    busy = [sys.executable, "-c", "import time\nwhile time.process_time() < 60: pass"]
    for command in (["sleep", "60"], busy):
        process = subprocess.Popen(command)
        try:
            watch, began = processor.Watch(process.pid), time.time()
            while processor.ran_and_waited(process.pid)[0] < (0.1 if command is busy else 0.0):
                time.sleep(0.01)
            ran, waited = processor.ran_and_waited(process.pid)
            watch.end()
            ended = time.time()
        finally:
            process.kill()
            process.wait()
        own = watch.own_seconds(began, ended)
        assert ended - began - waited - 0.1 <= own <= ended - began
        assert own >= ran - 0.1


def test_the_table_names_what_failed_and_how_to_see_it_again():
    rows = [Row("kills", "killed", 3, [Failure("kills:1:3", "a stroke is gone")], "9 changes")]
    lines = table(rows).splitlines()
    assert lines[2] == "| kills | killed | 3 | 1 | 9 changes |"
    assert lines[-1] == "- `--replay kills:1:3`: a stroke is gone"


def test_the_minutes_are_shared_among_all_parts():
    assert set(SHARES) | {"faults", "folders"} == set(PARTS)
    assert sum(SHARES.values()) == pytest.approx(1)
