"""Construction of the main window: connections, stored layout, first picture."""

from __future__ import annotations

import json
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from PySide6.QtCore import QByteArray, QRect, QTimer
from PySide6.QtGui import QGuiApplication, QIcon

from segapp.app.state import Content, Stage
from segapp.imaging.overlay import ViewMode
from segapp.model.settings import preset_of
from segapp.qt.canvas.brush import BrushUnit, Tool
from segapp.qt.canvas.viewport import ZOOM_STEP
from segapp.qt.dialogs.help import open_about, open_guide, open_problem_report, open_shortcuts
from segapp.qt.files.file_dialogs import complain
from segapp.qt.files.folder import filling
from segapp.qt.i18n import LANGUAGES
from segapp.qt.panels.encoder_panel import EncoderController
from segapp.qt.panels.levels_panel import LevelsCommands
from segapp.qt.panels.model_panel import ComparedAnswer
from segapp.qt.panels.setting_texts import preset_texts
from segapp.qt.window.file_commands import sample_images
from segapp.qt.window.main_window import MainWindow
from segapp.qt.window.theme import ThemeChoice

if TYPE_CHECKING:
    from pathlib import Path

    from PySide6.QtGui import QScreen

    from segapp.qt.files.preferences import Preferences
    from segapp.qt.session.session import Session

Kind = TypeVar("Kind", ThemeChoice, ViewMode, BrushUnit)

# Of the stored arrangement of docks and tool bars: Qt ignores another version's.
_VERSION = 2
# Logical pixels of a first window at most, and of its frame, whose size is unknown before.
_MAX_WIDTH, _MAX_HEIGHT, _FRAME = 1680, 1050, 40


def build_window(
    session: Session, preferences: Preferences, autosave_root: Path | None = None
) -> MainWindow:
    """Return a window on a session, without a picture and not yet shown."""
    window = MainWindow(session, preferences, autosave_root)
    session.setParent(window)  # whose connections would keep the closed window otherwise
    connect_window(window)
    restore_window(window)
    window.closing.connect(lambda: store_window(window))
    window.show_brush()
    window.refresh()
    return window


def open_initial(window: MainWindow, path: Path | None) -> None:
    """Open the work of a crash, or else a path, the last file, or a sample."""
    if window.file_commands.offer_recovery(path):
        return
    recent = [place for place in window.preferences.recent() if place.exists()]
    if path is not None:
        window.files.open(path)
    elif recent:
        window.files.open(recent[0])
    else:
        window.hint.begin()
        window.file_commands.open_sample()


def connect_window(window: MainWindow) -> None:
    """Connect the parts of a window."""
    _connect_session(window)
    _connect_canvas(window)
    _connect_actions(window)
    _connect_recent(window)
    _connect_log(window)
    _connect_look_inside(window)


def _connect_session(window: MainWindow) -> None:
    """Connect the session, the files and the messages of all parts."""
    session, files = window.session, window.files
    session.picture_changed.connect(window.show_picture)
    session.document_changed.connect(window.show_document)
    session.settings_changed.connect(lambda: window.settings_panel.show_settings(session.settings))
    session.settings_changed.connect(window.refresh)
    session.encoder.changed.connect(window.refresh)
    session.answers.answer_changed.connect(window.show_insight)
    session.answers.progress_changed.connect(window.show_progress)
    window.labelling_view.rendered.connect(window.show_labelling)
    window.settings_panel.changed.connect(session.set_settings)
    files.folder_changed.connect(window.show_folder)
    files.busy_changed.connect(window.show_loading)
    window.file_list.chosen.connect(files.open)
    window.welcome.chosen.connect(files.open)
    window.welcome.show_samples(sample_images())
    for part in (
        session.answers,
        session.picture_renderer,
        window.labelling_view,
        window.autosave,
    ):
        part.failed.connect(lambda text, details: complain(window, text, details))
    for message in (
        files.opened,
        files.passed_over,
        window.autosave.message,
        window.file_commands.message,
        window.answer_commands.message,
        window.mark_commands.message,
        window.measuring.message,
        window.truth_commands.message,
        window.stacks.message,
    ):
        message.connect(window.show_message)


def _connect_canvas(window: MainWindow) -> None:
    """Connect the canvas, the brush and the pointer."""
    session, canvas, viewport = window.session, window.canvas, window.canvas.viewport
    paint_box = window.class_panel.paint_box
    paint_box.radius_changed.connect(window.brush.set_radius)
    paint_box.unit_changed.connect(window.brush.set_unit)
    paint_box.answer.valueChanged.connect(lambda value: canvas.set_opacity(value / 100))
    paint_box.strokes.valueChanged.connect(lambda value: canvas.set_stroke_opacity(value / 100))
    window.brush.changed.connect(window.show_brush)
    proposing = window.proposing
    canvas.stroke_finished.connect(proposing.take)
    proposing.passed_on.connect(window.mark_commands.take)
    canvas.pointer_moved.connect(proposing.point)
    canvas.proposals_held.connect(proposing.hold)
    canvas.proposal_resized.connect(proposing.resize)
    session.document_changed.connect(proposing.reset)
    session.picture_changed.connect(proposing.reset)
    window.closing.connect(proposing.end)
    canvas.stroke_extended.connect(window.live_preview.update)
    canvas.stroke_cancelled.connect(window.live_preview.discard)
    canvas.fill_requested.connect(window.mark_commands.fill)
    canvas.explain_requested.connect(window.explaining.explain)
    window.brush.changed.connect(window.explaining.end)
    session.document_changed.connect(window.explaining.end)
    session.picture_changed.connect(window.explaining.end)
    canvas.radius_requested.connect(window.brush.set_radius)
    viewport.changed.connect(lambda: window.status.show_zoom(viewport.screen_scale))
    canvas.pointer_moved.connect(window.mark_commands.point)
    canvas.pointer_moved.connect(window.view_bar.codes.point_at)
    canvas.pointer_moved.connect(
        lambda at: window.status.show_pointer(
            at, viewport.image_size.width(), viewport.image_size.height(), session.picture
        )
    )


def _connect_views(window: MainWindow) -> None:
    """Apply the pictures' display settings to the thumbnails."""
    session, files, thumbnails = window.session, window.files, window.file_list.thumbnails

    def redraw_current() -> None:
        if session.picture is not None:
            thumbnails.show_as(session.picture.path, session.picture.display)

    files.folder.display_changed.connect(lambda: thumbnails.begin(files.workspace.folder))
    session.display_changed.connect(redraw_current)


def _connect_recent(window: MainWindow) -> None:
    """Show the recent files with thumbnails, on the welcome page and in the menu."""

    def show() -> None:
        window.welcome.show_recent(window.preferences.recent())
        if window.session.state is None:  # the welcome page is visible
            load_thumbnails()

    def load_thumbnails() -> None:
        for path in window.preferences.recent():
            show_thumbnail(path)

    def show_thumbnail(path: Path) -> None:
        thumbnail = window.thumbnails.of(path)
        if thumbnail is None:
            return
        icon = QIcon(filling(thumbnail.toImage(), window.devicePixelRatioF()))
        window.welcome.show_thumbnail(path, icon)
        entries = zip(window.preferences.recent(), window.menus.recent.actions(), strict=False)
        for recent, entry in entries:
            if recent == path:
                entry.setIcon(icon)

    window.thumbnails.arrived.connect(show_thumbnail)
    window.files.recent_changed.connect(show)
    window.menus.recent.aboutToShow.connect(load_thumbnails)
    show()


def _connect_look_inside(window: MainWindow) -> None:
    """Keep a reduced copy of each answer for comparison."""
    session, panel = window.session, window.model_panel

    def keep() -> None:
        answer, picture = session.answers.answer, session.picture
        if answer is None or answer.insight is None or picture is None:
            return
        if not panel.kept or panel.kept[-1].insight is not answer.insight:
            content = Content(session.document, session.settings)
            preset = preset_of(session.settings)
            title = preset_texts()[preset].label if preset else window.tr("Custom settings")
            count = len(content.document.strokes)
            text = window.tr("{}, 1 stroke") if count == 1 else window.tr("{}, {} strokes")
            name = text.format(title, count)
            panel.keep(ComparedAnswer.of(name, answer.insight, content, answer.labelling, picture))

    window.docks.inside.visibilityChanged.connect(panel.set_active)
    session.picture_changed.connect(panel.forget_kept)
    session.answers.answer_changed.connect(keep)
    panel.forget_kept()


def _connect_log(window: MainWindow) -> None:
    """Log messages and errors for a problem report."""
    answers, log = window.session.answers, window.log
    logging.getLogger("segapp").addHandler(log)
    window.closing.connect(lambda: logging.getLogger("segapp").removeHandler(log))
    for message in (
        window.files.opened,
        window.file_commands.message,
        window.answer_commands.message,
    ):
        message.connect(log.note)
    for failed in (
        answers.failed,
        window.labelling_view.failed,
        window.autosave.failed,
        window.files.failed,
    ):
        failed.connect(lambda text, details: log.note(f"{text}\n{details}", logging.ERROR))

    def note_stage() -> None:
        progress = answers.progress
        if progress.stage not in (Stage.EMPTY, Stage.RUNNING, Stage.FOLLOWING):
            log.note(f"{progress.stage.value}: {progress.text}")

    answers.progress_changed.connect(note_stage)


def _connect_actions(window: MainWindow) -> None:
    """Connect the commands."""
    actions, canvas, session = window.commands, window.canvas, window.session
    window.file_commands.connect_actions(actions, window.menus.recent, window.menus.samples)
    window.class_commands.connect_actions(actions)
    window.answer_commands.connect_actions(actions)
    window.mark_commands.connect_actions(actions)
    window.object_commands.connect_actions(actions)
    window.object_commands.message.connect(window.show_message)
    window.cutout_commands.connect_actions(actions)
    window.truth_commands.connect_actions(actions)
    window.file_commands.choices_changed.connect(window.cutout_commands.show_choices)
    window.folder.connect(actions, window.show_message, window.show_written)
    window.file_commands.written.connect(window.show_written)
    window.measuring.written.connect(window.show_written)
    levels = LevelsCommands(session, window.files, canvas, window.status.chip, window)
    levels.channels_offered.connect(window.settings_panel.offer_channels)
    levels.connect_actions(actions)
    _connect_views(window)
    encoders = EncoderController(session, window.files, window.settings_panel.encoder, canvas)
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
        "update": session.update_now,
        "learn_anew": session.learn_anew,
        "stop": session.stop,
        "zoom_in": lambda: canvas.viewport.zoom(ZOOM_STEP),
        "zoom_out": lambda: canvas.viewport.zoom(1 / ZOOM_STEP),
        "fit": canvas.viewport.fit,
        "actual_size": canvas.viewport.show_actual_size,
        "guide": lambda: open_guide(window),
        "shortcuts": lambda: open_shortcuts(window, actions, window.shortcuts),
        "problem": lambda: open_problem_report(window, session, window.log.text),
        "about": lambda: open_about(window),
    }.items():
        actions[name].triggered.connect(lambda _=False, c=call: c())
    window.stacks.connect_actions()
    actions["live"].toggled.connect(session.answers.set_live)
    actions["keep_others"].toggled.connect(window.brush.set_keep_others)
    actions["propose"].toggled.connect(window.proposing.set_on)
    actions["show_strokes"].toggled.connect(canvas.set_strokes_shown)
    actions["show_scale_bar"].toggled.connect(canvas.set_scale_bar_shown)
    actions["hide_answer"].toggled.connect(canvas.set_labelling_hidden)
    actions["full_screen"].toggled.connect(window.set_full_screen)
    actions["hide_panels"].toggled.connect(lambda on: window.docks.set_hidden(window, hidden=on))
    canvas.panels_requested.connect(actions["hide_panels"].trigger)


def _choose_language(window: MainWindow, language: str) -> None:
    window.preferences.set("language", language)
    window.show_message(window.tr("The window uses this language from the next start on"))


def store_window(window: MainWindow) -> None:
    """Store the arrangement, theme, brush and switches."""
    preferences = window.preferences
    window.commands["hide_panels"].setChecked(False)
    geometry = bytes(window.saveGeometry().data())
    preferences.set_state(f"window/geometry/{_name(window.screen())}", geometry)
    preferences.set("window/screen", _name(window.screen()))
    preferences.set_state("window/state", bytes(window.saveState(_VERSION).data()))
    preferences.set("theme", window.theme.choice.value)
    paint_box = window.class_panel.paint_box
    preferences.set("brush/radius", window.brush.brush.radius)
    preferences.set("brush/unit", window.brush.brush.unit.value)
    preferences.set("view/opacity", paint_box.answer.value())
    preferences.set("view/stroke_opacity", paint_box.strokes.value())
    preferences.set("view/mode", window.labelling_view.mode.value)
    preferences.set("answer/live", window.session.answers.live)
    preferences.set("folder/carry_over", window.folder.carry_over.on)
    preferences.set("answer/mark_spot", window.commands["mark_spot"].isChecked())
    preferences.set("answer/propose", window.commands["propose"].isChecked())
    preferences.set("answer/ring_known", window.answer_commands.ring_known)
    preferences.set("shortcuts", json.dumps(window.shortcuts.changes()))
    preferences.flush()


def restore_window(window: MainWindow) -> None:
    """Restore the stored state; an absent or invalid value gets its default."""
    preferences, actions = window.preferences, window.commands
    arranged = window.restoreState(QByteArray(preferences.state("window/state")), _VERSION)
    window.docks.files.hide()  # shown with a folder
    with suppress(ValueError):  # damaged ones are ignored
        window.shortcuts.take(json.loads(preferences.get("shortcuts", "{}")))
    choice = _enum_value(ThemeChoice, preferences.get("theme", ""), ThemeChoice.SYSTEM)
    actions[f"theme_{choice.value}"].setChecked(True)
    window.theme.choose(choice)
    if not arranged:
        # The least width of a panel is known when it is shown, in its theme.
        QTimer.singleShot(0, window, lambda: window.docks.set_default_sizes(window))
    language = preferences.get("language", "system")
    actions[f"language_{language if language in LANGUAGES else 'system'}"].setChecked(True)
    mode = _enum_value(ViewMode, preferences.get("view/mode", ""), ViewMode.OVERLAY)
    if mode.replaces_image:  # a session begins with the picture visible
        mode = ViewMode.OVERLAY
    actions[f"view_{mode.value}"].setChecked(True)
    window.labelling_view.set_mode(mode)
    unit = _enum_value(BrushUnit, preferences.get("brush/unit", ""), BrushUnit.SCREEN)
    window.brush.set_unit(unit)
    window.brush.set_radius(preferences.get("brush/radius", window.brush.brush.radius))
    paint_box = window.class_panel.paint_box
    paint_box.answer.setValue(preferences.get("view/opacity", 50))
    paint_box.strokes.setValue(preferences.get("view/stroke_opacity", 85))
    actions["brush"].setChecked(True)
    actions["show_strokes"].setChecked(True)
    actions["show_scale_bar"].setChecked(True)
    actions["mark_spot"].setChecked(preferences.get("answer/mark_spot", True))
    actions["propose"].setChecked(preferences.get("answer/propose", True))
    window.answer_commands.ring_known = preferences.get("answer/ring_known", False)
    actions["carry_over"].setChecked(preferences.get("folder/carry_over", False))
    live = preferences.get("answer/live", True)
    actions["live"].setChecked(live)
    window.session.answers.set_live(live)
    _restore_geometry(window)  # last, as theme and panels decide the least size


def _restore_geometry(window: MainWindow) -> None:
    """Restore the window's geometry on this screen, or fit it to the screen."""
    preferences = window.preferences
    last = preferences.get("window/screen", "")
    known = {_name(screen): screen for screen in QGuiApplication.screens()}
    screen = known.get(last) or QGuiApplication.primaryScreen()
    geometry = preferences.state(f"window/geometry/{_name(screen)}")
    if not geometry or not window.restoreGeometry(QByteArray(geometry)):
        window.setGeometry(default_geometry(screen.availableGeometry()))
    elif not (window.isMaximized() or window.isFullScreen()):
        window.setGeometry(window.geometry().intersected(screen.availableGeometry()))


def default_geometry(available: QRect) -> QRect:
    """Return the geometry of a first window, centred on a screen."""
    width = min(available.width() - _FRAME, _MAX_WIDTH)
    height = min(available.height() - _FRAME, _MAX_HEIGHT)
    place = QRect(0, 0, width, height)
    place.moveCenter(available.center())
    return place


def _name(screen: QScreen) -> str:
    """Return a key of name and size, as names of screens are not unique."""
    size = screen.geometry()
    return f"{screen.name() or 'screen'}-{size.width()}x{size.height()}".replace("/", "_")


def _enum_value(kind: type[Kind], value: str, default: Kind) -> Kind:
    return kind(value) if value in {member.value for member in kind} else default
