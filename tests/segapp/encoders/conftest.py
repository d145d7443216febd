import platformdirs
import pytest

from segapp.encoders.feature_cache import FeatureCache
from segapp.encoders.registry import EncoderRegistry

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Give encoders and what they see a place of their own, in other processes too."""
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
