"""Commands on the answer: copy, go to a spot, models, measures."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPointF, QRectF, Signal
from PySide6.QtGui import QGuiApplication, QImage

from segapp.app.project_store import saving_folder
from segapp.app.result import SegmentationModel
from segapp.app.segmenter import Segmenter
from segapp.engine.loading import MODEL_SUFFIX
from segapp.imaging.overlay import mask
from segapp.io.export.formats import DEFAULT_EXPORT, formats
from segapp.io.export.rasters import (
    backdrop_pixels,
    before_backdrop,
    matte_steps,
    object_pixels,
    straight_cutout,
)
from segapp.io.export.tables import columns, measure_labelling, rows
from segapp.io.folder_files import write_scale
from segapp.io.masks import add_strokes, load_strokes
from segapp.io.pages import page_file
from segapp.model.document import Document
from segapp.model.labelling import InitialLabels
from segapp.model.picture import PIXELS
from segapp.model.validation import Message, SegappError, sanitize, sentence
from segapp.qt.canvas.layers import add_alpha, qimage_view
from segapp.qt.files import file_dialogs
from segapp.qt.files.preferences import opening_folder, remembered_choices
from segapp.qt.i18n import translate
from segapp.qt.panels.measures_panel import MeasuresPanel
from segapp.qt.session.jobs import Jobs, details_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from PySide6.QtWidgets import QMainWindow, QWidget

    from segapp.app.state import Content
    from segapp.engine.suggestion import Spot
    from segapp.imaging.measures import MeasuredObject, MeasuredObjects
    from segapp.model.answer import Answer
    from segapp.model.classes import ClassInfo
    from segapp.model.labelling import Labelling
    from segapp.model.picture import Picture
    from segapp.qt.actions import Actions
    from segapp.qt.canvas.canvas import Canvas
    from segapp.qt.files.files import Files
    from segapp.qt.files.preferences import Preferences
    from segapp.qt.session.session import Session
    from segapp.qt.window.labelling_view import LabellingView, RenderedLabelling
    from segapp.qt.window.menus import Docks
    from segapp.qt.window.object_commands import ObjectCommands


class ClipboardCommands(QObject):
    """Copies of picture, mask and cut-out; the cut-out has the edge of exports."""

    message = Signal(str)  # a sentence for the status bar

    def __init__(
        self, session: Session, preferences: Preferences, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._session, self._preferences = session, preferences
        self._jobs = Jobs("copying", self)

    def connect_actions(self, actions: Actions) -> None:
        """Connect the commands."""
        actions["copy_picture"].triggered.connect(self._copy_picture)
        actions["copy_mask"].triggered.connect(self._copy_mask)
        actions["copy_cutout"].triggered.connect(self._copy_cutout)

    def _copy_picture(self) -> None:
        picture = self._session.picture
        if picture is not None:
            self._copy(qimage_view(add_alpha(picture.rgb)).copy(), self.tr("Copied the image"))

    def _copy_mask(self) -> None:
        answer = self._session.answers.answer
        if answer is not None:
            rgba = mask(answer.labelling, self._session.document.classes)
            self._copy(qimage_view(rgba).copy(), self.tr("Copied the mask"))

    def _copy(self, image: QImage, told: str) -> None:
        self._jobs.cancel()  # a later cut-out would replace this copy
        QGuiApplication.clipboard().setImage(image)
        self.message.emit(told)

    def _copy_cutout(self) -> None:
        answer, picture = self._session.answers.answer, self._session.picture
        if answer is None or picture is None:
            return
        inside = object_pixels(answer.labelling, self._session.document)
        choices, hair = remembered_choices(self._preferences), self._session.document.hair

        def work() -> Iterator[float | QImage]:
            backdrop = choices.backdrop
            ground = None if backdrop is None else backdrop_pixels(backdrop, picture.size)
            matte = yield from matte_steps(inside, picture, choices.edge, hair)
            pixels = before_backdrop(straight_cutout(matte, picture), ground)
            rgba = pixels if ground is None else add_alpha(pixels)
            height, width, _ = rgba.shape
            form = QImage.Format.Format_RGBA8888
            yield QImage(rgba.tobytes(), width, height, 4 * width, form).copy()

        self._jobs.run(work, self._take, self._fail)

    def _take(self, made: float | QImage) -> None:
        if isinstance(made, float):
            self.message.emit(self.tr("Softening the edge: {} %").format(round(100 * made)))
        else:
            self._copy(made, self.tr("Copied the cut-out"))

    def _fail(self, error: Exception) -> None:
        self.message.emit(
            self.tr("The cut-out was not copied: {}").format(translate(sentence(error)))
        )

    def close(self, timeout: float | None = None) -> bool:
        """Stop, and wait for the thread; say whether it has ended."""
        return self._jobs.close(timeout)


@dataclass(frozen=True, slots=True, eq=False)
class _Applied:
    """Labelling of a picture by a saved model."""

    picture: Picture
    content: Content  # as it was when the model was asked
    name: str
    classes: tuple[ClassInfo, ...]
    labelling: Labelling


class AnswerCommands(QObject):
    """Commands on answers, strokes of a file, and models."""

    message = Signal(str)  # a sentence for the status bar

    def __init__(
        self,
        session: Session,
        files: Files,
        preferences: Preferences,
        view: LabellingView,
        canvas: Canvas,
        window: QWidget,
    ) -> None:
        super().__init__(window)
        self._session, self._files = session, files
        self._canvas, self._window = canvas, window
        self._copying = ClipboardCommands(session, preferences, self)
        self._copying.message.connect(self.message)
        self._spot: Spot | None = None
        self._spot_wanted = False
        self._marking = True
        self.ring_known = False  # whether the ring needs no label any more
        self._jobs = Jobs("models", self)
        view.rendered.connect(self._take_spot)
        canvas.stroke_finished.connect(self._note_ring)

    def connect_actions(self, actions: Actions) -> None:
        """Connect the commands."""
        self._copying.connect_actions(actions)
        actions["spot"].triggered.connect(self._go_to_spot)
        actions["mark_spot"].toggled.connect(self._set_marking)
        actions["import_strokes"].triggered.connect(self._import_strokes)
        actions["save_model"].triggered.connect(self._save_model)
        actions["apply_model"].triggered.connect(self._apply_model)

    def _fail(self, error: Exception) -> None:
        sentence = str(error) or type(error).__name__
        file_dialogs.complain(self._window, sentence, details_of(error))

    # Where to scribble next ---------------------------------------------------------------

    def _take_spot(self, rendered: RenderedLabelling | None) -> None:
        self._spot = rendered.spot if rendered is not None else None
        self._show_spot()
        if self._spot_wanted and (rendered is None or not rendered.is_preview):
            self._spot_wanted = False
            if rendered is not None:
                self._go_to_spot()

    def _show_spot(self) -> None:
        name = "" if self.ring_known else self.tr("Least certain area – add a stroke here")
        self._canvas.set_spot(self._spot if self._marking else None, name)

    def _note_ring(self) -> None:
        """Remove the ring's label after the first stroke."""
        if self._spot is not None and self._marking and not self.ring_known:
            self.ring_known = True
            self._show_spot()

    def _set_marking(self, on: bool) -> None:  # noqa: FBT001 - a Qt slot
        self._marking = on
        self._show_spot()

    def _go_to_spot(self) -> None:
        answer = self._session.answers.answer
        if self._spot is None and answer is not None and not answer.labelling.has_scores:
            self._spot_wanted = True
            self._session.update_now()  # the stored result does not tell it
            return
        if self._spot is None:
            self.message.emit(self.tr("The result is certain everywhere"))
            return
        self._canvas.viewport.ensure_visible(QPointF(self._spot.x, self._spot.y))
        self._canvas.set_spot(self._spot)
        self.message.emit(self.tr("Least certain area – add a stroke here"))

    # Strokes from elsewhere ---------------------------------------------------------------

    def _import_strokes(self) -> None:
        state, picture = self._session.state, self._session.picture
        if state is None or picture is None:
            return
        title = self.tr("Import strokes")
        path = file_dialogs.ask_image(self._window, title, opening_folder(state.path))
        if path is None:
            return
        try:
            read = load_strokes(Path(path), picture.size).document
            document = add_strokes(self._session.document, read)
        except SegappError as error:
            file_dialogs.complain(self._window, str(error))
            return
        self._session.edit(self.tr("importing {}").format(path.name), document)

    # Models -------------------------------------------------------------------------------

    def _save_model(self) -> None:
        state, picture = self._session.state, self._session.picture
        if state is None or picture is None:
            return
        proposed = saving_folder(state.path, None) / f"{state.path.stem}{MODEL_SUFFIX}"
        path = file_dialogs.ask_model(self._window, proposed, MODEL_SUFFIX, save=True)
        if path is None:
            return
        content = state.content

        def work() -> Iterator[Path]:
            segmenter = Segmenter(picture, content.document, settings=content.settings)
            segmenter.model().save(path)
            yield path

        self._jobs.run(work, self._tell_saved, self._fail)
        self.message.emit(self.tr("Learning the model …"))

    def _apply_model(self) -> None:
        state, picture = self._session.state, self._session.picture
        if state is None or picture is None:
            return
        folder = opening_folder(state.path)
        path = file_dialogs.ask_model(self._window, folder, MODEL_SUFFIX, save=False)
        if path is None:
            return

        content = state.content

        def work() -> Iterator[_Applied]:
            result = SegmentationModel.load(path).apply(picture)
            classes = result.document.classes
            yield _Applied(picture, content, path.stem, classes, result.labelling)

        self._jobs.run(work, self._show_applied, self._fail)
        self.message.emit(self.tr("Applying {} …").format(path.name))

    def _tell_saved(self, path: Path) -> None:
        self.message.emit(self.tr("Saved {}").format(path.name))

    def _show_applied(self, applied: _Applied) -> None:
        if applied.picture is not self._session.picture:
            return
        document, state = self._session.document, self._session.state
        if state is None or state.content.training_inputs != applied.content.training_inputs:
            self.message.emit(
                self.tr("{} was not applied: the strokes have changed since").format(applied.name)
            )
            return
        name = self.tr("applying {}").format(applied.name)
        start = InitialLabels.from_labelling(applied.labelling, applied.name)
        if not document.strokes:
            begun = Document(applied.classes, initial=start, display=document.display)
            self._session.edit(name, begun)
        elif len(document.classes) == len(applied.classes):
            self._session.edit(name, replace(document, initial=start))
        else:
            file_dialogs.complain(
                self._window,
                self.tr("{} has {} classes, and this image's strokes {}.").format(
                    applied.name, len(applied.classes), len(document.classes)
                ),
            )
            return
        self.message.emit(self.tr("This is the result of {}").format(applied.name))

    def close(self, timeout: float | None = None) -> bool:
        """Wait for the threads; say whether they have ended."""
        ended = [part.close(timeout) for part in (self._jobs, self._copying)]
        return all(ended)


class MeasuresController(QObject):
    """Measurement of the answer in a thread, while the table is visible."""

    message = Signal(str)
    written = Signal(str, object)  # a sentence, and the folder of the file

    def __init__(
        self,
        session: Session,
        preferences: Preferences,
        docks: Docks,
        canvas: Canvas,
        objects: ObjectCommands,
        window: QMainWindow,
    ) -> None:
        super().__init__(window)
        self._session, self._preferences = session, preferences
        self._objects = objects
        self._canvas, self._window = canvas, window
        self.panel = MeasuresPanel()
        self.dock = docks.add_tab(window, "measures", self.tr("Measures"), self.panel)
        self._measured: tuple[Answer, MeasuredObjects] | None = None
        self._pending: Answer | None = None
        self._jobs = Jobs("measures", self)
        self._writing = Jobs("measures file", self)
        panel = self.panel
        panel.shown.connect(self._show_scale)
        panel.shown.connect(self.measure)
        panel.scale_changed.connect(self._set_scale)
        panel.object_chosen.connect(self._choose)
        panel.objects_chosen.connect(objects.select)
        objects.selection_changed.connect(panel.choose)
        panel.object_activated.connect(self._go_near)
        panel.export_requested.connect(self._export)
        session.answers.answer_changed.connect(self.measure)
        session.document_changed.connect(self.measure)
        session.picture_changed.connect(self._show_scale)

    def measure(self) -> None:
        """Measure the present answer, unless the table is hidden or has it."""
        if not self.panel.isVisible():
            return
        answer, picture = self._session.answers.answer, self._session.picture
        if answer is None or picture is None:
            self._jobs.cancel()
            self._measured = self._pending = None
            self.panel.clear(self.tr("There is no result to measure."))
            return
        document = self._session.document
        if self._measured is not None and self._measured[0] is answer:
            self._show()  # names of objects may have changed
            return
        if self._pending is answer and self._jobs.busy:
            return
        self._pending = answer
        self.panel.clear(self.tr("Measuring …"))

        def work() -> Iterator[tuple[Answer, MeasuredObjects]]:
            yield answer, measure_labelling(answer.labelling, document, picture)

        self._jobs.run(work, self._take, self._fail)

    def close(self, timeout: float | None = None) -> bool:
        """Stop the threads and wait so long; say whether they have ended."""
        ended = [jobs.close(timeout) for jobs in (self._jobs, self._writing)]
        return all(ended)

    def _take(self, measured: tuple[Answer, MeasuredObjects]) -> None:
        self._measured = measured
        self._show()

    def _show(self) -> None:
        picture = self._session.picture
        if self._measured is not None and picture is not None:
            scale = picture.scale or PIXELS
            document = self._session.document
            listed = list(rows(self._measured[1], document, scale))
            colours = [info.colour for info in document.classes]
            self.panel.show_rows(columns(scale, picture), listed, colours)

    def _show_scale(self) -> None:
        """Show the size of a pixel with its source."""
        picture = self._session.picture
        scale = picture.scale if picture is not None else None
        self._canvas.set_scale(scale)
        self.panel.scale_box.show_scale(scale or PIXELS)

    def _set_scale(self) -> None:
        """Take a typed size of a pixel for all images of the folder."""
        picture = self._session.picture
        if picture is None:
            return
        scale = self.panel.scale_box.scale
        try:
            write_scale(page_file(picture.path).parent, scale)
            scale = replace(scale, source=Message("the folder"))
        except OSError as error:
            self.message.emit(
                self.tr("The pixel size holds for this image alone: {}").format(error.strerror)
            )
        self._session.set_scale(scale)
        self._canvas.set_scale(scale)
        self._show_scale()
        self._show()

    def _choose(self, chosen: MeasuredObject | None) -> None:
        """Choose the object of a row, whose contour is shown then."""
        self._objects.select(() if chosen is None else (chosen.key,))
        if chosen is not None:
            self._canvas.viewport.ensure_box_visible(QRectF(*chosen.box))

    def _go_near(self, part: MeasuredObject | None) -> None:
        if part is not None:
            self._canvas.viewport.show_box(QRectF(*part.box))

    def _export(self) -> None:
        answer, picture, state = (
            self._session.answers.answer,
            self._session.picture,
            self._session.state,
        )
        if answer is None or picture is None or state is None:
            return
        folder = saving_folder(state.path, self._preferences.folder("export/folder"))
        proposed = folder / f"{state.path.stem}-measures.csv"
        path = file_dialogs.ask_table(self._window, proposed)
        if path is None:
            return
        self._preferences.set_folder("export/folder", path.parent)
        form, document = formats(DEFAULT_EXPORT)["measures"], self._session.document

        def work() -> Iterator[Path]:
            (written,) = form.write(path, answer.labelling, document, picture)
            yield written

        self._writing.run(work, self._tell_written, self._fail)

    def _tell_written(self, path: Path) -> None:
        self.written.emit(self.tr("Wrote {}").format(sanitize(path.name)), path.parent)

    def _fail(self, error: Exception) -> None:
        sentence = str(error) or type(error).__name__
        file_dialogs.complain(self._window, sentence, details_of(error))
