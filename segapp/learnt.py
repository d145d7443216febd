"""What was learnt from one picture, for other pictures of the same kind."""

from __future__ import annotations

import json
import tempfile
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from segapp.atomic_file import replacing
from segapp.cleanup import clean_up
from segapp.colour_likelihood import LEVELS, ColourLikelihood, colour_cells
from segapp.document import ClassInfo
from segapp.groundwork import Terrain, kernels_of, rows_of
from segapp.labelling import Labelling
from segapp.lesson import Answer, Lesson, learner
from segapp.outline import Scene, draw_outline
from segapp.pyramid import halvings, repeated
from segapp.setting_values import from_plain, to_plain
from segapp.settings import PICTURE_BOUND, Settings
from shlcore import SHL
from shlcore.model_file import ModelFileError

if TYPE_CHECKING:
    from numpy.typing import NDArray

MODEL_SUFFIX = ".shlmodel"
_FORMAT = "segapp learnt model"
_VERSION = 1


class LearntModelError(ValueError):
    """A file is not a learnt model that this version reads; the message is one sentence."""


@dataclass(frozen=True, slots=True, eq=False)
class LearntModel:
    """Hash functions and codewords on features that mean the same in any picture.

    Parameters
    ----------
    shl
        Fitted on the prototypes' features.
    likelihood
        Of the colours under the strokes.
    learnt_classes
        Positions of the classes that had strokes.
    classes
        All classes of the document.
    settings
        As they were, without the features that are bound to one picture.
    """

    shl: SHL
    likelihood: ColourLikelihood
    learnt_classes: NDArray[np.intp]
    classes: tuple[ClassInfo, ...]
    settings: Settings

    @classmethod
    def of_strokes(
        cls,
        rgb: NDArray[np.uint8],
        marked: NDArray[np.int16],
        classes: tuple[ClassInfo, ...],
        settings: Settings,
    ) -> LearntModel:
        """Learn from a picture and the marked pixels of at least two classes."""
        chosen = tuple(group for group in settings.features if group not in PICTURE_BOUND)
        if not chosen:
            raise ValueError(
                "features: wanted a group that means the same in other pictures "
                "(rgb, colour or texture), got none"
            )
        settings = replace(settings, features=chosen)
        rows = rows_of(rgb, settings, chosen)
        lesson = Lesson.of(rows.prototypes, marked, settings)
        shl = learner(
            settings,
            kernels=[kernel for group in chosen for kernel in kernels_of(group, settings)],
            column_groups=rows.groups,
            scale=None,
            max_iter=settings.passes + 1,
        )
        for step in shl.iter_fit(rows.features[lesson.rows], lesson.labels, lesson.weights):
            if step.pass_ended and step.iteration >= settings.passes:
                break
        likelihood = ColourLikelihood.of_strokes(colour_cells(rgb), marked, lesson.classes)
        return cls(step.snapshot(), likelihood, lesson.classes, classes, settings)

    def apply(self, rgb: NDArray[np.uint8]) -> Labelling:
        """Label another picture, with the refinement and clean-up of the settings.

        Without strokes nothing says which parts are meant, so that none is dropped for want
        of one.
        """
        settings = self.settings
        levels = halvings(rgb)
        rows = rows_of(levels[-1], settings, settings.features)
        projections = self.shl.project(rows.features)
        answer = Answer.judged(self.shl, projections, self.shl.predict(rows.features))
        marks = [np.full(level.shape[:2], -1, dtype=np.int16) for level in levels]
        times, shape = 1 << (len(levels) - 1), (rgb.shape[0], rgb.shape[1])
        index_map = rows.prototypes.index_map
        learnt = repeated(answer.labels.astype(np.uint8)[index_map], shape, times)
        labels = learnt
        if settings.refine:
            scene = Scene(
                levels=levels,
                marks=marks,
                prototypes=rows.prototypes,
                terrain=Terrain.of(levels[-1], rows.prototypes),
                colour_costs=settings.colour_likelihood * self.likelihood.costs,
                smoothness=settings.smoothness,
            )
            drawing = draw_outline(scene, answer.costs)
            try:
                while True:
                    next(drawing)
            except StopIteration as end:
                labels = end.value
        margin = np.where(
            labels == learnt, repeated(answer.margin[index_map], shape, times), np.float32(0.0)
        )
        wishes = replace(settings.clean_up, keep_touching=False)
        labels = self.learnt_classes.astype(np.uint8)[labels]
        labels = clean_up(labels, marks[0], wishes, len(self.classes) - 1)
        codes = np.ascontiguousarray(repeated(answer.codes[index_map], shape, times))
        return Labelling(labels, margin, codes, len(self.classes), settings.bits)

    def save(self, path: str | Path) -> None:
        """Write one file: a zip of JSON, arrays and the learner's own file. No pickle."""
        header = {
            "format": _FORMAT,
            "version": _VERSION,
            "settings": to_plain(self.settings),
            "classes": [{"name": c.name, "colour": list(c.colour)} for c in self.classes],
            "learnt_classes": self.learnt_classes.tolist(),
        }
        with tempfile.TemporaryDirectory() as folder:
            inner = Path(folder) / "learner"
            self.shl.save(inner)
            with replacing(path) as file, zipfile.ZipFile(file, "w") as archive:
                archive.writestr("model.json", json.dumps(header), zipfile.ZIP_DEFLATED)
                archive.writestr(
                    "colours.f4",
                    self.likelihood.costs.astype("<f4").tobytes(),
                    zipfile.ZIP_DEFLATED,
                )
                archive.writestr("learner", inner.read_bytes())


def load_model(path: str | Path) -> LearntModel:
    """Read what `LearntModel.save` wrote; `LearntModelError` says why it cannot be read."""
    name = Path(path).name
    try:
        with zipfile.ZipFile(path) as archive, tempfile.TemporaryDirectory() as folder:
            header = json.loads(archive.read("model.json"))
            _check_header(header, name)
            colours = np.frombuffer(archive.read("colours.f4"), dtype="<f4")
            inner = Path(folder) / "learner"
            inner.write_bytes(archive.read("learner"))
            shl = SHL.load(inner)
        learnt = np.array(header["learnt_classes"], dtype=np.intp)
        costs = colours.reshape(LEVELS**3, len(learnt)).astype(np.float32)
        classes = tuple(ClassInfo(c["name"], tuple(c["colour"])) for c in header["classes"])
        settings = from_plain(header["settings"])
    except (OSError, LearntModelError):
        raise
    except (zipfile.BadZipFile, KeyError, TypeError, ValueError, ModelFileError) as error:
        raise LearntModelError(f"{name} is damaged or not a learnt model.") from error
    return LearntModel(shl, ColourLikelihood(costs), learnt, classes, settings)


def _check_header(header: object, name: str) -> None:
    if not isinstance(header, dict) or header.get("format") != _FORMAT:
        raise LearntModelError(f"{name} is not a learnt model.")
    if not isinstance(header.get("version"), int) or header["version"] > _VERSION:
        raise LearntModelError(
            f"{name} was written by a newer version: wanted version {_VERSION}, "
            f"got {header.get('version')!r}."
        )
