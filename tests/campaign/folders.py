"""Folders of their own for programs that are tried in this process."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import numpy as np
from PIL import Image
from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QApplication


def application():
    """Return the one application, without a screen."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    return QApplication.instance() or QApplication([])


@contextmanager
def own_folders():
    """Redirect settings and recovery copies; yield a folder to work in."""
    application()
    with tempfile.TemporaryDirectory(prefix="campaign-") as name:
        folder = Path(name)
        places = {f"XDG_{kind}_HOME": str(folder / kind) for kind in ("CONFIG", "STATE", "DATA")}
        with mock.patch.dict(os.environ, places):
            ini, user = QSettings.Format.IniFormat, QSettings.Scope.UserScope
            QSettings.setPath(ini, user, str(folder / "CONFIG"))
            yield folder


def draw(path, seed=0, size=(36, 48)):
    """Save a small picture, reddish to the left and bluish to the right."""
    rgb = np.random.default_rng(seed).integers(0, 90, (*size, 3), dtype=np.uint8)
    rgb[:, : size[1] // 2] += np.array((150, 20, 20), np.uint8)
    rgb[:, size[1] // 2 :] += np.array((20, 20, 150), np.uint8)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(rgb).save(path)
    return path
