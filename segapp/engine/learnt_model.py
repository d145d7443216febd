"""Learnt models and their application to other images."""

from __future__ import annotations

import json
import tempfile
import zipfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import ndimage

from segapp.engine.encoder_belief import LearntSight
from segapp.engine.features import ChannelScales
from segapp.engine.kernels import kernels_of_all
from segapp.engine.likelihood import LARGEST_COST, Appearance, ColourLikelihood, StrokeColours
from segapp.engine.preparation import PreparedPicture
from segapp.engine.refinement import PixelTask
from segapp.engine.state_update import Verdict
from segapp.engine.superpixels import BIN_LEVELS, colour_bins
from segapp.engine.supervision import Laps, Supervision, estimator_of, first_passes
from segapp.imaging.seeds import SeedMap
from segapp.io.project import (
    check_members,
    classes_from_plain,
    classes_to_plain,
    open_archive,
    read_member,
)
from segapp.model.answer import Answer, Report, final_answer
from segapp.model.document import Document, Stroke
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

    from segapp.engine.encoder_belief import EncoderBelief
    from segapp.engine.preparation import FeatureTable
    from segapp.model.answer import Update
    from segapp.model.classes import ClassInfo
    from segapp.model.document import Mark
    from segapp.model.labelling import InitialLabels, Labelling


LARGEST_VALUE = 1e15
"""Costs and weights are far below, and sums of it are still numbers."""


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
    sight
        What was learnt from an encoder, where one takes part.
    """

    shl: SHL
    likelihood: ColourLikelihood
    learnt_classes: NDArray[np.intp]
    classes: tuple[ClassInfo, ...]
    settings: Settings
    scales: ChannelScales | None = None
    sight: LearntSight | None = None

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
        if (self.sight is None) == (FeatureGroup.ENCODER in self.settings.features):
            raise ValueError("sight: wanted one where an encoder takes part, and none where not")

    @classmethod
    def of_strokes(
        cls,
        picture: PreparedPicture,
        marked: NDArray[np.int16],
        document: Document,
        settings: Settings,
    ) -> LearntModel:
        """Learn from a picture and the marked pixels of at least two classes."""
        chosen = tuple(group for group in settings.features if group not in IMAGE_SPECIFIC)
        if not chosen:
            raise ValueError(
                "features: wanted a group that means the same in other pictures "
                "(rgb, colour, texture, channels or encoder), got none"
            )
        settings = replace(settings, features=chosen)
        with_channels = FeatureGroup.CHANNELS in chosen
        supervision = Supervision.of(picture.table(settings).prototypes, marked, settings)
        sight = None
        if FeatureGroup.ENCODER in chosen:
            sight = LearntSight.of(picture, marked, settings, document.background)
        table, _ = _described(picture, settings, sight)
        shl = estimator_of(settings, kernels_of_all(chosen, settings), table.groups)
        steps = shl.iter_fit(
            table.features[supervision.rows], supervision.labels, supervision.weights
        )
        *_, last = first_passes(steps, settings)
        learnt = supervision.classes
        bins = colour_bins(picture.channels.colours[-1] if with_channels else picture.levels[-1])
        return cls(
            last.snapshot(),
            StrokeColours.of(bins, marked, learnt, document.background).likelihood(),
            learnt,
            document.classes,
            settings,
            picture.channels.scales if with_channels else None,
            sight,
        )

    def updates(
        self,
        rgb: NDArray[np.uint8],
        channels: NDArray[Any] | None = None,
        encoded: EncoderFeatures | None = None,
    ) -> Iterator[Update]:
        """Label another picture, with the outline and clean-up of the settings.

        Without strokes nothing says which parts are meant, so that none is dropped for want
        of one. ``encoded`` is what the encoder sees in it, where one takes part.
        """
        clean_up = replace(self.settings.clean_up, keep_touching=False)
        settings = replace(self.settings, clean_up=clean_up)
        picture = PreparedPicture(rgb, channels, encoded, self.scales)
        picture.refuse_unseen(settings)
        yield Report("Finding regions", 0.0)
        verdict = self.judged(picture, settings)
        yield Report("Comparing with what was learnt", 0.5)
        graph, weight = picture.graph(settings), settings.colour_likelihood
        appearance = Appearance(graph.bins, graph.patch_colours, self.likelihood, weight)
        task = PixelTask(
            picture,
            SeedMap.empty((rgb.shape[0], rgb.shape[1]), picture.times),
            Document(self.classes),
            self.learnt_classes,
            (appearance,),
            settings,
        )
        laps = Laps()
        coarse = yield from task.coarse_answer(verdict, laps)
        labelling, _ = yield from task.full_size(coarse, verdict, laps)
        yield Answer(labelling)

    def judged(self, picture: PreparedPicture, settings: Settings) -> Verdict:
        """Judge the regions of another picture."""
        table, believed = _described(picture, settings, self.sight)
        features, shl = table.features, self.shl
        verdict = Verdict.judged(shl, shl.project(features), shl.predict(features))
        if believed is None:
            return verdict
        return replace(verdict, costs=verdict.costs + believed.costs())

    def apply(
        self,
        rgb: NDArray[np.uint8],
        channels: NDArray[Any] | None = None,
        encoded: EncoderFeatures | None = None,
    ) -> Labelling:
        """Return the labelling of another picture."""
        return final_answer(self.updates(rgb, channels, encoded)).labelling


def _described(
    picture: PreparedPicture, settings: Settings, sight: LearntSight | None
) -> tuple[FeatureTable, EncoderBelief | None]:
    """Return a picture's features as the learner has them, and what the encoder says of them."""
    table = picture.table(settings)
    if sight is None:
        return table, None
    seen = sight.seen(picture, settings)
    return table.with_group(FeatureGroup.ENCODER, seen), sight.belief(seen)


# A few dabs stand for it, each well inside a part of its class, as a user would make them: what
# the model saw there is learnt on this picture's own colours. The answer itself is the prior of
# the first stroke, as every answer is of the next.

_DABS = 6  # a class; more would hold on to what a stroke is to correct
_DEPTH = 0.5  # of the way from the edge to the innermost point, which a dab's radius takes
_LARGEST = 24.0  # pixels of a dab's radius at the size at which is looked
_LOOKED_AT = 512  # pixels of the longer side


def checked_labels(start: InitialLabels, size: tuple[int, ...]) -> NDArray[np.uint8]:
    """Return the labels of a start that is of this picture's size."""
    if (start.height, start.width) != size:
        raise SegappError(
            "The answer of {} has {} x {} pixels: wanted the picture's {} x {}.",
            start.name,
            start.width,
            start.height,
            size[1],
            size[0],
        )
    return start.pixels()


def document_of_start(document: Document, labels: NDArray[np.uint8]) -> Document:
    """Return the dabs that stand for the labels, all made at once.

    A stroke of another class within the disc that a dab is the middle of says that the answer
    was wrong there: that dab is left out.
    """
    step = -(-max(labels.shape) // _LOOKED_AT)
    coarse = labels[::step, ::step]
    strokes = [(mark, *_points(mark)) for mark in document.strokes if mark.label is not None]
    dabs = []
    for index in range(len(document.classes)):
        for column, row, depth in _innermost(coarse == index):
            x, y = (column + 0.5) * step, (row + 0.5) * step
            denied = any(
                mark.label != index
                and (np.hypot(along - x, down - y) <= depth * step + reach).any()
                for mark, along, down, reach in strokes
            )
            if not denied:
                radius = max(min(_DEPTH * depth, _LARGEST), 0.5) * step
                dabs.append(Stroke(((x, y),), radius, index))
    return replace(document, strokes=tuple(dabs), initial=None).as_one_state()


def _points(mark: Mark) -> tuple[NDArray[np.floating], NDArray[np.floating], float]:
    """Return where a mark is, and how far it reaches from there."""
    if isinstance(mark, Stroke):
        points = np.array(mark.points)
        return points[:, 0], points[:, 1], mark.radius
    rows, columns = np.nonzero(mark.mask())
    return columns + mark.left + 0.5, rows + mark.top + 0.5, 0.5


def _innermost(mask: NDArray[np.bool_]) -> list[tuple[int, int, float]]:
    """Return the middles and radii of a few discs inside a mask, the largest first."""
    found: list[tuple[int, int, float]] = []
    depth = ndimage.distance_transform_edt(np.pad(mask, 1))[1:-1, 1:-1]
    rows, columns = np.ogrid[: mask.shape[0], : mask.shape[1]]
    while len(found) < _DABS:
        y, x = np.unravel_index(int(depth.argmax()), depth.shape)
        deepest = float(depth[y, x])
        if deepest <= 0:
            break
        found.append((int(x), int(y), deepest))
        apart = max(2 * deepest, 0.15 * max(mask.shape))
        depth[(rows - y) ** 2 + (columns - x) ** 2 < apart**2] = 0
    return found


_FORMAT = "segapp learnt model"
_VERSION = 1
_HEADER, _COLOURS, _LEARNER, _SIGHT = "model.json", "colours.f4", "learner", "sight.f8"
# Bytes of the parts unpacked: 255 classes have 34 MB of colours, 5000 regions 2 MB of features.
_LARGEST_HEADER, _LARGEST_COLOURS, _LARGEST_LEARNER = 1 << 20, 64 << 20, 64 << 20
_LARGEST_SIGHT = 64 << 20


class LearntModelError(SegappError):
    """A file is not a learnt model that this version reads; the message is one sentence."""


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
            if model.sight is not None:
                archive.writestr(_SIGHT, model.sight.to_bytes())
            archive.writestr(_LEARNER, inner.read_bytes())


def load_model(path: str | Path) -> LearntModel:
    """Read what `save_model` wrote; `LearntModelError` says why it cannot be read."""
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
    sight = None
    if FeatureGroup.ENCODER in settings.features:
        sight = LearntSight.from_bytes(read_member(archive, _SIGHT, _LARGEST_SIGHT), len(learnt))
    learnt_classes = np.array(learnt, dtype=np.intp)
    scales = None
    if FeatureGroup.CHANNELS in settings.features:
        scales = ChannelScales.from_plain(require_field(header, "channels"))
    likelihood = ColourLikelihood(costs)
    return LearntModel(shl, likelihood, learnt_classes, classes, settings, scales, sight)


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
    """Read the learner's own file, all of whose arrays must be numbers of a sensible size."""
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
    """Judge a small picture, which shows whether the parts fit together."""
    steps = np.linspace(0, 255, 16).astype(np.uint8)
    rgb = np.stack(np.broadcast_arrays(steps[:, None], steps[None, :], np.uint8(90)), axis=2)
    n_channels = 3 if model.scales is None else len(model.scales.spans)
    channels = np.resize(rgb, (16, 16, n_channels))
    seen = 1 if model.sight is None else model.sight.centre.size
    cells = np.zeros((2, 2, seen), np.float16)
    encoded = EncoderFeatures(cells, (8.0, 8.0), model.settings.encoder)
    picture = PreparedPicture(rgb, channels, encoded, model.scales)
    shl, n_classes = model.shl, len(model.learnt_classes)
    if shl.classes_.tolist() != list(range(n_classes)):
        raise ValueError(f"{_LEARNER}: wanted {n_classes} classes, got {short_repr(shl.classes_)}")
    if shl.codewords_.shape[-1] != model.settings.bits:
        raise ValueError(
            f"{_LEARNER}: wanted {model.settings.bits} bits, got {shl.codewords_.shape[-1]}"
        )
    verdict = model.judged(picture, model.settings)
    if verdict.costs.shape[1] != n_classes or not np.isfinite(verdict.costs).all():
        raise ValueError(f"{_LEARNER}: wanted finite costs of {n_classes} classes, got others")
