"""What was learnt from one picture, for other pictures of the same kind."""

from __future__ import annotations

import json
import tempfile
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from segapp.learning.colour_likelihood import ColourLikelihood
from segapp.learning.fitting import estimator_of, first_passes
from segapp.learning.laps import Laps
from segapp.learning.supervision import Supervision
from segapp.learning.to_pixels import PixelTask, marks_of_levels
from segapp.learning.verdict import Verdict
from segapp.picture.colour_bins import LEVELS, colour_bins
from segapp.picture.kernels import kernels_of_all
from segapp.picture.prepared import PreparedPicture, feature_table
from segapp.values.document import ClassInfo, Document
from segapp.values.plain_settings import from_plain, to_plain
from segapp.values.rasterize import UNMARKED
from segapp.values.settings import PICTURE_BOUND, Settings
from segapp.values.updates import Answer, Report, answer_of
from shlcore import SHL
from shlcore.atomic_file import replacing
from shlcore.model_file import ModelFileError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from segapp.values.labelling import Labelling
    from segapp.values.updates import Update

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
        table = feature_table(rgb, settings, chosen)
        supervision = Supervision.of(table.prototypes, marked, settings)
        shl = estimator_of(settings, kernels_of_all(chosen, settings), table.groups)
        steps = shl.iter_fit(
            table.features[supervision.rows], supervision.labels, supervision.weights
        )
        *_, last = first_passes(steps, settings)
        likelihood = ColourLikelihood.of_strokes(colour_bins(rgb), marked, supervision.classes)
        return cls(last.snapshot(), likelihood, supervision.classes, classes, settings)

    def updates(self, rgb: NDArray[np.uint8]) -> Iterator[Update]:
        """Label another picture, with the outline and clean-up of the settings.

        Without strokes nothing says which parts are meant, so that none is dropped for want
        of one.
        """
        clean_up = replace(self.settings.clean_up, keep_touching=False)
        settings = replace(self.settings, clean_up=clean_up)
        picture = PreparedPicture(rgb)
        yield Report("Finding regions", 0.0)
        features = picture.table(settings).features
        verdict = Verdict.judged(self.shl, self.shl.project(features), self.shl.predict(features))
        yield Report("Comparing with what was learnt", 0.5)
        unmarked = np.full(rgb.shape[:2], UNMARKED, dtype=np.int16)
        task = PixelTask(
            picture,
            marks_of_levels(picture, unmarked),
            Document(self.classes),
            self.learnt_classes,
            self.likelihood,
            settings,
        )
        yield Answer((yield from task.steps(verdict, Laps())))

    def apply(self, rgb: NDArray[np.uint8]) -> Labelling:
        """Return the labelling of another picture."""
        return answer_of(self.updates(rgb)).labelling

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
