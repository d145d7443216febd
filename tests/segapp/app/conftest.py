"""Fixtures of the room: a home, a store, images, and a crash."""

import os
import time

import pytest
from PIL import Image

from segapp.app.project_store import ProjectLocationPolicy, ProjectStore
from segapp.app.recovery import RecoveryFolder
from tests.segapp.app.projects import Preferences


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory, monkeypatch):
    """Keep the user's own folders out of the tests."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    for name in ("CONFIG", "STATE", "DATA", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(home / name.lower()))


@pytest.fixture
def store(tmp_path):
    return ProjectStore(ProjectLocationPolicy(Preferences()), tmp_path / "recovery")


@pytest.fixture
def picture(tmp_path):
    """Save a small image."""

    def make(name="cat.png"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (4, 4)).save(path)
        return path

    return make


@pytest.fixture
def crash(store):
    """Leave a recovery copy behind, as a program that is killed does."""

    def leave(state, age=0.0):
        folder = RecoveryFolder(store.root)
        folder.copy(state)
        folder._lock.release()
        (file,) = folder._folder.glob("*.segapp")
        os.utime(file, (time.time() - age,) * 2)
        return file

    return leave
