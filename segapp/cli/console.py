"""Output of the commands: results, log messages and failures."""

from __future__ import annotations

import json
import logging
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from segapp.model.validation import SegappError, failure_message, sanitize

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

FAILED, SOME_FAILED, INTERNAL_ERROR, INTERRUPTED = 1, 3, 4, 130
"""Exit codes: not done, done but not for every image, a fault of the program, Ctrl-C."""

_log = logging.getLogger(__name__)


class CommandError(SegappError):
    """A request that cannot be met; the message is one sentence for the user."""


def add_output_options(parser: argparse.ArgumentParser, *, as_json: bool = True) -> None:
    """Add ``--json``, ``--verbose`` and ``--debug``."""
    if as_json:
        parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="log files and times of each step"
    )
    parser.add_argument(
        "--debug", action="store_true", help="log everything, with the traceback of an error"
    )


def print_line(text: str, stream: TextIO | None = None) -> None:
    """Print a line on standard output, or on another stream."""
    stream = sys.stdout if stream is None else stream
    print(printable(text, stream), file=stream)


def printable(text: str, stream: TextIO) -> str:
    """Return a line with characters that the stream cannot show replaced."""
    encoding = stream.encoding or "utf-8"
    return sanitize(text).encode(encoding, "replace").decode(encoding)


def print_json(result: dict[str, Any]) -> None:
    """Print one JSON object; with names that the stream cannot show, in ASCII alone.

    The bytes of a name that is not UTF-8 are escaped half surrogates, as Python decodes them.
    """
    line = json.dumps(result, ensure_ascii=False)
    print(line if printable(line, sys.stdout) == line else json.dumps(result))


def print_result(
    arguments: argparse.Namespace, result: dict[str, Any], lines: Sequence[str]
) -> None:
    """Print the result as JSON, if that was asked for, or else the lines."""
    for path in result.get("files", ()):
        _log.info("wrote %s", path)
    if arguments.json:
        print_json(result)
    else:
        for line in lines:
            print_line(line)


def print_beside_progress(text: str) -> None:
    """Print a line on standard error, above the progress bar if there is one."""
    from tqdm import tqdm

    tqdm.write(printable(text, sys.stderr), file=sys.stderr)


class _LinesBesideProgress:
    """A stream of whole lines, for log records above the progress bar."""

    def write(self, text: str) -> None:
        for line in text.splitlines():
            print_beside_progress(line)

    def flush(self) -> None:
        sys.stderr.flush()


@contextmanager
def log_to_stderr(arguments: argparse.Namespace) -> Iterator[None]:
    """Print the log as far as ``--verbose`` or ``--debug`` ask for it."""
    if not (arguments.verbose or arguments.debug):
        yield
        return
    handler = logging.StreamHandler(_LinesBesideProgress())
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    loggers = [logging.getLogger(name) for name in ("segapp", "shlcore")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.addHandler(handler)
        logger.setLevel(logging.DEBUG if arguments.debug else logging.INFO)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.removeHandler(handler)
            logger.setLevel(level)


def report_failure(error: Exception, *, as_json: bool) -> int:
    """Print one sentence about an error, log its traceback, and return the exit code."""
    _log.debug("the command failed", exc_info=error)
    message = failure_message(error)
    print_line(f"segapp: {message}", sys.stderr)
    if as_json:
        print_json({"error": message})
    if isinstance(error.__cause__, KeyboardInterrupt):
        return INTERRUPTED
    return FAILED if isinstance(error, SegappError | OSError | MemoryError) else INTERNAL_ERROR
