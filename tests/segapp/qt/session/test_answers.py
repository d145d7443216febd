"""Answers after actions in any order: only the learner's own may be exported."""

from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import settings as profile
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from PySide6.QtCore import QObject

from segapp.app.state import PictureState, Stage
from segapp.model.answer import final_answer
from segapp.model.document import Stroke
from segapp.model.picture import Picture
from segapp.model.settings import PRESETS
from segapp.qt.canvas.layers import Layer, add_alpha
from segapp.qt.session import answer_service
from segapp.qt.session.session import LivePreview, Session


class SteppedJobs(QObject):
    """Jobs without a thread: an item arrives when the test says so."""

    def __init__(self, name, parent=None):
        super().__init__(parent)
        self._items = None

    @property
    def busy(self):
        return self._items is not None

    def run(self, work, on_item, on_error, on_end=lambda: None):
        self.cancel()
        self._items, self._on_item, self._on_end = work(), on_item, on_end

    def cancel(self):
        if self._items is not None:
            self._items = None
            self._on_end()

    def close(self, timeout=None):
        self.cancel()
        return True

    def step(self):
        item = next(self._items, None)
        if item is None:
            self.cancel()
        else:
            self._on_item(item)


RGB = np.zeros((12, 16, 3), np.uint8)
RGB[:, :8], RGB[:, 8:] = (200, 40, 40), (40, 40, 200)


class AnySequence(RuleBasedStateMachine):
    segmenter: ClassVar[type]

    def __init__(self):
        super().__init__()
        self.session = Session(self.segmenter)
        picture = Picture(RGB, None, Path("picture.png"), "0", "")
        self.mark = None  # the stroke in the making
        self.live_preview = LivePreview(
            self.session,
            lambda: self.mark,
            lambda mark: self.session.document.with_stroke(mark),
        )
        self.session.open(picture, Layer(add_alpha(RGB)), PictureState(picture.path, "0"))
        self.paint(0, 3, 6)
        self.paint(1, 12, 6)
        self.let_all_arrive()

    @property
    def answers(self):
        return self.session.answers

    @rule(
        label=st.sampled_from([0, 1, None]),
        x=st.integers(0, 15),
        y=st.integers(0, 11),
    )
    def paint(self, label, x, y):
        self.session.add_stroke(Stroke(((x + 0.5, y + 0.5),), 2.0, label))

    @rule(
        label=st.sampled_from([0, 1, None]),
        points=st.lists(st.tuples(st.integers(0, 15), st.integers(0, 11)), min_size=1, max_size=4),
    )
    def draw_on(self, label, points):
        self.mark = Stroke(tuple((x + 0.5, y + 0.5) for x, y in points), 2.0, label)
        self.live_preview.update()

    @precondition(lambda self: self.mark is not None)
    @rule()
    def lift_the_brush(self):
        mark, self.mark = self.mark, None
        self.session.add_stroke(mark)

    @precondition(lambda self: self.mark is not None)
    @rule()
    def drop_the_stroke(self):
        self.mark = None
        self.live_preview.discard()

    @rule()
    def undo(self):
        self.session.undo()

    @rule()
    def redo(self):
        self.session.redo()

    @rule(index=st.integers(0, 1), name=st.sampled_from(["background", "cat", "x"]))
    def rename(self, index, name):
        info = self.session.document.classes[index]
        changed = type(info)(name, info.colour)
        self.session.edit("naming", self.session.document.with_class_changed(index, changed))

    @rule(name=st.sampled_from(sorted(PRESETS)))
    def choose_settings(self, name):
        self.session.set_settings(PRESETS[name])

    @rule(live=st.booleans())
    def set_live(self, live):
        self.answers.set_live(live)

    @rule()
    def update_now(self):
        self.answers.update_now()

    @rule()
    def stop(self):
        self.answers.stop()

    @precondition(lambda self: self.answers._jobs.busy)
    @rule(steps=st.integers(1, 4))
    def let_arrive(self, steps):
        while steps and self.answers._jobs.busy:
            self.answers._jobs.step()
            steps -= 1

    @precondition(lambda self: self.answers._jobs.busy)
    @rule()
    def let_all_arrive(self):
        while self.answers._jobs.busy:
            self.answers._jobs.step()

    @invariant()
    def the_answer_is_what_a_fresh_segmenter_gives(self):
        answer = self.answers.answer
        assert self.answers.is_current == (answer is not None)
        if self.answers.progress.stage is Stage.FOLLOWING:
            assert self.mark is not None
        elif answer is None:
            assert self.answers.progress.stage is not Stage.CURRENT
        if answer is None:
            return
        session = self.session
        fresh = final_answer(self.segmenter(RGB).updates(session.document, session.settings))
        np.testing.assert_array_equal(answer.labelling.labels, fresh.labelling.labels)
        if not self.answers._jobs.busy and self.mark is None:
            assert self.answers.shown is answer.labelling
            assert self.answers.progress.stage is Stage.CURRENT


@pytest.mark.slow
def test_answers_for_export_equal_those_of_a_fresh_segmenter(qapp, quick_segmenter, monkeypatch):
    class NamesCount(quick_segmenter):
        """As the real clean-up does, treat the background, which goes by its name, apart."""

        def _labelling(self, document, marks, present):
            made = super()._labelling(document, marks, present)
            labels = made.labels.copy()
            labels[0, 0] = document.background
            return type(made)(labels, made.margin, made.codes, made.n_classes, made.n_bits)

    monkeypatch.setattr(answer_service, "Jobs", SteppedJobs)
    AnySequence.segmenter = NamesCount
    case = AnySequence.TestCase()
    case.settings = profile(max_examples=200, stateful_step_count=20, deadline=None)
    case.runTest()
