"""Random users, as Hypothesis state machines on the session and on the window.

While no job runs, the result shown equals that of a new learner on the same strokes, and the
unsaved documents are those that differ from the disk.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
import traceback
from contextlib import ExitStack
from dataclasses import replace
from itertools import count
from pathlib import Path
from unittest import mock

import numpy as np
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from segapp.app.state import Content, PictureState, Stage
from segapp.io.images import load_image, load_indices
from segapp.io.project import Project, ProjectLocation, load_project, save_project
from segapp.model.answer import Answer, NotEnoughStrokes, final_answer
from segapp.model.classes import ClassInfo
from segapp.model.document import Document, Stroke
from segapp.model.settings import DEFAULT_SETTINGS
from segapp.qt.canvas.brush import Tool
from segapp.qt.canvas.layers import Layer, add_alpha
from segapp.qt.dialogs.export_dialog import ExportDialog
from segapp.qt.files import file_dialogs
from segapp.qt.files.file_dialogs import Conflict, Decision, Unsaved
from segapp.qt.files.preferences import Preferences
from segapp.qt.session.session import Session
from segapp.qt.window import main_window, startup
from segapp.qt.window.startup import build_window
from tests.campaign.folders import draw, own_folders
from tests.campaign.processor import ran_and_waited, taken
from tests.campaign.results import Failure, Row
from tests.segapp.qt.conftest import QuickSegmenter

PATIENCE = 20.0  # seconds until jobs must have ended
done = count()
places = st.tuples(st.integers(0, 47), st.integers(0, 35))
buttons = st.sampled_from([Qt.MouseButton.LeftButton, Qt.MouseButton.RightButton])


class Learner(QuickSegmenter):
    """Segmenter by nearest colour, with a pixel that encodes the settings."""

    def updates(self, document, chosen):
        for update in super().updates(document, chosen):
            if len(document.strokes) % 5 == 4:
                time.sleep(0.004)
            if isinstance(update, Answer):
                labels = update.labelling.labels.copy()
                labels[-1, -1] = chosen.bits % len(document.classes)
                yield replace(update, labelling=replace(update.labelling, labels=labels))
            else:
                yield update


def expected(rgb, content):
    """Return the labels that a fresh learner gives, None when the strokes are too few."""
    try:
        return final_answer(
            Learner(rgb).updates(content.document, content.settings)
        ).labelling.labels
    except NotEnoughStrokes:
        return None


def wait(condition, what):
    """Process events until a condition holds; other programs' time does not count."""
    began, known = time.monotonic(), ran_and_waited(os.getpid())
    until = began + PATIENCE
    while not condition():
        QApplication.processEvents()
        QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        time.sleep(0.001)
        if time.monotonic() > until:
            spent = [
                new - old for new, old in zip(ran_and_waited(os.getpid()), known, strict=True)
            ]
            theirs = taken(time.monotonic() - began, *spent)
            assert time.monotonic() < until + theirs, f"waited in vain for {what}"


def check_answer(session):
    """Bring the answer up to date and compare it with a fresh learner's."""
    answers = session.answers
    wait(lambda: not answers._jobs.busy, "the learner")
    if session.state is None:
        return
    assert answers.is_current == (answers.progress.stage is Stage.CURRENT)
    if not answers.is_current:
        answers.update_now()
        wait(lambda: not answers._jobs.busy, "the learner")
    wanted = expected(session.picture.rgb, session.state.content)
    if wanted is None:
        assert answers.answer is None
        assert answers.shown is None
    else:
        np.testing.assert_array_equal(answers.answer.labelling.labels, wanted)
        np.testing.assert_array_equal(answers.shown.labels, wanted)


def check_unsaved(session, *, changed_by_others=()):
    """Compare the marks of unsaved work with the disk."""
    for state in session._states.values():
        if state.location is None:
            assert state.unsaved or _is_untouched(state.document)
            continue
        if state.location.path in changed_by_others:
            continue
        project = load_project(state.location.path)
        assert state.unsaved == (state.content != Content(project.document, project.settings))


def _is_untouched(document):
    """Tell whether there is nothing but two classes, whose colours suit the picture."""
    classes = Document().classes
    if [info.name for info in document.classes] != [info.name for info in classes]:
        return False
    return replace(document, classes=classes) == Document()


class SessionUser(RuleBasedStateMachine):
    """Strokes, edits, pictures and savings, without a window."""

    def __init__(self):
        super().__init__()
        self.stack = ExitStack()
        self.folder = self.stack.enter_context(own_folders())
        self.images = [load_image(draw(self.folder / f"{i}.png", i)) for i in range(2)]
        self.session = Session(Learner)

    @initialize()
    def begin(self):
        self.open(0)

    @rule(which=st.integers(0, 1))
    def open(self, which):
        next(done)
        picture = self.images[which]
        state = self.session.state_of(picture.path) or PictureState(picture.path, picture.sha256)
        self.session.open(picture, Layer(add_alpha(picture.rgb)), state)

    @rule(start=places, end=places, label=st.integers(0, 4), erase=st.booleans())
    def stroke(self, start, end, label, erase):
        next(done)
        label %= len(self.session.document.classes)
        points = (tuple(map(float, start)), tuple(map(float, end)))
        self.session.add_stroke(Stroke(points, 3.0, None if erase and label else label))

    @rule(what=st.sampled_from(["undo", "undo", "redo", "clear"]))
    def history(self, what):
        next(done)
        getattr(self.session, what)()

    @rule(name=st.sampled_from(["background", "sky", "tree"]))
    def add_class(self, name):
        next(done)
        document = self.session.document
        if len(document.classes) < 5:
            self.session.edit("adding", document.with_class(ClassInfo(name, (1, 2, 3))))

    @rule(which=st.integers(0, 4), name=st.sampled_from(["background", "sky", "ground"]))
    def rename(self, which, name):
        next(done)
        document = self.session.document
        which %= len(document.classes)
        info = replace(document.classes[which], name=name)
        self.session.edit("renaming", document.with_class_changed(which, info))

    @rule(which=st.integers(0, 4))
    def delete_class(self, which):
        next(done)
        document = self.session.document
        if len(document.classes) > 2:
            self.session.edit("del", document.without_class(which % len(document.classes)))

    @rule(bits=st.integers(3, 7))
    def change_settings(self, bits):
        next(done)
        self.session.set_settings(replace(DEFAULT_SETTINGS, bits=bits))

    @rule(live=st.booleans())
    def set_live(self, live):
        next(done)
        self.session.answers.set_live(live)

    @rule(what=st.sampled_from(["stop", "update_now"]))
    def command(self, what):
        next(done)
        getattr(self.session.answers, what)()

    @rule(milliseconds=st.integers(0, 5))
    def let_time_pass(self, milliseconds):
        next(done)
        QTest.qWait(milliseconds)

    @rule()
    def save(self):
        next(done)
        state = self.session.state
        content, target = state.content, state.path.with_suffix(".segapp")
        save_project(target, Project(content.document, content.settings, state.path, "0"))
        self.session.mark_saved(state.path, content, ProjectLocation(target))

    @rule()
    def be_quiet(self):
        next(done)
        check_answer(self.session)
        check_unsaved(self.session)

    def teardown(self):
        try:
            check_answer(self.session)
            check_unsaved(self.session)
        finally:
            self.session.close()
            self.stack.close()


class WindowUser(RuleBasedStateMachine):
    """Mouse and commands on the real window, and files that others change."""

    def __init__(self):
        super().__init__()
        self.stack = ExitStack()
        self.folder = self.stack.enter_context(own_folders())
        self.images = [draw(self.folder / "pictures" / f"{i}.png", i) for i in range(3)]
        self.errors, self.complaints, self.foreign = [], [], set()
        self.conflict = Conflict.REPLACE
        self.roots = (self.folder / f"recovery {number}" for number in count())
        for module in (file_dialogs, startup, main_window):
            self.patch(module, "complain", lambda _, *told: self.complaints.append(told[0]))
        self.patch(file_dialogs, "ask_unsaved", lambda *_: Unsaved.DISCARD)
        self.patch(file_dialogs, "ask_project", lambda _, proposed: proposed)
        self.patch(file_dialogs, "ask_conflict", lambda *_: self.conflict)
        self.patch(file_dialogs, "ask_restore", self.restore_newest)
        self.patch(sys, "excepthook", self.note_error)
        self.root = next(self.roots)
        self.threads = set(threading.enumerate())  # that are not the window's
        self.window = self.make_window()

    def patch(self, target, name, value):
        self.stack.enter_context(mock.patch.object(target, name, value))

    def note_error(self, kind, error, trace):
        self.errors.append("".join(traceback.format_exception(kind, error, trace)))

    def make_window(self):
        window = build_window(Session(Learner), Preferences(), self.root)
        window.resize(640, 480)
        window.show()
        return window

    @staticmethod
    def restore_newest(_, offered):
        newest = {}
        for copy in offered:
            newest.setdefault(copy.state.path, copy)
        return Decision(restore=tuple(newest.values()))

    @property
    def session(self):
        return self.window.session

    @initialize()
    def begin(self):
        self.open(0)
        wait(lambda: self.session.state is not None, "the first picture")

    # What users do ------------------------------------------------------------------------

    @rule(which=st.integers(0, 2))
    def open(self, which):
        """Go to a picture; what follows may happen while it is being read."""
        next(done)
        self.window.files.open(self.images[which])

    @rule(start=places, end=places, button=buttons)
    def stroke(self, start, end, button):
        next(done)
        canvas = self.window.canvas
        origin = QPoint(canvas.width() // 2 - 48, canvas.height() // 2 - 36)
        before = len(self.session.document.strokes)
        from_, to = origin + 2 * QPoint(*start), origin + 2 * QPoint(*end)
        QTest.mousePress(canvas, button, pos=from_)
        QTest.mouseMove(canvas, to)
        QTest.mouseRelease(canvas, button, pos=to)
        assert len(self.session.document.strokes) >= before

    @rule(tool=st.sampled_from([Tool.BRUSH, Tool.ERASER]))
    def take(self, tool):
        next(done)
        self.window.commands[tool.value].trigger()

    @rule(
        name=st.sampled_from(
            ["undo", "redo", "undo", "clear", "stop", "update", "live", "add_class", "swap"]
        )
    )
    def command(self, name):
        next(done)
        if name != "add_class" or len(self.session.document.classes) < 5:
            self.window.commands[name].trigger()

    @rule(which=st.integers(0, 4))
    def delete_class(self, which):
        next(done)
        panel = self.window.class_panel
        panel.left_chosen.emit(which % len(self.session.document.classes))
        self.window.commands["delete_class"].trigger()

    @rule(which=st.integers(0, 4), name=st.sampled_from(["background", "sky", "ground", "é"]))
    def rename(self, which, name):
        next(done)
        self.window.class_panel.renamed.emit(which % len(self.session.document.classes), name)

    @rule(bits=st.integers(3, 7))
    def change_settings(self, bits):
        next(done)
        self.window.settings_panel.changed.emit(replace(DEFAULT_SETTINGS, bits=bits))

    @rule(milliseconds=st.integers(0, 8))
    def let_time_pass(self, milliseconds):
        next(done)
        QTest.qWait(milliseconds)

    @rule()
    def save(self):
        next(done)
        self.window.commands["save"].trigger()
        self.foreign.discard(self.session.state.location.path)

    @rule()
    def save_under_another_name(self):
        next(done)
        target = self.folder / "pictures" / f"{self.session.state.path.stem} other.segapp"
        with mock.patch.object(file_dialogs, "ask_project", return_value=target):
            self.window.commands["save_as"].trigger()
        self.foreign.discard(target)

    @rule(which=st.integers(0, 5))
    def open_project(self, which):
        """Read a project over whatever is there; undo must bring that back."""
        next(done)
        projects = sorted((self.folder / "pictures").glob("*.segapp"))
        if projects:
            target = projects[which % len(projects)]
            self.settle()
            image = load_project(target).image_path
            known = self.session.state_of(image)
            with_events = []
            self.window.files.opened.connect(with_events.append)
            self.window.files.open(target)
            wait(lambda: bool(with_events), "a project")
            self.window.files.opened.disconnect(with_events.append)
            assert not self.session.state.unsaved
            self.foreign.discard(target)
            if known is not None and known.document != self.session.document:
                self.window.commands["undo"].trigger()
                assert self.session.document == known.document
                self.window.commands["redo"].trigger()

    @rule(answer=st.sampled_from([Conflict.REPLACE, Conflict.CANCEL, Conflict.OPEN_THEIRS]))
    @precondition(lambda self: self.session.state is not None and self.session.state.location)
    def others_save(self, answer):
        """Change the project as another program would; answer the next save's question."""
        next(done)
        state = self.session.state
        unique = 5 + next(done) / 1000
        foreign = Document(strokes=(Stroke(((unique, 5.0),), 2.0, 0),))
        project = Project(foreign, state.settings, state.path, state.sha256)
        path = state.location.path
        save_project(path, project)
        self.foreign.add(path)
        self.conflict = answer
        self.window.commands["save"].trigger()
        kept = load_project(path).document == foreign
        assert kept == (answer is not Conflict.REPLACE or state.content.document == foreign)
        if answer is Conflict.REPLACE:
            self.foreign.discard(path)
        self.conflict = Conflict.REPLACE

    @rule()
    def export(self):
        next(done)
        self.settle()
        if not self.session.answers.is_current:
            return
        target = self.folder / "out" / "mask.png"
        target.parent.mkdir(exist_ok=True)
        self.window.commands["export"].trigger()
        (dialog,) = [each for each in self.window.findChildren(ExportDialog) if each.isVisible()]
        dialog._list.setCurrentRow(0)
        dialog._path.setText(str(target))
        dialog._path.textEdited.emit(str(target))
        wait(dialog._export.isEnabled, "the export")
        QTest.mouseClick(dialog._export, Qt.MouseButton.LeftButton)
        wait(lambda: not self.window.findChildren(ExportDialog), "the export's end")
        labels = self.session.answers.answer.labelling.labels
        values = load_indices(target).values
        for label in np.unique(labels):
            assert len(np.unique(values[labels == label])) == 1

    @rule()
    def be_quiet(self):
        next(done)
        self.check()

    @rule()
    def crash_and_restart(self):
        """Let a second program find the copies of the first one at some moment."""
        next(done)
        self.check()
        self.window.autosave.write_soon()
        self.wait_for_copies()
        before = {state.path: state.content for state in self.session.unsaved_states()}
        crashed, self.root = self.root, next(self.roots)
        if crashed.exists():
            shutil.copytree(crashed, self.root)
        path = self.session.state.path
        self.close()
        self.window = self.make_window()
        assert self.window.file_commands.offer_recovery() or not before
        # There may be more: strokes that a project had been opened over.
        after = {state.path: state.content for state in self.session.unsaved_states()}
        assert {path: after.get(path) for path in before} == before
        self.wait_for_copies()
        self.window.files.open(path)
        wait(lambda: self.session.state is not None, "a picture")

    # What must hold -----------------------------------------------------------------------

    def settle(self):
        window = self.window
        wait(lambda: not window.files._jobs.busy, "the reading")
        wait(lambda: not window.session.answers._jobs.busy, "the learner")
        wait(lambda: not window.labelling_view.busy, "the picture of the answer")

    def wait_for_copies(self):
        own = self.window.autosave
        wait(lambda: not own.busy, "the copies")

    def check(self):
        self.settle()
        check_answer(self.session)
        self.settle()
        check_unsaved(self.session, changed_by_others=self.foreign)
        assert self.window.isWindowModified() == self.session.state.unsaved
        assert not self.errors, self.errors[0]
        assert not self.complaints, self.complaints[0]

    def close(self):
        self.window.close()
        if not self.window.threads_ended:  # within a second, which others may have taken
            wait(lambda: self.threads.issuperset(threading.enumerate()), "the threads' end")
        self.window.deleteLater()
        QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)

    def teardown(self):
        try:
            self.check()
        finally:
            self.close()
            self.stack.close()
            QApplication.processEvents()


MACHINES = {"session": SessionUser, "window": WindowUser}
ACTIONS = 40  # of one user, at the most


def one(name, number, examples=5, *, shrink=False):
    """Let some users loose; the number decides what they do."""
    phases = [Phase.generate, Phase.shrink] if shrink else [Phase.generate]
    machine = seed(number)(type(name, (MACHINES[name],), {}))
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=ACTIONS,
            deadline=None,
            database=None,
            phases=phases,
            suppress_health_check=list(HealthCheck),
        ),
    )


def _told(error):
    """Say what failed: one that Hypothesis could not repeat hides within another."""
    errors = [error, *getattr(error, "exceptions", ())]
    notes = " ".join(getattr(error, "__notes__", ()))[-1500:]
    where = traceback.extract_tb(errors[-1].__traceback__)[-1]
    told = "; ".join(f"{type(each).__name__}: {each}" for each in errors)
    return f"{told} at {Path(where.filename).name}:{where.lineno} {notes}"


def run(first_seed, count, seconds=None):
    """Do at least ``count`` actions with each machine, or until ``seconds`` are over."""
    rows = []
    until = time.monotonic() + seconds if seconds else None
    for share, name in enumerate(MACHINES, 1):
        row = Row("users", f"actions on the {name}")
        rows.append(row)
        number = int(first_seed)
        half = None if until is None else until - seconds * (1 - share / len(MACHINES))
        while row.tried < count and (half is None or time.monotonic() < half):
            before = next(done)
            try:
                one(name, number)
            except Exception as error:  # noqa: BLE001 - all that may go wrong is the result
                row.failures.append(Failure(f"users:{name}:{number}", _told(error)))
            row.tried += next(done) - before - 1
            number += 1
    return rows
