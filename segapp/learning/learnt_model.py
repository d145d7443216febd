"""What was learnt from one picture, for other pictures of the same kind."""

from __future__ import annotations

import json
import tempfile
import zipfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from segapp.files.archive_parts import check_parts, opened_archive, read_part
from segapp.files.plain_document import classes_from_plain, classes_to_plain
from segapp.learning.colour_likelihood import LARGEST_COST, ColourLikelihood, StrokeColours
from segapp.learning.fitting import estimator_of, first_passes
from segapp.learning.laps import Laps
from segapp.learning.supervision import Supervision
from segapp.learning.to_pixels import PixelTask
from segapp.learning.verdict import Verdict
from segapp.picture.channels import Channels, ChannelScales
from segapp.picture.colour_bins import LEVELS, colour_bins
from segapp.picture.kernels import kernels_of_all
from segapp.picture.prepared import PreparedPicture, feature_table
from segapp.values.checked import field, fields, from_json, listed, whole
from segapp.values.document import ClassInfo, Document
from segapp.values.marked import Marked
from segapp.values.plain_settings import from_plain, to_plain
from segapp.values.settings import PICTURE_BOUND, FeatureGroup, Settings
from segapp.values.updates import Answer, Report, answer_of
from segapp.values.wording import quoted, shown
from shlcore import SHL
from shlcore.atomic_file import replacing
from shlcore.model_file import read_model

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from segapp.values.labelling import Labelling
    from segapp.values.updates import Update

_FORMAT = "segapp learnt model"
_VERSION = 1
_HEADER, _COLOURS, _LEARNER = "model.json", "colours.f4", "learner"
# Bytes of the parts unpacked: 255 classes have 34 MB of colours, 5000 regions 2 MB of features.
_LARGEST_HEADER, _LARGEST_COLOURS, _LARGEST_LEARNER = 1 << 20, 64 << 20, 64 << 20
_LARGEST_VALUE = 1e15  # costs and weights are far below, and sums of it are still numbers


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
    scales
        Of the channels, if they are among the features: what they were in the learnt picture.
    """

    shl: SHL
    likelihood: ColourLikelihood
    learnt_classes: NDArray[np.intp]
    classes: tuple[ClassInfo, ...]
    settings: Settings
    scales: ChannelScales | None = None

    def __post_init__(self) -> None:
        Document(self.classes)  # which says how many there may be
        learnt, costs = self.learnt_classes.tolist(), self.likelihood.costs
        if (
            len(learnt) < 2
            or learnt != sorted(set(learnt))
            or not (learnt[0] >= 0 and learnt[-1] < len(self.classes))
        ):
            raise ValueError(
                f"learnt_classes: wanted at least two of {len(self.classes)} classes in their "
                f"order, got {quoted(learnt)}"
            )
        if costs.shape != (LEVELS**3, len(learnt)):
            raise ValueError(
                f"colours: wanted {LEVELS**3} costs of {len(learnt)} classes, got {costs.shape}"
            )
        if not ((costs >= 0) & (costs <= np.float32(LARGEST_COST))).all():
            raise ValueError(f"colours: wanted costs from 0 to {LARGEST_COST:g}, got others")
        if bound := PICTURE_BOUND.intersection(self.settings.features):
            raise ValueError(
                "features: wanted groups that mean the same in other pictures, "
                f"got {', '.join(sorted(bound))}"
            )

    @classmethod
    def of_strokes(
        cls,
        rgb: NDArray[np.uint8],
        marked: NDArray[np.int16],
        document: Document,
        settings: Settings,
        channels: Channels,
    ) -> LearntModel:
        """Learn from a picture and the marked pixels of at least two classes."""
        chosen = tuple(group for group in settings.features if group not in PICTURE_BOUND)
        if not chosen:
            raise ValueError(
                "features: wanted a group that means the same in other pictures "
                "(rgb, colour, texture or channels), got none"
            )
        settings = replace(settings, features=chosen)
        table = feature_table(rgb, settings, chosen, channels)
        supervision = Supervision.of(table.prototypes, marked, settings)
        shl = estimator_of(settings, kernels_of_all(chosen, settings), table.groups)
        steps = shl.iter_fit(
            table.features[supervision.rows], supervision.labels, supervision.weights
        )
        *_, last = first_passes(steps, settings)
        learnt = supervision.classes
        with_channels = FeatureGroup.CHANNELS in chosen
        bins = colour_bins(channels.colours[-1] if with_channels else rgb)
        colours = StrokeColours.of(bins, marked, learnt, document.background)
        scales = channels.scales if with_channels else None
        likelihood = colours.likelihood()
        return cls(last.snapshot(), likelihood, learnt, document.classes, settings, scales)

    def updates(
        self, rgb: NDArray[np.uint8], channels: NDArray[Any] | None = None
    ) -> Iterator[Update]:
        """Label another picture, with the outline and clean-up of the settings.

        Without strokes nothing says which parts are meant, so that none is dropped for want
        of one.
        """
        clean_up = replace(self.settings.clean_up, keep_touching=False)
        settings = replace(self.settings, clean_up=clean_up)
        picture = PreparedPicture(rgb, channels, self.scales)
        yield Report("Finding regions", 0.0)
        features = picture.table(settings).features
        verdict = Verdict.judged(self.shl, self.shl.project(features), self.shl.predict(features))
        yield Report("Comparing with what was learnt", 0.5)
        task = PixelTask(
            picture,
            Marked.nothing((rgb.shape[0], rgb.shape[1]), picture.times),
            Document(self.classes),
            self.learnt_classes,
            self.likelihood,
            None,
            settings,
        )
        laps = Laps()
        coarse = yield from task.coarse_answer(verdict, laps)
        labelling, _ = yield from task.full_size(coarse, verdict, laps)
        yield Answer(labelling)

    def apply(self, rgb: NDArray[np.uint8], channels: NDArray[Any] | None = None) -> Labelling:
        """Return the labelling of another picture."""
        return answer_of(self.updates(rgb, channels)).labelling

    def save(self, path: str | Path) -> None:
        """Write one file: a zip of JSON, arrays and the learner's own file. No pickle."""
        header = {
            "format": _FORMAT,
            "version": _VERSION,
            "settings": to_plain(self.settings),
            "classes": classes_to_plain(self.classes),
            "learnt_classes": self.learnt_classes.tolist(),
        }
        if self.scales is not None:
            header["channels"] = asdict(self.scales)
        with tempfile.TemporaryDirectory() as folder:
            inner = Path(folder) / _LEARNER
            self.shl.save(inner)
            with replacing(path) as file, zipfile.ZipFile(file, "w") as archive:
                archive.writestr(_HEADER, json.dumps(header), zipfile.ZIP_DEFLATED)
                archive.writestr(
                    _COLOURS,
                    self.likelihood.costs.astype("<f4").tobytes(),
                    zipfile.ZIP_DEFLATED,
                )
                archive.writestr(_LEARNER, inner.read_bytes())


def load_model(path: str | Path) -> LearntModel:
    """Read what `LearntModel.save` wrote; `LearntModelError` says why it cannot be read."""
    path = Path(path)
    name = shown(path.name)
    with opened_archive(path, "a learnt model", LearntModelError) as archive:
        model = _read(archive, name)
        with np.errstate(all="ignore"):
            _try(model)
    return model


def _read(archive: zipfile.ZipFile, name: str) -> LearntModel:
    header = from_json(read_part(archive, _HEADER, _LARGEST_HEADER), _HEADER)
    header = _checked_header(header, name)
    classes = classes_from_plain(field(header, "classes"))
    listing = listed(field(header, "learnt_classes"), "learnt_classes", 2, len(classes))
    learnt = [whole(label, "learnt_classes", 0, len(classes) - 1) for label in listing]
    settings = from_plain(field(header, "settings"))
    colours = np.frombuffer(read_part(archive, _COLOURS, _LARGEST_COLOURS), dtype="<f4")
    if colours.size != LEVELS**3 * len(learnt):
        raise ValueError(
            f"{_COLOURS}: wanted {LEVELS**3} costs of {len(learnt)} classes, got {colours.size}"
        )
    costs = colours.reshape(LEVELS**3, len(learnt)).astype(np.float32)
    with tempfile.TemporaryDirectory() as folder:
        inner = Path(folder) / _LEARNER
        inner.write_bytes(read_part(archive, _LEARNER, _LARGEST_LEARNER))
        shl = _read_learner(inner)
    learnt_classes = np.array(learnt, dtype=np.intp)
    scales = None
    if FeatureGroup.CHANNELS in settings.features:
        scales = ChannelScales.from_plain(field(header, "channels"))
    return LearntModel(shl, ColourLikelihood(costs), learnt_classes, classes, settings, scales)


def _checked_header(header: object, name: str) -> dict[str, Any]:
    if not isinstance(header, dict) or header.get("format") != _FORMAT:
        raise LearntModelError(f"{name} is not a learnt model.")
    if whole(field(header, "version"), "version", 1) > _VERSION:
        raise LearntModelError(
            f"{name} was written by a newer version: wanted version {_VERSION}, "
            f"got {quoted(header['version'])}."
        )
    return fields(header, _HEADER)


def _read_learner(path: Path) -> SHL:
    """Read the learner's own file, all of whose arrays must be numbers of a sensible size."""
    with zipfile.ZipFile(path) as archive:
        check_parts(archive, _LARGEST_LEARNER)
    _, arrays = read_model(path)
    for name, array in arrays.items():
        if array.dtype.kind not in "biuf" or array.size * array.itemsize > _LARGEST_LEARNER:
            raise ValueError(f"{shown(name)}: wanted numbers, got {array.size} of {array.dtype}")
        if not (np.abs(array.astype(np.float64)) <= _LARGEST_VALUE).all():
            raise ValueError(f"{shown(name)}: wanted finite numbers, got others")
    return SHL.load(path)


def _try(model: LearntModel) -> None:
    """Judge a small picture, which shows whether the parts fit together."""
    steps = np.linspace(0, 255, 16).astype(np.uint8)
    rgb = np.stack(np.broadcast_arrays(steps[:, None], steps[None, :], np.uint8(90)), axis=2)
    scales = model.scales
    n_channels = 3 if scales is None else len(scales.spans)
    channels = Channels(np.resize(rgb, (16, 16, n_channels)), 1, scales)
    features = feature_table(rgb, model.settings, model.settings.features, channels).features
    shl, n_classes = model.shl, len(model.learnt_classes)
    if shl.classes_.tolist() != list(range(n_classes)):
        raise ValueError(f"{_LEARNER}: wanted {n_classes} classes, got {quoted(shl.classes_)}")
    if shl.codewords_.shape[-1] != model.settings.bits:
        raise ValueError(
            f"{_LEARNER}: wanted {model.settings.bits} bits, got {shl.codewords_.shape[-1]}"
        )
    verdict = Verdict.judged(shl, shl.project(features), shl.predict(features))
    if verdict.costs.shape[1] != n_classes or not np.isfinite(verdict.costs).all():
        raise ValueError(f"{_LEARNER}: wanted finite costs of {n_classes} classes, got others")
