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

from segapp.encoders.fitting import grid_on
from segapp.files.damage import DAMAGE
from segapp.values.encoded import EncodedPicture
from shlcore.atomic_file import replacing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from segapp.encoders.encoder import Encoder

MOST_BYTES = 2 << 30
"""Of all files: those of a thousand pictures of 2 MB each, or of 300 where there is a head."""
_SUFFIX = ".npz"
_VERSION = 1  # of how a picture is made ready; another one reads everything anew


@dataclass(frozen=True, slots=True)
class KeptFeatures:
    """A folder of files, one for each picture and encoder; it can be deleted at any time."""

    root: Path
    most_bytes: int = MOST_BYTES

    @classmethod
    def of_user(cls) -> KeptFeatures:
        """Return those in the user's folder for what can be made again."""
        return cls(platformdirs.user_cache_path("segapp", appauthor=False) / "encoded")

    def path(self, rgb: NDArray[np.uint8], encoder: Encoder) -> Path:
        """Return where the features of a picture are, or would be."""
        seen = hashlib.sha256(f"{_VERSION} {rgb.shape}".encode())
        seen.update(np.ascontiguousarray(rgb).data)
        facts = {**asdict(encoder), "name": ""}  # a name changes nothing
        seen.update(json.dumps(facts, sort_keys=True).encode())
        return self.root / (seen.hexdigest() + _SUFFIX)

    def find(self, path: Path, shape: tuple[int, int], encoder: Encoder) -> EncodedPicture | None:
        """Return what is kept of a picture of this shape; what is damaged counts as absent."""
        grids = [("cells", encoder.grid, encoder.channels)]
        if encoder.head is not None:
            grids.append(("fine", encoder.head.grid, encoder.head.channels))
        found: EncodedPicture | None = None
        try:
            # A ZIP archive, whose checksums tell of damage.
            with path.open("rb") as file, np.load(file, allow_pickle=False) as parts:
                for name, grid, channels in reversed(grids):
                    wanted, step = grid_on(shape, encoder, grid)
                    cells = parts[name]
                    if cells.shape != (*wanted, channels) or cells.dtype != np.float16:
                        return None
                    found = EncodedPicture(cells, step, encoder.identity, found)
            os.utime(path)  # it was of use: others are older now
        except DAMAGE:
            return None
        return found

    def keep(self, path: Path, encoded: EncodedPicture) -> None:
        """Write what a network saw; a disk that is full or closed costs time, and no more."""
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
