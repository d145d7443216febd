"""Learnt models, their files and their application to other images."""

from __future__ import annotations

import json
import tempfile
import zipfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from segapp.engine.features import ChannelScales
from segapp.engine.kernels import kernels_of
from segapp.engine.likelihood import (
    LARGEST_COST,
    AppearanceModel,
    ClassCosts,
    ClassDensities,
)
from segapp.engine.preparation import PreparedPicture
from segapp.engine.refinement import PixelRefiner, StepTimer
from segapp.engine.region_belief import TransferableEncoderClassifier
from segapp.engine.region_classifier import (
    RegionScores,
    Supervision,
    first_passes,
    make_estimator,
)
from segapp.engine.region_graph import FlowWarmStart
from segapp.engine.superpixels import BIN_LEVELS, colour_bins
from segapp.imaging.seeds import SeedMap
from segapp.io.project import (
    check_members,
    classes_from_plain,
    classes_to_plain,
    open_archive,
    read_member,
)
from segapp.model.answer import Answer, Report, final_answer
from segapp.model.document import Document
from segapp.model.picture import EncoderFeatures
from segapp.model.settings import IMAGE_SPECIFIC, FeatureGroup, Settings, from_plain, to_plain
from segapp.model.validation import (
    SegappError,
    from_json,
    require_field,
    require_int,
    require_list,
    require_object,
    sanitize,
    short_repr,
)
from shlcore import SHL
from shlcore.atomic_file import atomic_write
from shlcore.model_file import read_model

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from segapp.engine.preparation import FeatureTable
    from segapp.engine.region_belief import RegionBelief
    from segapp.model.answer import Update
    from segapp.model.classes import ClassInfo
    from segapp.model.labelling import Labelling


LARGEST_VALUE = 1e15
"""Costs and weights are far below, and sums of it stay finite."""


@dataclass(frozen=True, slots=True, eq=False)
class LearntModel:
    """Hash functions and codewords on features that are comparable between images.

    Parameters
    ----------
    shl
        Fitted on the prototypes' features.
    likelihood
        Costs of the colours under the strokes.
    learnt_classes
        Positions of the classes that had strokes.
    classes
        All classes of the document.
    settings
        Without the features that are specific to one image.
    scales
        Of the channels in the training image, if they are among the features.
    encoder_classifier
        Where encoder features are used.
    """

    shl: SHL
    likelihood: ClassCosts
    learnt_classes: NDArray[np.intp]
    classes: tuple[ClassInfo, ...]
    settings: Settings
    scales: ChannelScales | None = None
    encoder_classifier: TransferableEncoderClassifier | None = None

    def __post_init__(self) -> None:
        Document(self.classes)  # which checks their number
        learnt, costs = self.learnt_classes.tolist(), self.likelihood.costs
        if (
            len(learnt) < 2
            or learnt != sorted(set(learnt))
            or not (learnt[0] >= 0 and learnt[-1] < len(self.classes))
        ):
            raise ValueError(
                f"learnt_classes: wanted at least two of {len(self.classes)} classes in their "
                f"order, got {short_repr(learnt)}"
            )
        if costs.shape != (BIN_LEVELS**3, len(learnt)):
            raise ValueError(
                f"colours: wanted {BIN_LEVELS**3} x {len(learnt)} costs, got {costs.shape}"
            )
        if not ((costs >= 0) & (costs <= np.float32(LARGEST_COST))).all():
            raise ValueError(f"colours: wanted costs from 0 to {LARGEST_COST:g}, got others")
        if bound := IMAGE_SPECIFIC.intersection(self.settings.features):
            raise ValueError(
                "features: wanted groups that mean the same in other pictures, "
                f"got {', '.join(sorted(bound))}"
            )
        has_classifier = self.encoder_classifier is not None
        if has_classifier != (FeatureGroup.ENCODER in self.settings.features):
            raise ValueError("sight: wanted one where an encoder takes part, and none where not")

    @classmethod
    def of_strokes(
        cls,
        picture: PreparedPicture,
        marked: NDArray[np.int16],
        document: Document,
        settings: Settings,
    ) -> LearntModel:
        """Train on an image and the marked pixels of at least two classes."""
        chosen = tuple(group for group in settings.features if group not in IMAGE_SPECIFIC)
        if not chosen:
            raise SegappError(
                "features: wanted a group that means the same in other pictures "
                "(rgb, colour, texture, channels or encoder), got none"
            )
        settings = replace(settings, features=chosen)
        with_channels = FeatureGroup.CHANNELS in chosen
        supervision = Supervision.of(picture.table(settings).prototypes, marked, settings)
        classifier = None
        if FeatureGroup.ENCODER in chosen:
            classifier = TransferableEncoderClassifier.of(
                picture, marked, settings, document.background
            )
        table, _ = _described(picture, settings, classifier)
        shl = make_estimator(settings, kernels_of(chosen, settings), table.groups)
        steps = shl.iter_fit(
            table.features[supervision.rows], supervision.labels, supervision.weights
        )
        *_, last = first_passes(steps, settings)
        learnt = supervision.classes
        bins = colour_bins(picture.channels.colours[-1] if with_channels else picture.levels[-1])
        return cls(
            last.snapshot(),
            ClassDensities.of(bins, marked, learnt, document.background).costs(),
            learnt,
            document.classes,
            settings,
            picture.channels.scales if with_channels else None,
            classifier,
        )

    def updates(
        self,
        rgb: NDArray[np.uint8],
        channels: NDArray[Any] | None = None,
        encoded: EncoderFeatures | None = None,
    ) -> Iterator[Update]:
        """Label another image, with the refinement and clean-up of the settings.

        Without strokes all components are kept. ``encoded`` are its encoder features, where they
        are used.
        """
        clean_up = replace(self.settings.clean_up, keep_touching=False)
        settings = replace(self.settings, clean_up=clean_up)
        picture = PreparedPicture(rgb, channels, encoded, self.scales)
        picture.require_encoder_features(settings)
        yield Report("Finding regions", 0.0)
        scores = self.score(picture, settings)
        yield Report("Comparing with what was learnt", 0.5)
        graph, weight = picture.graph(settings), settings.colour_likelihood
        refiner = PixelRefiner(
            picture,
            SeedMap.empty((rgb.shape[0], rgb.shape[1]), picture.times),
            Document(self.classes),
            self.learnt_classes,
            (AppearanceModel(graph.bins, graph.patch_colours, self.likelihood, weight),),
            settings,
        )
        timer = StepTimer()
        answer = yield from refiner.working_answer(scores, FlowWarmStart(graph), timer)
        labelling, _ = yield from refiner.full_size(answer, scores, timer)
        yield Answer(labelling)

    def score(self, picture: PreparedPicture, settings: Settings) -> RegionScores:
        """Score the regions of another image."""
        table, belief = _described(picture, settings, self.encoder_classifier)
        features, shl = table.features, self.shl
        scores = RegionScores.of(shl, shl.project(features), shl.predict(features))
        return scores if belief is None else scores.plus(belief.costs())

    def apply(
        self,
        rgb: NDArray[np.uint8],
        channels: NDArray[Any] | None = None,
        encoded: EncoderFeatures | None = None,
    ) -> Labelling:
        """Return the labelling of another image."""
        return final_answer(self.updates(rgb, channels, encoded)).labelling


def _described(
    picture: PreparedPicture,
    settings: Settings,
    classifier: TransferableEncoderClassifier | None,
) -> tuple[FeatureTable, RegionBelief | None]:
    """Return an image's features for the learner, and the scores by encoder features."""
    table = picture.table(settings)
    if classifier is None:
        return table, None
    vectors = classifier.vectors(picture, settings)
    return table.with_group(FeatureGroup.ENCODER, vectors), classifier.ridge.belief(vectors)


_FORMAT = "segapp learnt model"
_VERSION = 1
_HEADER, _COLOURS, _LEARNER, _ENCODER = "model.json", "colours.f4", "learner", "sight.f8"
# Bytes of unpacked members: 255 classes have 34 MB of colours, 5000 regions 2 MB of features.
_LARGEST_HEADER, _LARGEST_COLOURS, _LARGEST_LEARNER = 1 << 20, 64 << 20, 64 << 20
_LARGEST_ENCODER = 64 << 20


class LearntModelError(SegappError):
    """A file that is no readable learnt model; the message is one sentence."""


def save_model(model: LearntModel, path: str | Path) -> None:
    """Write a model into one file."""
    header = {
        "format": _FORMAT,
        "version": _VERSION,
        "settings": to_plain(model.settings),
        "classes": classes_to_plain(model.classes),
        "learnt_classes": model.learnt_classes.tolist(),
    }
    if model.scales is not None:
        header["channels"] = asdict(model.scales)
    with tempfile.TemporaryDirectory() as folder:
        inner = Path(folder) / _LEARNER
        model.shl.save(inner)
        with atomic_write(path) as file, zipfile.ZipFile(file, "w") as archive:
            archive.writestr(_HEADER, json.dumps(header), zipfile.ZIP_DEFLATED)
            archive.writestr(
                _COLOURS,
                model.likelihood.costs.astype("<f4").tobytes(),
                zipfile.ZIP_DEFLATED,
            )
            if model.encoder_classifier is not None:
                archive.writestr(_ENCODER, model.encoder_classifier.to_bytes())
            archive.writestr(_LEARNER, inner.read_bytes())


def load_model(path: str | Path) -> LearntModel:
    """Read a file of `save_model`; `LearntModelError` says why it cannot be read."""
    path = Path(path)
    name = sanitize(path.name)
    with open_archive(path, "a learnt model", LearntModelError) as archive:
        model = _read(archive, name)
        with np.errstate(all="ignore"):
            _try(model)
    return model


def _read(archive: zipfile.ZipFile, name: str) -> LearntModel:
    header = from_json(read_member(archive, _HEADER, _LARGEST_HEADER), _HEADER)
    header = _checked_header(header, name)
    classes = classes_from_plain(require_field(header, "classes"))
    listing = require_list(
        require_field(header, "learnt_classes"), "learnt_classes", 2, len(classes)
    )
    learnt = [require_int(label, "learnt_classes", 0, len(classes) - 1) for label in listing]
    settings = from_plain(require_field(header, "settings"))
    colours = np.frombuffer(read_member(archive, _COLOURS, _LARGEST_COLOURS), dtype="<f4")
    if colours.size != BIN_LEVELS**3 * len(learnt):
        raise ValueError(
            f"{_COLOURS}: wanted {BIN_LEVELS**3} x {len(learnt)} costs, got {colours.size}"
        )
    costs = colours.reshape(BIN_LEVELS**3, len(learnt)).astype(np.float32)
    with tempfile.TemporaryDirectory() as folder:
        inner = Path(folder) / _LEARNER
        inner.write_bytes(read_member(archive, _LEARNER, _LARGEST_LEARNER))
        shl = _read_learner(inner)
    classifier = None
    if FeatureGroup.ENCODER in settings.features:
        classifier = TransferableEncoderClassifier.from_bytes(
            read_member(archive, _ENCODER, _LARGEST_ENCODER), len(learnt)
        )
    learnt_classes = np.array(learnt, dtype=np.intp)
    scales = None
    if FeatureGroup.CHANNELS in settings.features:
        scales = ChannelScales.from_plain(require_field(header, "channels"))
    return LearntModel(
        shl, ClassCosts(costs), learnt_classes, classes, settings, scales, classifier
    )


def _checked_header(header: object, name: str) -> dict[str, Any]:
    if not isinstance(header, dict) or header.get("format") != _FORMAT:
        raise LearntModelError("{} is not a learnt model.", name)
    if require_int(require_field(header, "version"), "version", 1) > _VERSION:
        raise LearntModelError(
            "{} was written by a newer version: wanted version {}, got {}.",
            name,
            _VERSION,
            short_repr(header["version"]),
        )
    return require_object(header, _HEADER)


def _read_learner(path: Path) -> SHL:
    """Read the learner's own file; its arrays must be finite and of sensible size."""
    with zipfile.ZipFile(path) as archive:
        check_members(archive, _LARGEST_LEARNER)
    _, arrays = read_model(path)
    for name, array in arrays.items():
        if array.dtype.kind not in "biuf" or array.size * array.itemsize > _LARGEST_LEARNER:
            raise ValueError(
                f"{sanitize(name)}: wanted numbers, got {array.size} of {array.dtype}"
            )
        if not (np.abs(array.astype(np.float64)) <= LARGEST_VALUE).all():
            raise ValueError(f"{sanitize(name)}: wanted finite numbers, got others")
    return SHL.load(path)


def _try(model: LearntModel) -> None:
    """Score a small image, which fails unless all members of the file fit together."""
    steps = np.linspace(0, 255, 16).astype(np.uint8)
    rgb = np.stack(np.broadcast_arrays(steps[:, None], steps[None, :], np.uint8(90)), axis=2)
    n_channels = 3 if model.scales is None else len(model.scales.spans)
    channels = np.resize(rgb, (16, 16, n_channels))
    classifier = model.encoder_classifier
    n_features = 1 if classifier is None else classifier.centre.size
    cells = np.zeros((2, 2, n_features), np.float16)
    encoded = EncoderFeatures(cells, (8.0, 8.0), model.settings.encoder)
    picture = PreparedPicture(rgb, channels, encoded, model.scales)
    shl, n_classes = model.shl, len(model.learnt_classes)
    if shl.classes_.tolist() != list(range(n_classes)):
        raise ValueError(f"{_LEARNER}: wanted {n_classes} classes, got {short_repr(shl.classes_)}")
    if shl.codewords_.shape[-1] != model.settings.bits:
        raise ValueError(
            f"{_LEARNER}: wanted {model.settings.bits} bits, got {shl.codewords_.shape[-1]}"
        )
    scores = model.score(picture, model.settings)
    if scores.costs.shape[1] != n_classes or not np.isfinite(scores.costs).all():
        raise ValueError(f"{_LEARNER}: wanted finite costs of {n_classes} classes, got others")
