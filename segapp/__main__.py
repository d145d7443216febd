"""The program: a window, or a command without one."""

from __future__ import annotations

import argparse
import importlib
import json
import logging
import sys
import warnings
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = ("segment", "batch", "apply", "export")
FAILED, INTERRUPTED = 1, 130

_EXAMPLES = """\
examples:
  segapp                                 open the window
  segapp cat.jpg                         with an image, a project or a folder of images
  segapp segment cat.jpg --strokes cat-strokes.png --out cat-mask.png
  segapp batch --out results             the bundled samples, without a window
  segapp batch --help"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``segapp`` with the arguments of the command line; return the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    if not sys.warnoptions:  # remarks of libraries are for developers, who ask by -W
        warnings.simplefilter("ignore")
    logging.getLogger("tifffile").setLevel(logging.CRITICAL)
    try:
        if words[:1] and words[0] in COMMANDS:
            return _run_command(words)
        return _open_window(words)
    except KeyboardInterrupt:
        print("segapp: stopped", file=sys.stderr)
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="segapp",
        description="Cut objects out of pictures with a few strokes.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"segapp {_version()}")
    return parser


def _version() -> str:
    try:
        return metadata.version("segapp")
    except metadata.PackageNotFoundError:
        return "(not installed)"


def _run_command(words: list[str]) -> int:
    from threadpoolctl import threadpool_limits

    command = importlib.import_module(f"segapp.commands.{words[0]}")
    parser = _parser()
    command.add(parser.add_subparsers(required=True))
    arguments = parser.parse_args(words)
    try:
        # One thread: in another order, sums would differ in their last bits, and with them,
        # once in a while, a pixel. All ways to the same mask give the same mask.
        with threadpool_limits(1):
            code: int = command.run(arguments)
    except (ValueError, OSError, MemoryError) as error:
        return _report(error, as_json=arguments.json)
    return code


def _report(error: Exception, *, as_json: bool) -> int:
    sentence = str(error)
    if isinstance(error, OSError) and error.filename:
        sentence = f"{error.filename}: {error.strerror}."
    sentence = sentence or f"{type(error).__name__}."
    print(f"segapp: {sentence}", file=sys.stderr)
    if as_json:
        print(json.dumps({"error": sentence}, ensure_ascii=False))
    return INTERRUPTED if isinstance(error.__cause__, KeyboardInterrupt) else FAILED


def _open_window(words: list[str]) -> int:
    parser = _parser()
    names = ",".join(COMMANDS)
    parser.usage = f"segapp [IMAGE | PROJECT | FOLDER]\n       segapp {{{names}}} …"
    parser.add_argument(
        "path", nargs="?", type=Path, metavar="PATH", help="an image, a project or a folder"
    )
    arguments = parser.parse_args(words)
    try:
        app = importlib.import_module("segapp.qt.app")
    except ImportError as error:
        print(
            f"segapp: the window cannot be opened, because Qt lacks something: {error}. On Debian "
            "and Ubuntu this helps: sudo apt install libegl1 libxkbcommon-x11-0 libxcb-cursor0. "
            "Without a window there is: segapp batch.",
            file=sys.stderr,
        )
        return FAILED
    code: int = app.run(arguments.path)
    return code


if __name__ == "__main__":
    sys.exit(main())
