"""Learnt models as files: a zip of JSON, arrays and the learner's own file. No pickle."""

from __future__ import annotations

import json
import tempfile
import zipfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from segapp.files.archive_parts import check_parts, opened_archive, read_part
from segapp.files.plain_document import classes_from_plain, classes_to_plain
from segapp.learning.colour_likelihood import ColourLikelihood
from segapp.learning.learnt_model import LARGEST_VALUE, LearntModel
from segapp.learning.learnt_sight import LearntSight
from segapp.picture.channels import ChannelScales
from segapp.picture.colour_bins import LEVELS
from segapp.picture.prepared import PreparedPicture
from segapp.values.checked import field, fields, from_json, listed, whole
from segapp.values.encoded import EncodedPicture
from segapp.values.plain_settings import from_plain, to_plain
from segapp.values.settings import FeatureGroup
from segapp.values.wording import quoted, shown
from shlcore import SHL
from shlcore.atomic_file import replacing
from shlcore.model_file import read_model

_FORMAT = "segapp learnt model"
_VERSION = 1
_HEADER, _COLOURS, _LEARNER, _SIGHT = "model.json", "colours.f4", "learner", "sight.f8"
# Bytes of the parts unpacked: 255 classes have 34 MB of colours, 5000 regions 2 MB of features.
_LARGEST_HEADER, _LARGEST_COLOURS, _LARGEST_LEARNER = 1 << 20, 64 << 20, 64 << 20
_LARGEST_SIGHT = 64 << 20


class LearntModelError(ValueError):
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
        with replacing(path) as file, zipfile.ZipFile(file, "w") as archive:
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
    sight = None
    if FeatureGroup.ENCODER in settings.features:
        sight = LearntSight.from_bytes(read_part(archive, _SIGHT, _LARGEST_SIGHT), len(learnt))
    learnt_classes = np.array(learnt, dtype=np.intp)
    scales = None
    if FeatureGroup.CHANNELS in settings.features:
        scales = ChannelScales.from_plain(field(header, "channels"))
    likelihood = ColourLikelihood(costs)
    return LearntModel(shl, likelihood, learnt_classes, classes, settings, scales, sight)


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
        if not (np.abs(array.astype(np.float64)) <= LARGEST_VALUE).all():
            raise ValueError(f"{shown(name)}: wanted finite numbers, got others")
    return SHL.load(path)


def _try(model: LearntModel) -> None:
    """Judge a small picture, which shows whether the parts fit together."""
    steps = np.linspace(0, 255, 16).astype(np.uint8)
    rgb = np.stack(np.broadcast_arrays(steps[:, None], steps[None, :], np.uint8(90)), axis=2)
    n_channels = 3 if model.scales is None else len(model.scales.spans)
    channels = np.resize(rgb, (16, 16, n_channels))
    seen = 1 if model.sight is None else model.sight.centre.size
    cells = np.zeros((2, 2, seen), np.float16)
    encoded = EncodedPicture(cells, (8.0, 8.0), model.settings.encoder)
    picture = PreparedPicture(rgb, channels, encoded, model.scales)
    shl, n_classes = model.shl, len(model.learnt_classes)
    if shl.classes_.tolist() != list(range(n_classes)):
        raise ValueError(f"{_LEARNER}: wanted {n_classes} classes, got {quoted(shl.classes_)}")
    if shl.codewords_.shape[-1] != model.settings.bits:
        raise ValueError(
            f"{_LEARNER}: wanted {model.settings.bits} bits, got {shl.codewords_.shape[-1]}"
        )
    verdict = model.judged(picture, model.settings)
    if verdict.costs.shape[1] != n_classes or not np.isfinite(verdict.costs).all():
        raise ValueError(f"{_LEARNER}: wanted finite costs of {n_classes} classes, got others")
