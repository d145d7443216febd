"""Encoder features of images, computed or cached on disk."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import platformdirs

from segapp.encoders.encoder import EncoderError
from segapp.encoders.packages import published_name
from segapp.encoders.preprocessing import fit_picture, to_encoded_picture
from segapp.encoders.registry import EncoderRegistry
from segapp.encoders.runner import RunningNetwork, missing_runtime
from segapp.io.pages import DAMAGE
from shlcore.atomic_file import atomic_write

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from segapp.encoders.encoder import Encoder
    from segapp.encoders.preprocessing import FittedPicture
    from segapp.model.picture import EncoderFeatures

MAX_CACHE_BYTES = 2 << 30
"""Of all files: a thousand images of 2 MB each, or 300 where there are smaller cells."""
_SUFFIX = ".npz"
_VERSION = 2  # of the preprocessing; features of another version are computed again

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FeatureCache:
    """A folder with a file for each image and encoder, least recently used first."""

    root: Path
    max_bytes: int = MAX_CACHE_BYTES

    @classmethod
    def for_user(cls) -> FeatureCache:
        """Return the cache in the user's cache folder."""
        return cls(platformdirs.user_cache_path("segapp", appauthor=False) / "encoded")

    def path(self, picture: FittedPicture, encoder: Encoder) -> Path:
        """Return the file for the features of an image."""
        digest = hashlib.sha256(f"{_VERSION} {picture.shape}".encode())
        digest.update(np.ascontiguousarray(picture.pixels).data)
        facts = {**asdict(encoder), "name": ""}  # a name changes nothing
        digest.update(json.dumps(facts, sort_keys=True).encode())
        return self.root / (digest.hexdigest() + _SUFFIX)

    def load(self, picture: FittedPicture, encoder: Encoder) -> EncoderFeatures | None:
        """Read the features of an image; a damaged file counts as absent."""
        path = self.path(picture, encoder)
        names = ("cells",) if encoder.fine_cells is None else ("cells", "fine")
        try:
            # A ZIP archive, whose checksums reveal damage.
            with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                cells = [arrays[name] for name in names]
                encoded = to_encoded_picture(cells, picture.shape, encoder)
            os.utime(path)  # recently used: other files are older now
        except DAMAGE:
            return None
        return encoded

    def save(self, picture: FittedPicture, encoder: Encoder, encoded: EncoderFeatures) -> None:
        """Write features; a disk that is full or read-only costs time, and no more."""
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            with atomic_write(self.path(picture, encoder)) as file:
                if encoded.fine is None:
                    np.savez(file, cells=encoded.cells)
                else:
                    np.savez(file, cells=encoded.cells, fine=encoded.fine.cells)
            self._remove_oldest()
        except OSError as error:
            _log.info("features are not cached: %s", error)

    def _remove_oldest(self) -> None:
        files = []
        for entry in os.scandir(self.root):
            if entry.name.endswith(_SUFFIX):
                stat = entry.stat()
                files.append((stat.st_mtime_ns, stat.st_size, entry.path))
        total = sum(size for _, size, _ in files)
        for _, size, path in sorted(files)[:-1]:  # the newest was written just now
            if total <= self.max_bytes:
                return
            Path(path).unlink(missing_ok=True)
            total -= size


class MissingEncoderError(EncoderError):
    """Settings name an encoder that this user does not have."""


class FeatureExtractor:
    """The features of images by one encoder, whose process starts when it is needed.

    One thread extracts; any thread may `stop`.
    """

    def __init__(
        self, encoder: Encoder, registry: EncoderRegistry, cache: FeatureCache | None = None
    ) -> None:
        self.encoder = encoder
        self._cache = FeatureCache.for_user() if cache is None else cache
        network, head = registry.network_path(encoder), registry.head_file(encoder)
        self._running = RunningNetwork(encoder.name, network, encoder.digest, head)

    @classmethod
    def with_identity(cls, identity: str) -> FeatureExtractor:
        """Return the extractor for an encoder of the user; else `MissingEncoderError`."""
        registry = EncoderRegistry.for_user()
        return cls(require_encoder(registry, identity), registry)

    def __enter__(self) -> FeatureExtractor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def prepare(self, rgb: NDArray[np.uint8]) -> FittedPicture:
        """Return an image at the size at which the network reads it."""
        return fit_picture(rgb, self.encoder)

    def cached(self, picture: FittedPicture) -> EncoderFeatures | None:
        """Return the features of an image that was read before."""
        return self._cache.load(picture, self.encoder)

    def extract(self, picture: FittedPicture) -> EncoderFeatures:
        """Run the network and cache the result; raises like `RunningNetwork.encode`."""
        encoded = self._running.encode(self.encoder, picture)
        self._cache.save(picture, self.encoder, encoded)
        return encoded

    def features(self, rgb: NDArray[np.uint8]) -> EncoderFeatures:
        """Return the features of an image, cached or computed."""
        picture = self.prepare(rgb)
        known = self.cached(picture)
        return self.extract(picture) if known is None else known

    def stop(self) -> None:
        """End the network's process now."""
        self._running.stop()

    def close(self) -> None:
        """End the network's process between two images."""
        self._running.close()


def require_encoder(registry: EncoderRegistry, identity: str) -> Encoder:
    """Return the encoder of that identity; an error says what there is to do."""
    if not identity:
        raise EncoderError("Which encoder is meant is not said: name it by --encoder.")
    encoder = registry.find(identity)
    if encoder is None and (name := published_name(identity)) is not None:
        raise MissingEncoderError(
            "The encoder {} is not installed: get it with segapp encoder get {}, or continue "
            "without it with --without-encoder.",
            name,
            name,
        )
    if encoder is None:
        raise MissingEncoderError(
            "The encoder with the digest {}… is not installed: add it with segapp "
            "encoder add, or continue without it with --without-encoder.",
            identity[:12],
        )
    return encoder


def resolve_encoder(name: str | None) -> Encoder:
    """Return the encoder of a name, or the only one there is, if it can run here."""
    registry = EncoderRegistry.for_user()
    names = registry.names()
    if name is None:
        if len(names) != 1:
            there = f"there are {', '.join(names)}" if names else "there is none yet"
            raise EncoderError("Which encoder is meant is not said by --encoder: {}.", there)
        name = names[0]
    encoder = registry.get(name)
    if message := missing_runtime():
        raise EncoderError(message)
    return encoder
