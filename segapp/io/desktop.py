"""Bundled files, and the desktop entry of the program."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from segapp.io.images import IMAGE_SUFFIXES
from segapp.io.project import PROJECT_SUFFIX

_installed = Path(__file__).parents[1] / "assets"
_checkout = Path(__file__).parents[2] / "assets"

ASSETS: Path = _installed if _installed.is_dir() else _checkout

SAMPLES: Path = ASSETS / "samples"
"""The bundled images, with strokes and truths beside them."""


# Files go where freedesktop.org's specifications want them (desktop entries, shared MIME info,
# icon themes), below the user's data folder, and nowhere else.

MIME_TYPE = "application/x-segapp"
_PICTURES = {
    ".bmp": "image/bmp",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".png": "image/png",
    ".tif": "image/tiff",
    ".tiff": "image/tiff",
    ".webp": "image/webp",
}
_ENTRY = """\
[Desktop Entry]
Type=Application
Version=1.5
Name=segapp
GenericName=Image Segmentation
Comment=Cut objects out of images with a few strokes
Exec={program} %f
Icon=segapp
Terminal=false
Categories=Graphics;2DGraphics;RasterGraphics;
MimeType={types};
StartupNotify=true
StartupWMClass=segapp
"""
_KIND = f"""\
<?xml version="1.0" encoding="UTF-8"?>
<mime-info xmlns="http://www.freedesktop.org/standards/shared-mime-info">
  <mime-type type="{MIME_TYPE}">
    <comment>segapp project</comment>
    <sub-class-of type="application/zip"/>
    <glob pattern="*{PROJECT_SUFFIX}"/>
    <icon name="{MIME_TYPE.replace("/", "-")}"/>
  </mime-type>
</mime-info>
"""
# Programs that update the desktop's indexes at once; without them it takes longer.
_INDEXERS = (("update-desktop-database", "applications"), ("update-mime-database", "mime"))
_PATIENCE = 30.0  # seconds


class DesktopError(OSError):
    """The program cannot be added to this desktop; the message is a sentence."""


def data_home() -> Path:
    """Return the user's data folder, as the specification has it."""
    named = os.environ.get("XDG_DATA_HOME", "")
    return Path(named) if os.path.isabs(named) else Path.home() / ".local" / "share"


def install_desktop_entry(home: Path) -> tuple[Path, ...]:
    """Write the files below a data folder and return them."""
    _want_freedesktop()
    icon = (ASSETS / "icon.svg").read_bytes()
    contents = dict(zip(_places(home), (_entry(), _KIND.encode(), icon, icon), strict=True))
    for path, content in contents.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    _index(home)
    return tuple(contents)


def remove_desktop_entry(home: Path) -> tuple[Path, ...]:
    """Take the files away again; return those that were there."""
    _want_freedesktop()
    found = tuple(path for path in _places(home) if path.exists())
    for path in found:
        path.unlink()
    if found:
        _index(home)
    return found


def _want_freedesktop() -> None:
    if sys.platform in ("win32", "darwin"):
        raise DesktopError(
            "Desktop entries are for Linux and similar systems: here, open projects "
            "from the window's menu."
        )


def _places(home: Path) -> tuple[Path, Path, Path, Path]:
    scalable = home / "icons" / "hicolor" / "scalable"
    return (
        home / "applications" / "segapp.desktop",
        home / "mime" / "packages" / "segapp.xml",
        scalable / "apps" / "segapp.svg",
        scalable / "mimetypes" / f"{MIME_TYPE.replace('/', '-')}.svg",
    )


def _entry() -> bytes:
    types = dict.fromkeys(_PICTURES[each] for each in IMAGE_SUFFIXES if each in _PICTURES)
    return _ENTRY.format(program=_program(), types=";".join((MIME_TYPE, *types))).encode()


def _program() -> str:
    """Return the command of this program, quoted for a desktop entry."""
    if getattr(sys, "frozen", False):
        words = [sys.executable]
    else:
        beside = Path(sys.executable).with_name("segapp")
        found = str(beside) if beside.is_file() else shutil.which("segapp")
        words = [found] if found else [sys.executable, "-m", "segapp"]
    return " ".join(_quoted(word) for word in words)


def _quoted(word: str) -> str:
    r"""Quote an argument of ``Exec``: its own escapes, then those of text values.

    >>> print(_quoted("/opt/50% off/seg$app"))
    "/opt/50%% off/seg\\$app"
    """
    for sign in ("\\", '"', "`", "$"):
        word = word.replace(sign, "\\" + sign)
    return '"' + word.replace("%", "%%").replace("\\", "\\\\") + '"'


def _index(home: Path) -> None:
    for command, folder in _INDEXERS:
        program = shutil.which(command)
        if program is not None and (home / folder).is_dir():
            with suppress(OSError, subprocess.TimeoutExpired):
                subprocess.run(
                    [program, str(home / folder)],
                    check=False,
                    capture_output=True,
                    timeout=_PATIENCE,
                )
