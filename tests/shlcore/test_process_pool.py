import os
import signal
import time

import pytest

from shlcore.parallel import ProcessDied, map_in_processes


def squared(item, stopped):
    return item * item


def deadly(item, stopped):
    if item == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return -item


def patient(item, stopped):
    until = time.monotonic() + 60
    while not stopped() and time.monotonic() < until:
        time.sleep(0.01)
    return item


def refusing(item, stopped):
    raise ValueError("no")


def test_every_item_has_its_result():
    assert dict(map_in_processes(squared, range(7), 2)) == {k: k * k for k in range(7)}
    assert list(map_in_processes(squared, [], 2)) == []


def test_a_process_that_dies_costs_its_item_alone():
    found = dict(map_in_processes(deadly, range(5), 2))
    assert isinstance(found.pop(3), ProcessDied)
    assert found == {0: 0, 1: -1, 2: -2, 4: -4}


def test_closing_stops_those_that_work():
    running = map_in_processes(squared, [1, 2], 2)
    next(running)
    running.close()
    start = time.monotonic()
    waiting = map_in_processes(patient_but_first, [0, 1, 2], 2)
    next(waiting)
    waiting.close()
    assert time.monotonic() - start < 30


def patient_but_first(item, stopped):
    return item if item == 0 else patient(item, stopped)


def test_an_error_of_the_work_is_the_callers():
    with pytest.raises(ValueError, match="no"):
        list(map_in_processes(refusing, [1], 1))
