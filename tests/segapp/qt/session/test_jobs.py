import gc
import threading
import time
import weakref
from pathlib import Path

import pytest
from mypy import api as mypy
from PySide6.QtCore import QObject, QThread

from segapp.qt.session.jobs import Jobs, unexpected


@pytest.fixture
def jobs(qtbot):
    made = Jobs("test")
    yield made
    assert made.close(5)


@pytest.fixture
def seen():
    return []


def run(jobs, work, seen, on_item=None):
    """Note all that happens, as ``(kind, value)``."""
    jobs.run(
        work,
        on_item or (lambda item: seen.append(("item", item))),
        lambda error: seen.append(("error", error)),
        lambda: seen.append(("end", None)),
    )


def items(seen):
    return [value for kind, value in seen if kind == "item"]


def test_items_arrive_in_order_in_the_windows_thread_and_the_end_is_signalled(jobs, seen, qtbot):
    threads = []

    def take(item):
        threads.append(QThread.currentThread().isMainThread())
        seen.append(("item", item))

    run(jobs, lambda: iter("abc"), seen, take)
    assert jobs.busy
    qtbot.waitUntil(lambda: ("end", None) in seen)
    assert seen == [("item", "a"), ("item", "b"), ("item", "c"), ("end", None)]
    assert threads == [True, True, True]
    assert not jobs.busy


@pytest.mark.parametrize("error", [RuntimeError("no"), StopIteration(), KeyError("k")])
def test_every_exception_arrives_and_then_the_end(jobs, seen, qtbot, error):
    def work():
        yield 1
        raise error

    run(jobs, work, seen)
    qtbot.waitUntil(lambda: ("end", None) in seen)
    assert [kind for kind, _ in seen] == ["item", "error", "end"]
    # inside a generator, Python turns StopIteration into a RuntimeError
    assert seen[1][1] is error or isinstance(seen[1][1], RuntimeError)


def test_an_exception_before_the_first_item_arrives_too(jobs, seen, qtbot):
    def work():
        raise OSError("gone")

    run(jobs, work, seen)
    qtbot.waitUntil(lambda: ("end", None) in seen)
    assert [kind for kind, _ in seen] == ["error", "end"]


def test_an_unexpected_error_is_raised_where_the_window_reports_it(jobs, qtbot):
    def work():
        yield from ()
        raise LookupError("a bug")

    with qtbot.captureExceptions() as raised:
        jobs.run(work, lambda _: None, unexpected)
        qtbot.waitUntil(lambda: not jobs.busy)
    assert [str(error) for _, error, _ in raised] == ["a bug"]


def test_an_item_of_an_older_job_is_dropped(jobs, seen, qtbot):
    go_on = threading.Event()

    def slow():
        yield "old 1"
        go_on.wait(5)
        yield "old 2"

    run(jobs, slow, seen)
    qtbot.waitUntil(lambda: items(seen) == ["old 1"])
    run(jobs, lambda: iter(["new"]), seen)
    go_on.set()
    qtbot.waitUntil(lambda: not jobs.busy)
    assert items(seen) == ["old 1", "new"]


def test_each_job_has_its_own_handlers_and_one_end(jobs, qtbot):
    first, second = [], []
    run(jobs, lambda: iter("ab"), first)
    run(jobs, lambda: iter("cd"), second)
    qtbot.waitUntil(lambda: not jobs.busy)
    assert first == [("end", None)]
    assert second == [("item", "c"), ("item", "d"), ("end", None)]


def test_of_many_waiting_jobs_only_the_newest_runs(jobs, seen, qtbot):
    ran, go_on = [], threading.Event()

    def first():
        yield "first"
        go_on.wait(5)

    def note(number):
        ran.append(number)
        yield number

    run(jobs, first, seen)
    qtbot.waitUntil(lambda: len(items(seen)) == 1)
    for number in range(10):
        run(jobs, lambda number=number: note(number), seen)
    go_on.set()
    qtbot.waitUntil(lambda: len(items(seen)) == 2)
    assert ran == [9]


def test_cancelling_stops_the_generator_itself(jobs, seen, qtbot):
    produced = []

    def endless():
        while True:
            produced.append(1)
            yield 1
            time.sleep(0.001)

    run(jobs, endless, seen)
    qtbot.waitUntil(lambda: len(produced) > 3)
    jobs.cancel()
    assert seen[-1] == ("end", None)
    qtbot.wait(30)
    count, told = len(produced), len(seen)
    qtbot.wait(30)
    assert (len(produced), len(seen)) == (count, told)


def test_closing_waits_for_the_thread(qtbot):
    jobs = Jobs("closing")
    inside = threading.Event()

    def work():
        inside.set()
        time.sleep(0.2)
        yield 1

    jobs.run(work, lambda _: None, unexpected)
    inside.wait(5)
    assert not jobs.close(0.01)
    assert jobs.close(5)
    assert "closing" not in {thread.name for thread in threading.enumerate()}


def test_the_thread_keeps_no_owner_of_a_handler_alive(jobs, qtbot):
    class Owner(QObject):
        def take(self, item):
            pass

    owner = Owner()
    gone = weakref.ref(owner)
    jobs.run(lambda: iter("a"), owner.take, unexpected)
    qtbot.waitUntil(lambda: not jobs.busy)
    del owner
    gc.collect()
    assert gone() is None


@pytest.mark.slow
def test_the_type_checker_compares_items_with_their_handler(tmp_path):
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "from collections.abc import Iterator\n"
        "from segapp.qt.session.jobs import Jobs, unexpected\n"
        "def work() -> Iterator[int | str]:\n    yield 1\n"
        "def take(item: int) -> None: ...\n"
        "def take_all(item: int | str) -> None: ...\n"
        "def wish(jobs: Jobs) -> None:\n"
        "    jobs.run(work, take_all, unexpected)\n"
        "    jobs.run(work, take, unexpected)\n"
        "    jobs.run(work, take_all)\n"
    )
    module = Path(__file__).parents[4] / "segapp" / "qt" / "session" / "jobs.py"
    found, _, code = mypy.run(
        [
            "--config-file=",
            "--follow-imports=skip",
            "--ignore-missing-imports",
            f"--cache-dir={tmp_path / 'cache'}",
            str(module),
            str(wrong),
        ]
    )
    errors = [line for line in found.splitlines() if line.startswith(str(wrong))]
    assert code == 1, found
    assert [line.split(":")[1] for line in errors if "error" in line] == ["9", "10"]
    assert "Item" in errors[0]
    assert "on_error" in errors[1]
