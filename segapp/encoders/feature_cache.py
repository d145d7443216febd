"""Encoder features of images, computed or cached on disk."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import platformdirs

from segapp.encoders.onnx_file import EncoderError
from segapp.encoders.preprocessing import fitted, in_picture
from segapp.encoders.registry import EncoderRegistry
from segapp.encoders.runner import RunningNetwork, missing_runtime
from segapp.io.pages import DAMAGE
from shlcore.atomic_file import replacing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from segapp.encoders.encoder import Encoder
    from segapp.encoders.preprocessing import FittedPicture
    from segapp.model.picture import EncoderFeatures


MAX_CACHE_BYTES = 2 << 30
"""Of all files: those of a thousand pictures of 2 MB each, or of 300 where there is a head."""
_SUFFIX = ".npz"
_VERSION = 2  # of how a picture is made ready; another one reads everything anew


@dataclass(frozen=True, slots=True)
class FeatureCache:
    """A folder of files, one for each picture and encoder; it can be deleted at any time."""

    root: Path
    max_bytes: int = MAX_CACHE_BYTES

    @classmethod
    def for_user(cls) -> FeatureCache:
        """Return those in the user's folder for what can be made again."""
        return cls(platformdirs.user_cache_path("segapp", appauthor=False) / "encoded")

    def path(self, picture: FittedPicture, encoder: Encoder) -> Path:
        """Return where the features of a picture are, or would be."""
        seen = hashlib.sha256(f"{_VERSION} {picture.shape}".encode())
        seen.update(np.ascontiguousarray(picture.pixels).data)
        facts = {**asdict(encoder), "name": ""}  # a name changes nothing
        seen.update(json.dumps(facts, sort_keys=True).encode())
        return self.root / (seen.hexdigest() + _SUFFIX)

    def load(self, picture: FittedPicture, encoder: Encoder) -> EncoderFeatures | None:
        """Return what is kept of a picture; what is damaged counts as absent."""
        path = self.path(picture, encoder)
        names = ("cells",) if encoder.head is None else ("cells", "fine")
        try:
            # A ZIP archive, whose checksums tell of damage.
            with path.open("rb") as file, np.load(file, allow_pickle=False) as parts:
                found = in_picture([parts[name] for name in names], picture.shape, encoder)
            os.utime(path)  # it was of use: others are older now
        except DAMAGE:
            return None
        return found

    def save(self, picture: FittedPicture, encoder: Encoder, encoded: EncoderFeatures) -> None:
        """Write what a network saw; a disk that is full or closed costs time, and no more."""
        path = self.path(picture, encoder)
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            with replacing(path) as file:
                if encoded.fine is None:
                    np.savez(file, cells=encoded.cells)
                else:
                    np.savez(file, cells=encoded.cells, fine=encoded.fine.cells)
            self._make_room()
        except OSError:
            return

    def _make_room(self) -> None:
        files = []
        for entry in os.scandir(self.root):
            if entry.name.endswith(_SUFFIX):
                seen = entry.stat()
                files.append((seen.st_mtime_ns, seen.st_size, entry.path))
        total = sum(size for _, size, _ in files)
        for _, size, path in sorted(files)[:-1]:  # the newest is what was just made
            if total <= self.max_bytes:
                return
            Path(path).unlink(missing_ok=True)
            total -= size


class MissingEncoderError(EncoderError):
    """Settings want a network that this user does not have."""


class FeatureExtractor:
    """Reads one picture after the other with one encoder, whose process starts when needed.

    One thread asks; any thread may `stop`.
    """

    def __init__(
        self, encoder: Encoder, installed: EncoderRegistry, kept: FeatureCache | None = None
    ) -> None:
        self.encoder = encoder
        self._kept = FeatureCache.for_user() if kept is None else kept
        network, head = installed.network_path(encoder), installed.head_file(encoder)
        self._running = RunningNetwork(encoder.name, network, encoder.digest, head=head)

    @classmethod
    def with_identity(cls, identity: str) -> FeatureExtractor:
        """Return the extractor by a network that the user has; else a sentence says so."""
        installed = EncoderRegistry.for_user()
        return cls(wanted(installed, identity), installed)

    def __enter__(self) -> FeatureExtractor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def prepare(self, rgb: NDArray[np.uint8]) -> FittedPicture:
        """Return a picture as the network will see it."""
        return fitted(rgb, self.encoder)

    def cached(self, picture: FittedPicture) -> EncoderFeatures | None:
        """Return what is known of a picture already."""
        return self._kept.load(picture, self.encoder)

    def extract(self, picture: FittedPicture) -> EncoderFeatures:
        """Let the network read a picture, and keep that; raises like `RunningNetwork.encode`."""
        encoded = self._running.encode(self.encoder, picture)
        self._kept.save(picture, self.encoder, encoded)
        return encoded

    def features(self, rgb: NDArray[np.uint8]) -> EncoderFeatures:
        """Return what the encoder sees, known or read."""
        picture = self.prepare(rgb)
        known = self.cached(picture)
        return self.extract(picture) if known is None else known

    def stop(self) -> None:
        """End the network's process now."""
        self._running.stop()

    def close(self) -> None:
        """End the network's process between two pictures."""
        self._running.close()


def wanted(installed: EncoderRegistry, identity: str) -> Encoder:
    """Return the encoder of that identity, or say that it is missing and what there is to do."""
    if not identity:
        raise EncoderError("Which encoder is meant is not said: name it by --encoder.")
    encoder = installed.find(identity)
    if encoder is None:
        raise MissingEncoderError(
            f"The encoder with the digest {identity[:12]}… is not there: add it by segapp encoder "
            "add, or go on without it by --without-encoder."
        )
    return encoder


def resolve_encoder(name: str | None) -> Encoder:
    """Return the encoder of a name, or the only one there is, if it can run here."""
    installed = EncoderRegistry.for_user()
    names = installed.names()
    if name is None:
        if len(names) != 1:
            there = f"there are {', '.join(names)}" if names else "there is none yet"
            raise EncoderError(f"Which encoder is meant is not said by --encoder: {there}.")
        name = names[0]
    encoder = installed.get(name)
    if lack := missing_runtime():
        raise EncoderError(lack)
    return encoder
