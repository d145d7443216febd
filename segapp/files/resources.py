"""Where the bundled data (icons, samples) lies, in a checkout and when installed."""

from pathlib import Path

_installed = Path(__file__).parents[1] / "assets"
_checkout = Path(__file__).parents[2] / "assets"

ASSETS: Path = _installed if _installed.is_dir() else _checkout

SAMPLES: Path = ASSETS / "samples"
"""The bundled pictures, with strokes and truths beside them."""
