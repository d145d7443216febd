"""What an encoder sees in a picture, for the segmenter of settings that want it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from segapp.values.settings import FeatureGroup

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from segapp.values.settings import Settings
    from segapp.values.updates import Segmenter


def let_see(segmenter: Segmenter, rgb: NDArray[np.uint8], settings: Settings) -> None:
    """Hand a segmenter what it needs of a network, if anything; a sentence when that fails."""
    if FeatureGroup.ENCODER not in settings.features:
        return
    from segapp.encoders.encoding import Encoding  # loaded by nobody else

    with Encoding.with_digest(settings.encoder) as encoding:
        segmenter.see(encoding.of(rgb))
