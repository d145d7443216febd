"""The program: a window, or a command without one."""

from __future__ import annotations

import os
import signal
import sys

import segapp

TYPE_CHECKING = False  # importing `typing` would take too long before Ctrl-C is handled
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager
    from types import FrameType, ModuleType
    from typing import NoReturn, TypeVar

    Loaded = TypeVar("Loaded")

COMMANDS = ("segment", "batch", "apply", "propagate", "export", "explain", "review", "encoder")
FAILED, INTERRUPTED = 1, 130  # as in segapp.cli.console, which takes too long to import
_STOPPED = "segapp: stopped"

_EXAMPLES = """\
examples:
  segapp                                 open the window
  segapp cat.jpg                         with an image, a project or a folder of images
  segapp segment cat.jpg --strokes cat-strokes.png --out cat-mask.png
  segapp batch --out results             the bundled samples, without a window
  segapp batch --help
  segapp --install-desktop               into the desktop's menus, with its icon"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``segapp`` with command-line arguments and return the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        is_command = bool(words[:1]) and words[0] in COMMANDS
        return _run_command(words) if is_command else _open_window(words)
    except KeyboardInterrupt:
        print(_STOPPED, file=sys.stderr)
        return INTERRUPTED


def _loading(load: Callable[[], Loaded]) -> Loaded:
    """Import libraries, which takes a second; Ctrl-C ends the process at once.

    An exception would pass through modules that are half imported, some of which replace or
    swallow it.
    """
    try:
        before = signal.getsignal(signal.SIGINT)
        if before is not signal.default_int_handler:  # a handler of the caller, or none
            return load()
        signal.signal(signal.SIGINT, _end)
    except ValueError:  # not the main thread: it gets no signals
        return load()
    try:
        return load()
    finally:
        signal.signal(signal.SIGINT, before)


def _end(number: int, frame: FrameType | None) -> None:
    del number, frame
    os.write(2, _STOPPED.encode() + b"\n")
    os._exit(INTERRUPTED)


def _quiet_libraries() -> None:
    import logging
    import warnings

    if not sys.warnoptions:  # warnings of libraries are for developers, who use -W
        warnings.simplefilter("ignore")
    logging.getLogger("tifffile").setLevel(logging.CRITICAL)


def _parser() -> argparse.ArgumentParser:
    import argparse

    from segapp.model.validation import sanitize

    class Parser(argparse.ArgumentParser):
        """A parser whose errors, which quote words, steer no terminal."""

        def error(self, message: str) -> NoReturn:  # type: ignore[explicit-override]
            super().error(sanitize(message))

    parser = Parser(
        prog="segapp",
        description="Cut objects out of images with a few strokes.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"segapp {segapp.__version__}")
    return parser


def _run_command(words: list[str]) -> int:
    def load() -> tuple[
        ModuleType, argparse.ArgumentParser, Callable[[int], AbstractContextManager[None]]
    ]:
        import importlib

        from segapp.engine.loading import exempt_from_gc
        from shlcore.parallel import limit_threads

        _quiet_libraries()
        with exempt_from_gc():
            command = importlib.import_module(f"segapp.cli.{words[0]}")
        parser = _parser()
        command.add(parser.add_subparsers(required=True))
        return command, parser, limit_threads

    command, parser, limited = _loading(load)
    arguments = parser.parse_args(words)
    from segapp.cli.console import log_to_stderr, report_failure

    with log_to_stderr(arguments):
        try:
            # One thread: sums in another order differ in their last bits, and with them, once in
            # a while, a pixel. Window and commands make the same masks.
            with limited(1):
                code: int = command.run(arguments)
        except Exception as error:  # noqa: BLE001 - the edge of the program
            return report_failure(error, as_json=arguments.json)
    return code


def _open_window(words: list[str]) -> int:
    from pathlib import Path

    _quiet_libraries()
    parser = _parser()
    names = ",".join(COMMANDS)
    parser.usage = (
        f"segapp [--language LANGUAGE] [IMAGE | PROJECT | FOLDER]\n       segapp {{{names}}} …"
    )
    parser.add_argument(
        "path", nargs="?", type=Path, metavar="PATH", help="an image, a project or a folder"
    )
    parser.add_argument(
        "--language",
        choices=("de", "en", "zh_CN"),
        default="",
        help="of the window, this time; without it, as chosen in the menu, or as the system",
    )
    from segapp.cli.console import add_output_options

    add_output_options(parser, as_json=False)
    desktop = parser.add_mutually_exclusive_group()
    desktop.add_argument(
        "--install-desktop",
        action="store_true",
        help="add segapp and its projects to the desktop's menus, for this user",
    )
    desktop.add_argument("--uninstall-desktop", action="store_true", help="take them away again")
    arguments = parser.parse_args(words)
    if arguments.install_desktop or arguments.uninstall_desktop:
        return _change_desktop(install=arguments.install_desktop)
    try:
        app = _loading(_load_window)
    except ImportError as error:
        print(
            f"segapp: the window cannot be opened, because Qt lacks something: {error}. On Debian "
            "and Ubuntu this helps: sudo apt install libglib2.0-0 libegl1 libxkbcommon-x11-0 "
            "libxcb-cursor0. Without a window there is: segapp batch.",
            file=sys.stderr,
        )
        return FAILED
    from segapp.cli.console import log_to_stderr

    with log_to_stderr(arguments):
        # Qt is imported in there; the window then handles Ctrl-C itself.
        code: int = _loading(lambda: app.run(arguments.path, arguments.language))
    return code


def _change_desktop(*, install: bool) -> int:
    from segapp.io import desktop as desktop_entry

    change = desktop_entry.install_desktop_entry if install else desktop_entry.remove_desktop_entry
    home = desktop_entry.data_home()
    try:
        paths = change(home)
    except OSError as error:
        from segapp.model.validation import failure_message

        print(f"segapp: {failure_message(error)}", file=sys.stderr)
        return FAILED
    for path in paths:
        print(f"{'wrote' if install else 'removed'} {path}")
    if not paths:
        print(f"nothing of segapp is below {home}")
    return 0


def _load_window() -> ModuleType:
    import importlib

    return importlib.import_module("segapp.qt.application")


if __name__ == "__main__":
    sys.exit(main())
