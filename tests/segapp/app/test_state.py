from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from segapp.app.state import Content, History, PictureState
from segapp.io.project import ProjectLocation
from segapp.model.document import Document, Stroke
from segapp.model.settings import DEFAULT_SETTINGS, PRESETS
from tests.segapp.strategies import strokes

DOT = Stroke(((3.5, 2.5),), 2.0, 0)


class HistoryMachine(RuleBasedStateMachine):
    """Undo and redo against a plain list of contents with a cursor."""

    def __init__(self):
        super().__init__()
        self.history = History()
        self.contents = [Content()]
        self.names = []
        self.at = 0

    def edit(self, name, content):
        if content != self.contents[self.at]:
            self.names[self.at :] = [name]
            self.contents[self.at + 1 :] = [content]
            self.at += 1
        self.history = self.history.edit(name, content)

    @rule(stroke=strokes(), name=st.text(max_size=5))
    def paint(self, stroke, name):
        present = self.history.present
        self.edit(name, replace(present, document=present.document.with_stroke(stroke)))

    @rule()
    def clear(self):
        present = self.history.present
        self.edit("clear", replace(present, document=present.document.without_marks()))

    @rule(preset=st.sampled_from(sorted(PRESETS)))
    def choose_settings(self, preset):
        self.edit(preset, replace(self.history.present, settings=PRESETS[preset]))

    @rule()
    def undo(self):
        self.history = self.history.undo()
        self.at = max(self.at - 1, 0)

    @rule()
    def redo(self):
        self.history = self.history.redo()
        self.at = min(self.at + 1, len(self.contents) - 1)

    @invariant()
    def agrees(self):
        assert self.history.present == self.contents[self.at]
        assert self.history.undo_name == (self.names[self.at - 1] if self.at else None)
        more = self.at < len(self.contents) - 1
        assert self.history.redo_name == (self.names[self.at] if more else None)


HistoryMachine.TestCase.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
TestHistory = HistoryMachine.TestCase


@pytest.mark.parametrize("strokes", [(), (DOT,)])
def test_undo_after_a_project_brings_back_strokes_and_settings(strokes):
    own = PictureState(Path("cat.png"), "0").with_settings("settings", PRESETS["alike"])
    project = Content(Document(strokes=strokes), PRESETS["paper"])
    opened = own.with_project("opening", project, ProjectLocation(Path("cat.segapp")))
    assert (opened.content, opened.unsaved) == (project, False)
    assert (opened.undo().content, opened.undo().unsaved) == (own.content, True)
    assert opened.undo().redo() == opened


def test_steps_of_one_number_are_one_edit_and_of_two_numbers_are_two():
    history = History()
    for smoothness in (31.0, 32.0, 33.0):
        changed = replace(DEFAULT_SETTINGS, smoothness=smoothness)
        history = history.with_settings("settings", changed)
    assert history.past.following is None
    history = history.with_settings("settings", replace(changed, bits=8))
    assert history.past.following.following is None
    assert history.undo().present.settings == changed
    assert history.undo().undo().present == Content()


def test_a_number_turned_back_is_no_edit_and_one_after_a_stroke_is_its_own():
    up = replace(DEFAULT_SETTINGS, bits=6)
    history = History().with_settings("settings", up)
    assert history.with_settings("settings", DEFAULT_SETTINGS) == History()
    stroked = Content(Document(strokes=(DOT,)), up)
    history = history.edit("stroke", stroked).with_settings("settings", replace(up, bits=7))
    assert history.undo().present == stroked
