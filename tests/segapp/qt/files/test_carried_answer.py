"""What the window saves with a project makes the next opening quick, and changes nothing."""

import threading
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from segapp.app.project_store import SaveLocation
from segapp.engine import trainer
from segapp.engine.state_update import StateUpdate
from segapp.engine.trainer import Trainer, segment
from segapp.io.project import load_project, save_project
from segapp.model.document import Stroke


@pytest.fixture
def learnt(monkeypatch):
    """Collect the documents that are learnt."""
    states = []

    class Counted(StateUpdate):
        def __init__(self, picture, document, *others):
            states.append(document)
            super().__init__(picture, document, *others)

    monkeypatch.setattr(trainer, "StateUpdate", Counted)
    return states


@pytest.fixture
def noisy_picture(tmp_path):
    x = np.arange(90)
    base = np.stack([60 + 1.5 * x, 140 - 0.8 * x, 100 + 20 * np.sin(x / 7)], axis=1)
    rgb = base[None] + np.random.default_rng(3).normal(0, 12, (60, 90, 3))
    path = tmp_path / "noisy.png"
    Image.fromarray(np.clip(rgb, 0, 255).astype(np.uint8)).save(path)
    return path


def dab(x, y, label):
    return Stroke(((x, y),), 3.0, label)


def test_a_saved_project_opens_with_one_update(
    qtbot, make_window, noisy_picture, tmp_path, learnt
):
    window = make_window(noisy_picture, Trainer)
    session = window.session
    marks = (dab(15, 30, 0), dab(75, 30, 1), dab(50, 10, 1), dab(30, 50, 0))
    for mark in marks:
        session.add_stroke(mark)
    qtbot.waitUntil(lambda: session.answers.is_current, timeout=30_000)
    shown = session.answers.answer.labelling
    path = tmp_path / "noisy.segapp"
    assert window.files.save(session.state, path)
    project = load_project(path)
    assert project.answer is not None

    learnt.clear()
    again = make_window(path, Trainer).session
    qtbot.waitUntil(lambda: again.answers.is_current, timeout=30_000)
    assert learnt == [project.document]
    np.testing.assert_array_equal(again.answers.answer.labelling.labels, shown.labels)

    save_project(path, replace(project, answer=None))
    learnt.clear()
    slow = make_window(path, Trainer).session
    qtbot.waitUntil(lambda: slow.answers.is_current, timeout=30_000)
    assert len(learnt) == len(marks) - 1
    np.testing.assert_array_equal(slow.answers.answer.labelling.labels, shown.labels)
    picture = np.array(Image.open(noisy_picture))
    fresh = segment(picture, project.document, project.settings)
    np.testing.assert_array_equal(fresh.labels, shown.labels)


def test_without_a_current_answer_none_is_carried(qtbot, make_window, picture_file, tmp_path):
    window = make_window(picture_file())
    window.session.answers.set_live(False)
    window.session.add_stroke(dab(10, 10, 0))
    window.session.add_stroke(dab(70, 10, 1))
    assert window.files.save(window.session.state, tmp_path / "p.segapp")
    assert load_project(tmp_path / "p.segapp").answer is None


def test_painting_goes_on_while_an_answer_is_packed(
    qtbot, make_window, noisy_picture, tmp_path, monkeypatch
):
    packers = []

    def watched(*told, encode=trainer.encode_snapshot):
        packers.append(threading.current_thread())
        return encode(*told)

    monkeypatch.setattr(trainer, "encode_snapshot", watched)
    window = make_window(noisy_picture, Trainer)
    session = window.session
    for mark in (dab(15, 30, 0), dab(75, 30, 1), dab(50, 10, 1)):
        session.add_stroke(mark)
    qtbot.waitUntil(lambda: session.answers.is_current, timeout=30_000)
    # Not sooner, as a project would be saved without an answer.
    window.store.policy.choose(SaveLocation.FOLDER, tmp_path)
    window.autosave.write_soon()
    qtbot.waitUntil(lambda: bool(packers) and not session.state.unsaved, timeout=30_000)
    assert threading.main_thread() not in packers
    assert load_project(session.state.location.path).answer is not None
