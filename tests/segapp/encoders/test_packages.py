"""Published networks, installed from the files of a package."""

from dataclasses import replace

import numpy as np
import onnxruntime
import pytest

from segapp.encoders import packages
from segapp.encoders.feature_cache import FeatureExtractor
from segapp.encoders.packages import PACKAGES, Fetched, convert_and_probe, published_name
from tests.segapp.encoders import networks


@pytest.fixture
def fetched(tmp_path):
    """A network like SAM 2 in the runtime's own format, as a package holds it."""
    source = networks.like_sam_2(tmp_path / "like.onnx")
    path, options = tmp_path / "network.ort", onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(path)
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.add_session_config_entry("session.save_model_format", "ORT")
    onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    digest = packages.hashlib.sha256(path.read_bytes()).hexdigest()
    package = replace(PACKAGES["sam2-tiny"], digest=digest)
    return Fetched(package, path, None, "of the package")


def test_a_converted_network_gives_cells_of_two_sizes(fetched, installed, kept):
    encoder, network = convert_and_probe(fetched, "small")
    installed.add(encoder, network, fetched.licence)
    assert installed.get("small") == encoder
    assert encoder.identity == fetched.package.digest != encoder.digest
    assert installed.licence(encoder) == "of the package"
    rng = np.random.default_rng(0)
    rgb = rng.integers(0, 256, (48, 64, 3)).repeat(16, axis=0).repeat(16, axis=1)
    rgb = rgb.astype(np.uint8)
    with FeatureExtractor(encoder, installed, kept) as extractor:
        features = extractor.features(rgb)
        again = extractor.cached(extractor.prepare(rgb))
    mean, std = (np.array(values, np.float32) for values in (encoder.mean, encoder.std))
    whole = np.zeros((1, 3, 1024, 1024), np.float32)
    whole[0, :, :768] = ((rgb - mean) / std).transpose(2, 0, 1)
    fine, cells = networks.run(str(fetched.network), whole)
    assert np.allclose(features.cells, cells[0, :, :48].transpose(1, 2, 0), atol=0.02)
    assert np.allclose(features.fine.cells, fine[0, :, :192].transpose(1, 2, 0), atol=0.02)
    assert features.fine.step == (4.0, 4.0)
    assert np.array_equal(again.fine.cells, features.fine.cells)


def test_packages_are_known_by_their_networks():
    for name, package in PACKAGES.items():
        assert published_name(package.identity) == published_name(package.digest) == name
    assert published_name("0" * 64) is None
