"""Which signal goes where: the window's parts, connected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segapp.qt.canvas.brush import Tool
from segapp.qt.canvas.viewport import ZOOM_STEP
from segapp.qt.files.file_dialogs import complain
from segapp.qt.window.file_commands import sample_images
from segapp.qt.window.help import open_about, open_shortcuts
from segapp.qt.window.theme import ThemeChoice
from segapp.values.overlay import ViewMode

if TYPE_CHECKING:
    from segapp.qt.window.main_window import MainWindow


def connect_window(window: MainWindow) -> None:
    """Connect all parts of a window that has been built."""
    _connect_session(window)
    _connect_actions(window)


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
    window.welcome.show_recent(window.preferences.recent())
    window.files.recent_changed.connect(
        lambda: window.welcome.show_recent(window.preferences.recent())
    )
    window.file_commands.said.connect(window.say)
    window.answer_commands.said.connect(window.say)
    window.settings_panel.changed.connect(session.set_settings)
    window.class_panel.paint_box.radius_changed.connect(window.brush.set_radius)
    window.class_panel.paint_box.unit_changed.connect(window.brush.set_unit)
    window.brush.changed.connect(window.show_brush)
    canvas.stroke_finished.connect(session.add_stroke)
    canvas.radius_wanted.connect(window.brush.set_radius)
    canvas.viewport.changed.connect(lambda: window.status.show_zoom(canvas.viewport.screen_scale))
    canvas.pointer_moved.connect(
        lambda at: window.status.show_place(
            at, canvas.viewport.image_size.width(), canvas.viewport.image_size.height()
        )
    )
    canvas.pointer_moved.connect(window.legend.point_at)
    paint_box = window.class_panel.paint_box
    paint_box.answer.valueChanged.connect(lambda value: canvas.set_opacity(value / 100))
    paint_box.strokes.valueChanged.connect(lambda value: canvas.set_stroke_opacity(value / 100))


def _connect_actions(window: MainWindow) -> None:
    """Let every command do what it says."""
    actions, canvas, session = window.commands, window.canvas, window.session
    window.file_commands.connect_actions(actions, window.menus.recent, window.menus.samples)
    window.class_commands.connect_actions(actions)
    window.answer_commands.connect_actions(actions)
    window.folder.connect(actions, window.say)
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
        "shortcuts": lambda: open_shortcuts(window, actions),
        "about": lambda: open_about(window),
    }.items():
        actions[name].triggered.connect(lambda _=False, c=call: c())
    actions["live"].toggled.connect(session.answers.set_live)
    actions["keep_others"].toggled.connect(window.brush.set_keep_others)
    actions["show_strokes"].toggled.connect(canvas.set_strokes_shown)
    actions["hide_answer"].toggled.connect(canvas.set_labelling_hidden)
    actions["full_screen"].toggled.connect(window.set_full_screen)
