"""Which signal goes where: the window's parts, connected."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from PySide6.QtGui import QIcon

from segapp.qt.canvas.brush import Tool
from segapp.qt.canvas.viewport import ZOOM_STEP
from segapp.qt.files.file_dialogs import complain
from segapp.qt.files.thumbnails import filling
from segapp.qt.language import LANGUAGES
from segapp.qt.panels.compared_answer import ComparedAnswer
from segapp.qt.panels.setting_texts import preset_texts
from segapp.qt.session.progress import Stage
from segapp.qt.window.encoder_parts import EncoderParts
from segapp.qt.window.file_commands import sample_images
from segapp.qt.window.help import open_about, open_problem_report, open_shortcuts
from segapp.qt.window.levels_commands import LevelsCommands
from segapp.qt.window.theme import ThemeChoice
from segapp.values.overlay import ViewMode
from segapp.values.settings import preset_of

if TYPE_CHECKING:
    from pathlib import Path

    from segapp.qt.window.main_window import MainWindow


def connect_window(window: MainWindow) -> None:
    """Connect all parts of a window that has been built."""
    _connect_session(window)
    _connect_actions(window)
    _connect_recent(window)
    _connect_log(window)
    _connect_look_inside(window)


def _connect_session(window: MainWindow) -> None:
    """Let every part follow the session, and the session the hand."""
    session, canvas = window.session, window.canvas
    session.picture_changed.connect(window.show_picture)
    session.document_changed.connect(window.show_document)
    session.settings_changed.connect(lambda: window.settings_panel.show_settings(session.settings))
    session.settings_changed.connect(window.show_state)
    session.answers.answer_changed.connect(window.show_insight)
    session.answers.progress_changed.connect(window.show_progress)
    session.answers.failed.connect(lambda *told: complain(window, *told))
    window.labelling_view.failed.connect(lambda *told: complain(window, *told))
    window.autosave.failed.connect(lambda *told: complain(window, *told))
    window.autosave.said.connect(window.say)
    window.labelling_view.rendered.connect(window.show_labelling)
    window.files.opened.connect(window.say)
    window.files.folder_changed.connect(window.show_folder)
    window.files.busy_changed.connect(window.show_reading)
    window.file_list.chosen.connect(window.files.open)
    window.files.passed_over.connect(window.say)
    window.welcome.chosen.connect(window.files.open)
    window.welcome.show_samples(sample_images())
    window.file_commands.said.connect(window.say)
    window.answer_commands.said.connect(window.say)
    window.mark_commands.said.connect(window.say)
    window.measuring.said.connect(window.say)
    window.settings_panel.changed.connect(session.set_settings)
    window.class_panel.paint_box.radius_changed.connect(window.brush.set_radius)
    window.class_panel.paint_box.unit_changed.connect(window.brush.set_unit)
    window.brush.changed.connect(window.show_brush)
    canvas.stroke_finished.connect(window.mark_commands.take)
    canvas.fill_wanted.connect(window.mark_commands.fill)
    canvas.pointer_moved.connect(window.mark_commands.point)
    canvas.stroke_grew.connect(window.follower.look)
    canvas.stroke_dropped.connect(window.follower.forget)
    canvas.radius_wanted.connect(window.brush.set_radius)
    canvas.viewport.changed.connect(lambda: window.status.show_zoom(canvas.viewport.screen_scale))
    canvas.pointer_moved.connect(
        lambda at: window.status.show_place(
            at,
            canvas.viewport.image_size.width(),
            canvas.viewport.image_size.height(),
            session.picture,
        )
    )
    canvas.pointer_moved.connect(window.legend.point_at)
    paint_box = window.class_panel.paint_box
    paint_box.answer.valueChanged.connect(lambda value: canvas.set_opacity(value / 100))
    paint_box.strokes.valueChanged.connect(lambda value: canvas.set_stroke_opacity(value / 100))


def _connect_views(window: MainWindow) -> None:
    """Let thumbnails look as the pictures do."""
    session, files, thumbnails = window.session, window.files, window.file_list.thumbnails

    def show_open_one() -> None:
        if session.picture is not None:
            thumbnails.show_as(session.picture.path, session.picture.showing)

    files.start.showing_changed.connect(lambda: thumbnails.begin(files.work.place))
    session.shown_anew.connect(show_open_one)


def _connect_recent(window: MainWindow) -> None:
    """Offer the recent files with their thumbnails, in the invitation and in the menu."""

    def show() -> None:
        window.welcome.show_recent(window.preferences.recent())
        if window.session.state is None:  # else nobody sees them
            look()

    def look() -> None:
        for path in window.preferences.recent():
            show_thumbnail(path)

    def show_thumbnail(path: Path) -> None:
        drawn = window.thumbnails.of(path)
        if drawn is None:
            return
        icon = QIcon(filling(drawn.toImage(), window.devicePixelRatioF()))
        window.welcome.show_thumbnail(path, icon)
        entries = zip(window.preferences.recent(), window.menus.recent.actions(), strict=False)
        for recent, entry in entries:
            if recent == path:
                entry.setIcon(icon)

    window.thumbnails.arrived.connect(show_thumbnail)
    window.files.recent_changed.connect(show)
    window.menus.recent.aboutToShow.connect(look)
    show()


def _connect_look_inside(window: MainWindow) -> None:
    """Look inside the last answer, and keep each, small, to be compared with the others."""
    session, panel = window.session, window.model_panel

    def keep() -> None:
        answer, picture = session.answers.answer, session.picture
        if answer is None or answer.insight is None or picture is None:
            return
        if not panel.kept or panel.kept[-1].insight is not answer.insight:
            document = session.document
            way = preset_of(session.settings)
            called = preset_texts()[way].label if way else window.tr("Settings of your own")
            name = window.tr("{}, {} strokes").format(called, len(document.strokes))
            panel.keep(
                ComparedAnswer.of(
                    name, answer.insight, document.classes, answer.labelling, picture
                )
            )

    window.docks.inside.visibilityChanged.connect(panel.look)
    session.picture_changed.connect(panel.forget_kept)
    session.answers.answer_changed.connect(keep)
    panel.forget_kept()


def _connect_log(window: MainWindow) -> None:
    """Note what happens, for a report of a problem."""
    answers, log = window.session.answers, window.log
    logging.getLogger("segapp").addHandler(log)
    window.closing.connect(lambda: logging.getLogger("segapp").removeHandler(log))
    for said in (window.files.opened, window.file_commands.said, window.answer_commands.said):
        said.connect(log.note)
    for failed in (
        answers.failed,
        window.labelling_view.failed,
        window.autosave.failed,
        window.files.failed,
    ):
        failed.connect(lambda told, details: log.note(f"{told}\n{details}", logging.ERROR))

    def note_stage() -> None:
        progress = answers.progress
        if progress.stage not in (Stage.EMPTY, Stage.RUNNING, Stage.FOLLOWING):
            log.note(f"{progress.stage.value}: {progress.text}")

    answers.progress_changed.connect(note_stage)


def _connect_actions(window: MainWindow) -> None:
    """Let every command do what it says."""
    actions, canvas, session = window.commands, window.canvas, window.session
    window.file_commands.connect_actions(actions, window.menus.recent, window.menus.samples)
    window.class_commands.connect_actions(actions)
    window.answer_commands.connect_actions(actions)
    window.mark_commands.connect_actions(actions)
    window.folder.connect(actions, window.say)
    levels = LevelsCommands(session, window.files, canvas, window.status.chip, window)
    levels.channels_offered.connect(window.settings_panel.offer_channels)
    levels.connect_actions(actions)
    _connect_views(window)
    session.rendering.failed.connect(lambda *told: complain(window, *told))
    encoders = EncoderParts(session, window.files, window.settings_panel.encoder, canvas)
    encoders.connect_actions(actions)
    window.closing.connect(encoders.end)
    for tool in Tool:
        actions[tool.value].triggered.connect(lambda _=False, t=tool: window.brush.set_tool(t))
    for mode in ViewMode:
        actions[f"view_{mode.value}"].triggered.connect(
            lambda _=False, m=mode: window.labelling_view.set_mode(m)
        )
    for choice in ThemeChoice:
        actions[f"theme_{choice.value}"].triggered.connect(
            lambda _=False, c=choice: window.theme.choose(c)
        )
    for language in ("system", *LANGUAGES):
        actions[f"language_{language}"].triggered.connect(
            lambda _=False, chosen=language: _choose_language(window, chosen)
        )
    window.theme.changed.connect(lambda: actions.colour_icons(window.theme.palette))
    for name, call in {
        "quit": window.close,
        "undo": session.undo,
        "redo": session.redo,
        "clear": session.clear,
        "larger": lambda: window.brush.step_radius(1),
        "smaller": lambda: window.brush.step_radius(-1),
        "update": session.answers.update_now,
        "learn_anew": session.learn_anew,
        "stop": session.answers.stop,
        "zoom_in": lambda: canvas.viewport.zoom(ZOOM_STEP),
        "zoom_out": lambda: canvas.viewport.zoom(1 / ZOOM_STEP),
        "fit": canvas.viewport.fit,
        "actual_size": canvas.viewport.show_actual_size,
        "shortcuts": lambda: open_shortcuts(window, actions, window.shortcuts),
        "problem": lambda: open_problem_report(window, session, window.log.text),
        "about": lambda: open_about(window),
    }.items():
        actions[name].triggered.connect(lambda _=False, c=call: c())
    actions["live"].toggled.connect(session.answers.set_live)
    actions["keep_others"].toggled.connect(window.brush.set_keep_others)
    actions["show_strokes"].toggled.connect(canvas.set_strokes_shown)
    actions["hide_answer"].toggled.connect(canvas.set_labelling_hidden)
    actions["full_screen"].toggled.connect(window.set_full_screen)


def _choose_language(window: MainWindow, language: str) -> None:
    window.preferences.set("language", language)
    window.say(window.tr("The window speaks this language from the next start on"))
