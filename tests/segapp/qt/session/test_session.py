import numpy as np
import pytest

from segapp.files.images import load_image
from segapp.qt.canvas.layers import Layer, opaque
from segapp.qt.session.picture_state import DEFAULT_SETTINGS, PictureState
from segapp.qt.session.progress import Stage
from segapp.qt.session.session import Session
from segapp.values.document import ClassInfo, Stroke
from segapp.values.settings import PRESETS


@pytest.fixture
def make_session(qtbot, picture_file):
    sessions = []

    def make(learner):
        session = Session(learner)
        sessions.append(session)
        picture = load_image(picture_file())
        state = PictureState(picture.path, picture.sha256)
        session.open(picture, Layer(opaque(picture.rgb)), state)
        return session

    yield make
    for session in sessions:
        assert session.close(5)


def wait(qtbot, session, stage=Stage.CURRENT):
    qtbot.waitUntil(lambda: session.progress.stage is stage)


@pytest.fixture
def session(make_session, quick_learner, two_strokes, qtbot):
    made = make_session(quick_learner)
    for stroke in two_strokes:
        made.add_stroke(stroke)
    wait(qtbot, made)
    return made


def test_the_answer_is_the_learners_own(session, quick_learner):
    *_, last = quick_learner(session.picture.rgb).updates(session.document, session.settings)
    np.testing.assert_array_equal(session.labelling.labels, last.labelling.labels)
    assert session.answer_is_current
    assert session.insight.objective == (9.0, 4.0, 1.0)


def test_undo_redo_clear_and_erasing_bring_the_answer_along(session, qtbot):
    session.add_stroke(Stroke(((60.0, 10.0),), 6.0, 0))
    wait(qtbot, session)
    third = session.labelling.labels
    session.undo()
    wait(qtbot, session)
    second = session.labelling.labels
    assert not np.array_equal(second, third)
    session.redo()
    wait(qtbot, session)
    np.testing.assert_array_equal(session.labelling.labels, third)
    session.add_stroke(Stroke(((60.0, 10.0),), 9.0, None))
    wait(qtbot, session)
    np.testing.assert_array_equal(session.labelling.labels, second)
    session.clear()
    wait(qtbot, session, Stage.WAITING)
    assert session.labelling is None


def test_undo_has_no_limit_and_every_step_has_a_name(session, qtbot):
    for number in range(150):
        session.add_stroke(Stroke(((float(number % 70), 20.0),), 1.0, number % 2))
    assert session.state.history.undo_name == "stroke of background"
    for _ in range(152):
        session.undo()
    assert session.document.strokes == ()
    assert session.state.history.undo_name is None
    assert session.state.history.redo_name == "stroke of foreground"
    wait(qtbot, session, Stage.WAITING)


@pytest.mark.parametrize("live", [True, False])
def test_with_one_class_left_the_answer_is_withdrawn_and_the_reason_told(session, qtbot, live):
    session.set_live(live)
    session.undo()
    wait(qtbot, session, Stage.WAITING)
    assert session.labelling is None
    assert session.insight is None
    assert "background" in session.progress.text


def test_erasing_a_class_away_withdraws_the_answer(session, qtbot):
    session.add_stroke(Stroke(((60.0, 30.0), (70.0, 40.0)), 9.0, None))
    wait(qtbot, session, Stage.WAITING)
    assert session.labelling is None


def test_the_newest_strokes_win(make_session, gated, two_strokes, qtbot):
    session = make_session(gated)
    for stroke in two_strokes:
        session.add_stroke(stroke)
    qtbot.waitUntil(lambda: session.progress.text == "waiting")
    session.add_stroke(Stroke(((60.0, 10.0),), 6.0, 0))
    newest = session.document
    qtbot.waitUntil(lambda: gated.asked[-1] is newest)
    for _ in range(3):
        gated.gate.release()
    wait(qtbot, session)
    assert session.labelling.labels[10, 60] == 0
    assert session.answer_is_current


def test_the_old_answer_stays_until_the_new_one_is_there(make_session, gated, two_strokes, qtbot):
    session = make_session(gated)
    for stroke in two_strokes:
        session.add_stroke(stroke)
    gated.gate.release(3)
    wait(qtbot, session)
    old = session.labelling
    session.add_stroke(Stroke(((60.0, 10.0),), 6.0, 0))
    qtbot.waitUntil(lambda: session.progress.text == "waiting")
    assert session.labelling is old
    assert not session.answer_is_current
    gated.gate.release(2)
    qtbot.waitUntil(lambda: session.labelling is not old)  # the intermediate one
    assert not session.answer_is_current
    gated.gate.release(1)
    wait(qtbot, session)


def test_stop_stops_and_update_now_goes_on(make_session, gated, two_strokes, qtbot):
    session = make_session(gated)
    for stroke in two_strokes:
        session.add_stroke(stroke)
    qtbot.waitUntil(lambda: session.progress.text == "waiting")
    session.stop()
    assert session.progress.stage is Stage.WAITING
    gated.gate.release(3)
    qtbot.wait(50)
    assert session.labelling is None
    session.update_now()
    gated.gate.release(3)
    wait(qtbot, session)


def test_without_live_update_strokes_wait_for_update_now(session, qtbot):
    session.set_live(False)
    before = session.labelling
    session.add_stroke(Stroke(((60.0, 10.0),), 6.0, 0))
    assert session.progress.stage is Stage.OUTDATED
    qtbot.wait(50)
    assert session.labelling is before
    session.update_now()
    wait(qtbot, session)
    assert session.labelling is not before


def test_turning_live_update_on_brings_the_answer_up_to_date(session, qtbot):
    session.set_live(False)
    session.add_stroke(Stroke(((60.0, 10.0),), 6.0, 0))
    session.set_live(True)
    wait(qtbot, session)
    assert session.answer_is_current


def test_names_and_colours_teach_nothing(session):
    before = session.labelling
    document = session.document.with_class_changed(0, ClassInfo("cat", (1, 2, 3)))
    session.edit("renaming", document)
    assert session.answer_is_current
    assert session.labelling is before


def test_other_settings_are_learnt_with(session, qtbot):
    session.set_settings(PRESETS["paper"])
    assert session.progress.stage is Stage.RUNNING
    wait(qtbot, session)
    assert session.settings == PRESETS["paper"] != DEFAULT_SETTINGS
    assert session.state.history.undo_name == "stroke of background"


def test_whatever_the_learner_raises_is_told(make_session, quick_learner, two_strokes, qtbot):
    class Broken(quick_learner):
        def updates(self, document, settings):
            yield from ()
            raise RuntimeError("the sky fell")

    session = make_session(Broken)
    told = []
    session.failed.connect(told.append)
    for stroke in two_strokes:
        session.add_stroke(stroke)
    wait(qtbot, session, Stage.FAILED)
    assert "the sky fell" in told[-1]


def test_progress_names_the_step(make_session, quick_learner, two_strokes, qtbot):
    session = make_session(quick_learner)
    seen = []
    session.progress_changed.connect(lambda: seen.append(session.progress))
    for stroke in two_strokes:
        session.add_stroke(stroke)
    wait(qtbot, session)
    assert ("looking", 0.25) in {(each.text, each.fraction) for each in seen}
    assert session.progress.seconds > 0
