import threading
import time

import pytest
from PySide6.QtCore import QThread

from segapp.qt.session.jobs import Jobs


@pytest.fixture
def jobs(qtbot):
    made = Jobs("test")
    made.seen = []
    made.arrived.connect(lambda ticket, item: made.seen.append((ticket, item)))
    yield made
    assert made.close(5)


def test_items_arrive_in_order_in_the_windows_thread_and_the_end_is_told(jobs, qtbot):
    threads = []
    jobs.arrived.connect(lambda *_: threads.append(QThread.currentThread().isMainThread()))
    with qtbot.waitSignal(jobs.ended):
        ticket = jobs.start(lambda: iter("abc"))
    assert jobs.seen == [(ticket, "a"), (ticket, "b"), (ticket, "c")]
    assert threads == [True, True, True]
    assert not jobs.busy


@pytest.mark.parametrize("error", [RuntimeError("no"), StopIteration(), KeyError("k")])
def test_every_exception_arrives_and_then_the_end(jobs, qtbot, error):
    def work():
        yield 1
        raise error

    told = []
    jobs.failed.connect(lambda _, arrived: told.append(arrived))
    with qtbot.waitSignals([jobs.failed, jobs.ended], order="strict"):
        jobs.start(work)
    # inside a generator, Python turns StopIteration into a RuntimeError
    assert told == [error] or isinstance(told[0], RuntimeError)


def test_an_exception_before_the_first_item_arrives_too(jobs, qtbot):
    def work():
        raise OSError("gone")

    with qtbot.waitSignals([jobs.failed, jobs.ended]):
        jobs.start(work)


def test_what_belongs_to_an_older_ticket_is_dropped(jobs, qtbot):
    go_on = threading.Event()

    def slow():
        yield "old 1"
        go_on.wait(5)
        yield "old 2"

    old = jobs.start(slow)
    qtbot.waitUntil(lambda: jobs.seen == [(old, "old 1")])
    new = jobs.start(lambda: iter(["new"]))
    go_on.set()
    qtbot.waitUntil(lambda: (new, "new") in jobs.seen)
    assert [item for _, item in jobs.seen] == ["old 1", "new"]


def test_of_many_waiting_jobs_only_the_newest_runs(jobs, qtbot):
    ran, go_on = [], threading.Event()

    def first():
        yield "first"
        go_on.wait(5)

    def note(number):
        ran.append(number)
        yield number

    jobs.start(first)
    qtbot.waitUntil(lambda: len(jobs.seen) == 1)
    for number in range(10):
        jobs.start(lambda number=number: note(number))
    go_on.set()
    qtbot.waitUntil(lambda: len(jobs.seen) == 2)
    assert ran == [9]


def test_cancelling_stops_the_generator_itself(jobs, qtbot):
    produced = []

    def endless():
        while True:
            produced.append(1)
            yield 1
            time.sleep(0.001)

    jobs.start(endless)
    qtbot.waitUntil(lambda: len(produced) > 3)
    with qtbot.waitSignal(jobs.ended):
        jobs.cancel()
    qtbot.wait(30)
    count, seen = len(produced), len(jobs.seen)
    qtbot.wait(30)
    assert (len(produced), len(jobs.seen)) == (count, seen)


def test_closing_waits_for_the_thread(qtbot):
    jobs = Jobs("closing")
    inside = threading.Event()

    def work():
        inside.set()
        time.sleep(0.2)
        yield 1

    jobs.start(work)
    inside.wait(5)
    assert not jobs.close(0.01)
    assert jobs.close(5)
    assert "closing" not in {thread.name for thread in threading.enumerate()}
