"""Answers as functions of image, settings and the strokes in their order."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from segapp.engine import trainer as training
from segapp.engine.state_update import StateUpdate
from segapp.engine.trainer import Trainer, segment
from segapp.model.answer import final_answer
from segapp.model.classes import ClassInfo
from segapp.model.document import Document, Stroke
from segapp.model.settings import PRESETS

QUICK = replace(PRESETS["best"], prototypes=150, passes=1)


def picture():
    """Three bands whose colours run into each other: one stroke more may turn any of them."""
    rng = np.random.default_rng(3)
    x = np.arange(90)
    base = np.stack([60 + 1.5 * x, 140 - 0.8 * x, 100 + 20 * np.sin(x / 7)], axis=1)
    rgb = base[None] + rng.normal(0, 12, (60, 90, 3))
    return np.clip(rgb, 0, 255).astype(np.uint8)


RGB = picture()


def dab(x, y, label, radius=3.0):
    return Stroke(((x, y),), radius, label)


START = (dab(15, 30, 0), dab(75, 30, 1))
dabs = st.builds(dab, st.integers(2, 87), st.integers(2, 57), st.sampled_from([0, 1, 0, 1, None]))


def answer(trainer, document, wanted=QUICK):
    return final_answer(trainer.updates(document, wanted)).labelling


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(dabs, min_size=1, max_size=4))
def test_one_after_the_other_or_all_at_once_is_the_same_answer(more):
    """The window answers each stroke, a reopened project and the commands only the last state."""
    document = Document(strokes=START)
    trainer = Trainer(RGB)
    answer(trainer, document)
    for stroke in more:
        document = document.with_stroke(stroke)
        try:
            grown = answer(trainer, document)
        except ValueError:  # a class was erased
            grown = None
    if grown is not None:
        fresh = segment(RGB, document, QUICK)
        np.testing.assert_array_equal(grown.labels, fresh.labels)
        np.testing.assert_array_equal(grown.margin, fresh.margin)


def test_undo_returns_to_exactly_the_earlier_answer():
    trainer = Trainer(RGB)
    two = Document(strokes=START)
    first = answer(trainer, two)
    three = two.with_stroke(dab(50, 10, 1))
    answer(trainer, three)
    answer(trainer, three.with_stroke(dab(30, 50, 0)))
    np.testing.assert_array_equal(answer(trainer, two).labels, first.labels)


def test_strokes_of_one_state_are_learnt_at_once():
    document = Document(strokes=(*START, dab(50, 10, 1), dab(30, 50, 0)))
    assert len(list(document.earlier_states())) == 3
    anew = document.as_one_state()
    assert anew.previous_state is None
    assert anew.as_one_state() == anew
    at_once = segment(RGB, document, replace(QUICK, locality=0.0))
    np.testing.assert_array_equal(segment(RGB, anew, QUICK).labels, at_once.labels)


@pytest.mark.parametrize("job", ["updates", "live_preview"])
def test_a_stroke_costs_the_same_however_many_there_are(job, monkeypatch):
    trainer, document, built = Trainer(RGB), Document(strokes=START), []
    begin = Document.__init__

    def counted(self, *fields, **named):
        built.append(len(document.strokes))
        begin(self, *fields, **named)

    for count in range(8):
        document = document.with_stroke(dab(10 + 8 * count, 20 + 20 * (count % 2), count % 2))
        with monkeypatch.context() as watched:
            watched.setattr(Document, "__init__", counted)
            for _ in getattr(trainer, job)(document, QUICK):
                pass
        answer(trainer, document)
    assert len({built.count(count) for count in range(4, 11)}) == 1


def test_previews_do_not_change_later_answers():
    trainer = Trainer(RGB)
    document = Document(strokes=START)
    answer(trainer, document)
    for reach in (20, 40, 60):  # a stroke that is being drawn
        answer(trainer, document.with_stroke(Stroke(((20, 50), (reach + 20, 50)), 3.0, 0)))
    finished = document.with_stroke(Stroke(((20, 50), (80, 50)), 3.0, 0))
    np.testing.assert_array_equal(
        answer(trainer, finished).labels, segment(RGB, finished, QUICK).labels
    )


def test_far_from_the_stroke_the_answer_stays():
    """A stronger prior makes changes cost more."""
    before = Document(strokes=(*START, dab(40, 30, 1)))
    after = before.with_stroke(dab(8, 8, 1))
    far = np.s_[:, 60:]
    changed = {}
    for locality in (0.0, 50.0):
        wanted = replace(QUICK, locality=locality)
        trainer = Trainer(RGB)
        one, two = answer(trainer, before, wanted), answer(trainer, after, wanted)
        changed[locality] = np.count_nonzero(one.labels[far] != two.labels[far])
    assert changed[50.0] <= min(changed[0.0], 20)


@pytest.mark.parametrize("mark", [Stroke(((1, 1),), 2.0, 0, joined=True)])
def test_the_first_mark_begins_a_state(mark):
    document = Document(strokes=(mark, dab(5, 5, 1)))
    assert [len(state.strokes) for state in document.earlier_states()] == [1]


def grown_and_fresh(*documents):
    """Answer documents one after the other, and the last one alone."""
    trainer = Trainer(RGB)
    for document in documents:
        grown = answer(trainer, document)
    return grown, segment(RGB, documents[-1], QUICK)


def test_erasing_is_a_state_that_frees_what_was_marked():
    marked = Document(strokes=(*START, dab(45, 30, 0, radius=8)))
    erased = marked.with_stroke(dab(45, 30, None, radius=10))
    assert len(list(erased.earlier_states())) == 3
    grown, fresh = grown_and_fresh(marked, erased)
    np.testing.assert_array_equal(grown.labels, fresh.labels)
    held = answer(Trainer(RGB), marked).labels
    assert (held[23:38, 38:53] == 0).mean() > 0.7
    again = answer(Trainer(RGB), erased.with_stroke(dab(45, 30, 1)))
    assert again.labels[30, 45] == 1


def test_after_a_class_was_erased_the_next_state_has_no_prior():
    """The answer before the erasing is no prior any more."""
    erased = Document(strokes=(*START, dab(50, 10, 1), dab(15, 30, None, radius=9)))
    with pytest.raises(ValueError, match="Only background is marked"):
        answer(Trainer(RGB), erased)
    again = erased.with_stroke(dab(20, 40, 0))
    anew = Document(strokes=again.strokes).as_one_state()
    np.testing.assert_array_equal(
        answer(Trainer(RGB), again).labels, answer(Trainer(RGB), anew).labels
    )


def test_painting_over_a_mark_moves_it_to_the_other_class():
    wrong = Document(strokes=(*START, dab(60, 20, 0, radius=6)))
    right = wrong.with_stroke(dab(60, 20, 1, radius=7))
    grown, fresh = grown_and_fresh(wrong, right)
    np.testing.assert_array_equal(grown.labels, fresh.labels)
    disc = np.hypot(*(np.indices(RGB.shape[:2]) - np.array([[[19.5]], [[59.5]]]))) <= 6
    assert (grown.labels[disc] == 1).all()


def test_deleting_a_class_takes_it_out_of_all_states():
    classes = (*Document().classes, ClassInfo("third", (1, 2, 3)))
    three = Document(classes, (*START, dab(45, 50, 2), dab(50, 10, 1)))
    two = three.without_class(2)
    grown, fresh = grown_and_fresh(three, two)
    np.testing.assert_array_equal(grown.labels, fresh.labels)
    never = Document(two.classes, (*START, dab(50, 10, 1)))
    np.testing.assert_array_equal(grown.labels, segment(RGB, never, QUICK).labels)


def test_other_settings_hold_for_all_states():
    document = Document(strokes=(*START, dab(50, 10, 1), dab(30, 50, 0)))
    other = replace(QUICK, locality=5.0)
    trainer = Trainer(RGB)
    answer(trainer, document)
    np.testing.assert_array_equal(
        answer(trainer, document, other).labels, segment(RGB, document, other).labels
    )


def test_a_class_that_is_marked_for_the_first_time_has_no_prior_against_it():
    """Before its first stroke no region could be background; that answer is no prior.

    The stroke of the square leaves it by a hair, which is enough to hold much of the background.
    """
    rows, columns = np.mgrid[:150, :220]
    truth = np.ones((150, 220), int)
    truth[(columns - 53) ** 2 + (rows - 54) ** 2 < 26**2] = 0
    truth[25:75, 130:185] = 2
    truth[119:141, 30:190] = 3
    colours = np.array([(200, 60, 50), (90, 110, 90), (60, 90, 200), (220, 200, 70)])
    noise = np.random.default_rng(8).normal(0, 10, (150, 220, 3))
    rgb = np.clip(colours[truth] + noise, 0, 255).astype(np.uint8)
    names = ("disc", "background", "square", "bar")
    classes = tuple(ClassInfo(name, (0, 0, 0)) for name in names)
    strokes = tuple(
        Stroke(((x, y), (x + 14.5, y)), 4.0, label)
        for x, y, label in ((42.0, 51.0, 0), (168.3, 45.0, 2), (102.5, 129.0, 3), (102.5, 97.0, 1))
    )
    labels = segment(rgb, Document(classes, strokes), PRESETS["best"]).labels
    assert (labels == truth).mean() > 0.98


LARGE = np.kron(RGB, np.ones((14, 14, 1), np.uint8))  # above the working resolution


@pytest.mark.parametrize(("rgb", "times"), [(RGB, 1), (LARGE, 14)])
def test_clean_up_and_threshold_are_applied_to_what_was_learnt(rgb, times, monkeypatch):
    marks = (*START, dab(50, 10, 1), dab(30, 50, 0))
    document = Document(
        strokes=[
            replace(
                mark,
                points=tuple((x * times, y * times) for x, y in mark.points),
                radius=mark.radius * times,
            )
            for mark in marks
        ]
    )
    trainer, made = Trainer(rgb), []
    final_answer(trainer.updates(document, QUICK))

    class Counted(StateUpdate):
        def __init__(self, *inputs):
            made.append(inputs)
            super().__init__(*inputs)

    changes = [
        {"threshold": 0.3},
        {"threshold": -0.4, "clean_up": replace(QUICK.clean_up, smoothing=2)},
        {"clean_up": replace(QUICK.clean_up, smallest_area=40)},
        {"clean_up": replace(QUICK.clean_up, fill_holes=False)},
        {},
    ]
    for change in changes[:: 1 if times == 1 else 3]:
        wanted = replace(QUICK, **change)
        with monkeypatch.context() as watched:
            watched.setattr(training, "StateUpdate", Counted)
            found = final_answer(trainer.updates(document, wanted)).labelling
        fresh = final_answer(Trainer(rgb).updates(document, wanted)).labelling
        np.testing.assert_array_equal(found.labels, fresh.labels)
        np.testing.assert_array_equal(found.margin, fresh.margin)
        np.testing.assert_array_equal(found.codes, fresh.codes)
    assert made == []
    # The next stroke has the prior that it would have had from the beginning.
    longer = document.with_stroke(replace(document.strokes[0], label=1))
    again = final_answer(trainer.updates(longer, wanted)).labelling
    np.testing.assert_array_equal(again.labels, segment(rgb, longer, wanted).labels)


def test_asking_again_learns_again(monkeypatch):
    trainer, made = Trainer(RGB), []
    document = Document(strokes=START)
    final_answer(trainer.updates(document, QUICK))
    monkeypatch.setattr(
        training, "StateUpdate", lambda *inputs: made.append(inputs) or StateUpdate(*inputs)
    )
    final_answer(trainer.updates(document, QUICK))
    assert len(made) == 1
