"""What an encoder sees in pictures, for settings that want it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from segapp.values.settings import FeatureGroup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from segapp.values.encoded import EncodedPicture
    from segapp.values.settings import Settings
    from segapp.values.updates import Segmenter

    Sight = Callable[[NDArray[np.uint8]], EncodedPicture | None]


@contextmanager
def sight_of(settings: Settings) -> Iterator[Sight]:
    """Return what makes of a picture what the encoder sees; ``None`` where none takes part.

    A sentence says when it is missing, or fails. Its process ends with the block.
    """
    if FeatureGroup.ENCODER not in settings.features:
        yield lambda _: None
        return
    from segapp.encoders.encoding import Encoding  # loaded by nobody else

    with Encoding.with_identity(settings.encoder) as encoding:
        yield encoding.of


def let_see(segmenter: Segmenter, rgb: NDArray[np.uint8], settings: Settings) -> None:
    """Hand a segmenter what it needs of a network, if anything."""
    with sight_of(settings) as sight:
        encoded = sight(rgb)
    if encoded is not None:
        segmenter.see(encoded)
