"""What networks saw in pictures, on disk: so much and no more, the oldest goes first."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import platformdirs

from segapp.encoders.fitting import in_picture
from segapp.files.damage import DAMAGE
from shlcore.atomic_file import replacing

if TYPE_CHECKING:
    from segapp.encoders.encoder import Encoder
    from segapp.encoders.fitting import FittedPicture
    from segapp.values.encoded import EncodedPicture

MOST_BYTES = 2 << 30
"""Of all files: those of a thousand pictures of 2 MB each, or of 300 where there is a head."""
_SUFFIX = ".npz"
_VERSION = 2  # of how a picture is made ready; another one reads everything anew


@dataclass(frozen=True, slots=True)
class KeptFeatures:
    """A folder of files, one for each picture and encoder; it can be deleted at any time."""

    root: Path
    most_bytes: int = MOST_BYTES

    @classmethod
    def of_user(cls) -> KeptFeatures:
        """Return those in the user's folder for what can be made again."""
        return cls(platformdirs.user_cache_path("segapp", appauthor=False) / "encoded")

    def path(self, picture: FittedPicture, encoder: Encoder) -> Path:
        """Return where the features of a picture are, or would be."""
        seen = hashlib.sha256(f"{_VERSION} {picture.shape}".encode())
        seen.update(np.ascontiguousarray(picture.pixels).data)
        facts = {**asdict(encoder), "name": ""}  # a name changes nothing
        seen.update(json.dumps(facts, sort_keys=True).encode())
        return self.root / (seen.hexdigest() + _SUFFIX)

    def find(self, picture: FittedPicture, encoder: Encoder) -> EncodedPicture | None:
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

    def keep(self, picture: FittedPicture, encoder: Encoder, encoded: EncodedPicture) -> None:
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
            if total <= self.most_bytes:
                return
            Path(path).unlink(missing_ok=True)
            total -= size
