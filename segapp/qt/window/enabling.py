"""Which commands can be used now, and what undo would take back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segapp.qt.session.progress import Stage
from segapp.values.document import MOST_CLASSES

if TYPE_CHECKING:
    from segapp.qt.actions.actions import Actions
    from segapp.qt.files.files import Files
    from segapp.qt.session.session import Session


def enable_commands(actions: Actions, session: Session, files: Files) -> None:
    """Bring the commands to the state of the session and of the folder."""
    state, answers = session.state, session.answers
    is_open = state is not None
    actions.enable("save", "save_as", "export", "update", when=is_open)
    actions.enable("import_strokes", "import_mask", when=is_open)
    full = len(session.document.classes) >= MOST_CLASSES
    actions.enable("add_class", when=is_open and not full)
    reason = actions.tr("{} classes are all there can be.").format(MOST_CLASSES)
    actions.explain("add_class", reason if full else "")
    actions.enable("zoom_in", "zoom_out", "fit", "actual_size", "apply_model", when=is_open)
    actions.enable("levels", when=is_open)
    actions.enable("view_components", when=answers.encoded is not None)
    actions.enable("copy_picture", when=is_open)
    actions.enable("stop", when=answers.progress.stage is Stage.RUNNING)
    actions.enable("spot", when=answers.shown is not None)
    actions.enable("copy_mask", "copy_cutout", "save_model", when=answers.is_current)
    actions.enable("lock_class", "lock_part", when=answers.is_current)
    actions.enable("drop_retouches", when=bool(session.document.retouches))
    actions.enable("clear", "learn_anew", when=bool(session.document.strokes))
    place = files.place_in_folder()
    within = place is not None and is_open
    actions.enable("done", "next_undone", "carry_over", "apply_to_undone", when=within)
    listed = within and files.work.root is not None
    actions.enable("share_classes", "export_folder", when=listed)
    actions.enable("take_classes", when=listed and files.work.classes is not None)
    actions.enable("import_classes", "background_class", when=is_open)
    actions.enable("rename_class", "recolour_class", when=is_open)
    if not is_open:  # else the list of classes knows which of them can be moved
        actions.enable("class_up", "class_down", when=False)
    actions.enable("previous", when=place is not None and place > 0)
    actions.enable("next", when=place is not None and place + 1 < len(files.folder))
    undone = redone = None
    if state is not None:
        change = actions.tr("change of settings")
        undone = change if state.undoes_settings else state.history.undo_name
        redone = change if state.redoes_settings else state.history.redo_name
    _name(actions, "undo", actions.tr("&Undo"), undone)
    _name(actions, "redo", actions.tr("&Redo"), redone)


def _name(actions: Actions, name: str, verb: str, what: str | None) -> None:
    actions[name].setText(actions.tr("{} {}").format(verb, what) if what else verb)
    actions[name].setEnabled(what is not None)
