"""Where the bundled data (icons, samples) lies, in a checkout and when installed."""

from pathlib import Path

_installed = Path(__file__).parent / "assets"
_checkout = Path(__file__).parents[1] / "assets"

ASSETS: Path = _installed if _installed.is_dir() else _checkout
