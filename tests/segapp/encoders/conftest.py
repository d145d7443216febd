from dataclasses import replace

import platformdirs
import pytest

from segapp.encoders.feature_cache import FeatureCache
from segapp.encoders.registry import EncoderRegistry
from segapp.encoders.signatures import describe_head, head_file

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from tests.segapp.encoders import networks


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Give encoders and features folders of their own, also in child processes."""
    root = tmp_path / "home"
    monkeypatch.setenv("XDG_DATA_HOME", str(root / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(root / "cache"))
    for name in ("data", "cache"):
        place = root / name / "segapp"
        monkeypatch.setattr(platformdirs, f"user_{name}_path", lambda *_, where=place, **__: where)
    return root


@pytest.fixture
def installed(home):
    return EncoderRegistry.for_user()


@pytest.fixture
def kept(home):
    return FeatureCache.for_user()


@pytest.fixture
def head_paths(tmp_path):
    """Return a network and a head for it."""
    return networks.pooled(tmp_path / "a.onnx"), networks.like_sam_decoder(tmp_path / "b.onnx")


@pytest.fixture
def encoder_with_head(head_paths):
    network, head_network = (networks.facts(path) for path in head_paths)
    encoder = replace(networks.POOLED, digest=network.digest, n_bytes=network.n_bytes)
    file = head_file(head_paths[1], head_network)
    return replace(encoder, head=describe_head(file, head_network, encoder, (1, 5, 32, 32)))
