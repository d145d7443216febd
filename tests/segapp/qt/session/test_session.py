from dataclasses import replace

import numpy as np
import pytest

import segapp
from segapp.app.state import PictureState, Stage
from segapp.io.images import load_image
from segapp.model.classes import ClassInfo
from segapp.model.document import Stroke
from segapp.model.settings import DEFAULT_SETTINGS, PRESETS
from segapp.qt.canvas.layers import Layer, add_alpha
from segapp.qt.session.session import Session
from shlcore.parallel import limit_threads


@pytest.fixture
def make_session(qtbot, picture_file):
    sessions = []

    def make(make_trainer):
        session = Session(make_trainer)
        sessions.append(session)
        picture = load_image(picture_file())
        state = PictureState(picture.path, picture.sha256)
        session.open(picture, Layer(add_alpha(picture.rgb)), state)
        return session

    yield make
    for session in sessions:
        assert session.close(5)


def wait(qtbot, session, stage=Stage.CURRENT):
    qtbot.waitUntil(lambda: session.answers.progress.stage is stage)


@pytest.fixture
def session(make_session, quick_segmenter, two_strokes, qtbot):
    made = make_session(quick_segmenter)
    for stroke in two_strokes:
        made.add_stroke(stroke)
    wait(qtbot, made)
    return made


def test_the_answer_is_the_learners_own(session, quick_segmenter):
    *_, last = quick_segmenter(session.picture.rgb).updates(session.document, session.settings)
    np.testing.assert_array_equal(session.answers.shown.labels, last.labelling.labels)
    assert session.answers.is_current
    assert session.answers.insight.objective == (9.0, 4.0, 1.0)


def test_undo_redo_clear_and_erasing_bring_the_answer_along(session, qtbot):
    session.add_stroke(Stroke(((60.0, 10.0),), 6.0, 0))
    wait(qtbot, session)
    third = session.answers.shown.labels
    session.undo()
    wait(qtbot, session)
    second = session.answers.shown.labels
    assert not np.array_equal(second, third)
    session.redo()
    wait(qtbot, session)
    np.testing.assert_array_equal(session.answers.shown.labels, third)
    session.add_stroke(Stroke(((60.0, 10.0),), 9.0, None))
    wait(qtbot, session)
    np.testing.assert_array_equal(session.answers.shown.labels, second)
    session.clear()
    wait(qtbot, session, Stage.WAITING)
    assert session.answers.shown is None


def test_undo_has_no_limit_and_every_step_has_a_name(session, qtbot):
    for number in range(150):
        session.add_stroke(Stroke(((float(number % 70), 20.0),), 1.0, number % 2))
    assert session.state.history.undo_name == "stroke of background"
    for _ in range(152):
        session.undo()
    assert tuple(session.document.strokes) == ()
    assert session.state.history.undo_name is None
    assert session.state.history.redo_name == "stroke of foreground"
    wait(qtbot, session, Stage.WAITING)


@pytest.mark.parametrize("live", [True, False])
def test_without_the_object_the_answer_is_withdrawn_and_the_reason_given(session, qtbot, live):
    session.answers.set_live(live)
    background = [mark for mark in session.document.strokes if mark.label == 1]
    session.edit("without the object", replace(session.document, strokes=tuple(background)))
    wait(qtbot, session, Stage.WAITING)
    assert session.answers.shown is None
    assert session.answers.insight is None
    assert "foreground" in session.answers.progress.text


def test_erasing_a_class_away_withdraws_the_answer(session, qtbot):
    session.add_stroke(Stroke(((60.0, 30.0), (70.0, 40.0)), 9.0, None))
    wait(qtbot, session, Stage.WAITING)
    assert session.answers.shown is None


def test_the_newest_strokes_win(make_session, gated, two_strokes, qtbot):
    session = make_session(gated)
    for stroke in two_strokes:
        session.add_stroke(stroke)
    qtbot.waitUntil(lambda: session.answers.progress.text == "waiting")
    session.add_stroke(Stroke(((60.0, 10.0),), 6.0, 0))
    newest = session.document
    qtbot.waitUntil(lambda: gated.asked[-1] is newest)
    for _ in range(3):
        gated.gate.release()
    wait(qtbot, session)
    assert session.answers.shown.labels[10, 60] == 0
    assert session.answers.is_current


def test_the_old_answer_stays_until_the_new_one_is_there(make_session, gated, two_strokes, qtbot):
    session = make_session(gated)
    for stroke in two_strokes:
        session.add_stroke(stroke)
    gated.gate.release(3)
    wait(qtbot, session)
    old = session.answers.shown
    session.add_stroke(Stroke(((60.0, 10.0),), 6.0, 0))
    qtbot.waitUntil(lambda: session.answers.progress.text == "waiting")
    assert session.answers.shown is old
    assert not session.answers.is_current
    gated.gate.release(2)
    qtbot.waitUntil(lambda: session.answers.shown is not old)  # the intermediate one
    assert not session.answers.is_current
    gated.gate.release(1)
    wait(qtbot, session)


def test_stop_stops_and_update_now_goes_on(make_session, gated, two_strokes, qtbot):
    session = make_session(gated)
    for stroke in two_strokes:
        session.add_stroke(stroke)
    qtbot.waitUntil(lambda: session.answers.progress.text == "waiting")
    session.answers.stop()
    assert session.answers.progress.stage is Stage.WAITING
    gated.gate.release(3)
    qtbot.wait(50)
    assert session.answers.shown is None
    session.answers.update_now()
    gated.gate.release(3)
    wait(qtbot, session)


def test_without_live_update_strokes_wait_for_update_now(session, qtbot):
    session.answers.set_live(False)
    before = session.answers.shown
    session.add_stroke(Stroke(((60.0, 10.0),), 6.0, 0))
    assert session.answers.progress.stage is Stage.OUTDATED
    qtbot.wait(50)
    assert session.answers.shown is before
    session.answers.update_now()
    wait(qtbot, session)
    assert session.answers.shown is not before


def test_turning_live_update_on_brings_the_answer_up_to_date(session, qtbot):
    session.answers.set_live(False)
    session.add_stroke(Stroke(((60.0, 10.0),), 6.0, 0))
    session.answers.set_live(True)
    wait(qtbot, session)
    assert session.answers.is_current


def test_names_and_colours_teach_nothing(session):
    before = session.answers.shown
    document = session.document.with_class_changed(0, ClassInfo("cat", (1, 2, 3)))
    session.edit("renaming", document)
    assert session.answers.is_current
    assert session.answers.shown is before


def test_other_settings_are_learnt_with(session, qtbot):
    session.set_settings(PRESETS["paper"])
    assert session.answers.progress.stage is Stage.RUNNING
    wait(qtbot, session)
    assert session.settings == PRESETS["paper"] != DEFAULT_SETTINGS
    assert session.state.history.undo_name == "change of settings"


def test_all_exceptions_of_the_learner_are_reported(
    make_session, quick_segmenter, two_strokes, qtbot
):
    class Broken(quick_segmenter):
        def updates(self, document, settings):
            yield from ()
            raise RuntimeError("the sky fell")

    session = make_session(Broken)
    told = []
    session.answers.failed.connect(lambda sentence, _: told.append(sentence))
    for stroke in two_strokes:
        session.add_stroke(stroke)
    wait(qtbot, session, Stage.FAILED)
    assert "the sky fell" in told[-1]


def test_progress_names_the_step(make_session, quick_segmenter, two_strokes, qtbot):
    session = make_session(quick_segmenter)
    seen = []
    session.answers.progress_changed.connect(lambda: seen.append(session.answers.progress))
    for stroke in two_strokes:
        session.add_stroke(stroke)
    wait(qtbot, session)
    assert ("looking", 0.25) in {(each.text, each.fraction) for each in seen}
    assert session.answers.progress.seconds > 0


@pytest.fixture
def previewing(make_session, gated, two_strokes, qtbot):
    """Return a session with a final answer, a further stroke, and a preview of its answer."""
    session = make_session(gated)
    for stroke in two_strokes:
        session.add_stroke(stroke)
    gated.gate.release(3)
    wait(qtbot, session)
    final = session.answers.shown
    session.add_stroke(Stroke(((60.0, 10.0),), 6.0, 0))
    gated.gate.release(2)
    qtbot.waitUntil(lambda: session.answers.shown is not final)
    return session, final


def test_a_preview_is_never_the_answer(previewing):
    session, _ = previewing
    assert session.answers.answer is None
    assert not session.answers.is_current


def test_undo_brings_the_last_answer_back_and_drops_the_preview(previewing):
    session, final = previewing
    session.undo()
    assert session.answers.shown is final
    assert session.answers.answer.labelling is final
    assert session.answers.progress.stage is Stage.CURRENT


def test_an_answer_stopped_at_a_preview_is_called_unfinished(previewing, gated, qtbot):
    session, final = previewing
    session.answers.stop()
    assert session.answers.progress.stage is Stage.UNFINISHED
    assert "Not final" in session.answers.progress.text
    assert session.answers.answer is None
    session.answers.update_now()
    gated.gate.release(9)  # the stopped job may take some
    wait(qtbot, session)
    assert session.answers.answer.labelling is session.answers.shown is not final


def test_an_answer_that_is_asked_for_once_more_may_be_stopped(previewing, gated, qtbot):
    session, final = previewing
    session.undo()
    qtbot.wait(50)  # the job that undo has ended takes no more steps
    session.answers.update_now()
    gated.gate.release(2)
    qtbot.waitUntil(lambda: session.answers.shown is not final)
    assert session.answers.answer.labelling is final
    session.answers.stop()
    assert session.answers.shown is final
    assert session.answers.progress.stage is Stage.CURRENT


def background_first(session):
    document = session.document
    first, second = document.classes
    names = (replace(first, name="background"), replace(second, name="thing"))
    session.edit("naming", replace(document, classes=names))


def test_a_name_that_makes_another_class_the_background_teaches(session, qtbot):
    background_first(session)
    wait(qtbot, session)
    assert session.document.background == 0
    before = session.answers.answer
    changed = replace(session.document.classes[0], name="x")
    session.edit("renaming", session.document.with_class_changed(0, changed))
    assert session.document.background == 1
    assert session.answers.progress.stage is Stage.RUNNING
    assert session.answers.answer is None
    wait(qtbot, session)
    assert session.answers.answer is not before
    session.undo()
    assert not session.answers.is_current
    wait(qtbot, session)


def test_a_harmless_name_needs_no_learning(session, qtbot):
    background_first(session)
    wait(qtbot, session)
    before = session.answers.answer
    changed = replace(session.document.classes[1], name="x")
    session.edit("renaming", session.document.with_class_changed(1, changed))
    assert session.answers.answer is before
    assert session.answers.progress.stage is Stage.CURRENT


def test_learning_anew_is_an_edit_that_makes_one_state_of_all_strokes(session, qtbot):
    session.add_stroke(Stroke(((60.0, 10.0),), 6.0, 0))
    wait(qtbot, session)
    before = session.document
    assert len(list(before.earlier_states())) == 2
    session.learn_anew()
    assert session.document.previous_state is None
    wait(qtbot, session)
    assert session.answers.is_current
    session.undo()
    assert session.document == before


@pytest.mark.slow
@pytest.mark.parametrize("as_project", [False, True])
def test_the_api_gives_the_windows_pixels(as_project, picture_file, two_strokes, tmp_path, qtbot):
    session, path = Session(), picture_file()
    picture = load_image(path)
    layer = Layer(add_alpha(picture.rgb))
    session.open(picture, layer, PictureState(picture.path, picture.sha256))
    for stroke in (*two_strokes, Stroke(((62.0, 8.0), (70.0, 12.0)), 4.0, 0)):
        session.add_stroke(stroke)
    with limit_threads(1):
        qtbot.waitUntil(lambda: session.answers.is_current, timeout=20_000)
    strokes = session.document
    if as_project:
        strokes = tmp_path / "picture.segapp"
        segapp.Segmenter(path, session.document).save(strokes)
    result = segapp.segment(path, strokes)
    labelling = session.answers.answer.labelling
    np.testing.assert_array_equal(result.labels, labelling.labels)
    np.testing.assert_array_equal(result.confidence, labelling.margin)
    np.testing.assert_array_equal(result.codes, labelling.codes)
    assert session.close(5)
