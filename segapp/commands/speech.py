"""What commands print: whatever is in a file's name, printing it never fails."""

from __future__ import annotations

import json
import sys
from typing import Any, TextIO

from segapp.values.wording import shown


def say(text: str, stream: TextIO | None = None) -> None:
    """Print a line on standard output, or on another stream."""
    stream = sys.stdout if stream is None else stream
    print(printable(text, stream), file=stream)


def printable(text: str, stream: TextIO) -> str:
    """Return a line with what the stream cannot show replaced."""
    encoding = stream.encoding or "utf-8"
    return shown(text).encode(encoding, "replace").decode(encoding)


def say_json(result: dict[str, Any]) -> None:
    """Print one JSON object; with names that the stream cannot show, in ASCII alone.

    The bytes of a name that is not UTF-8 come as Python keeps them, in half surrogates.
    """
    line = json.dumps(result, ensure_ascii=False)
    try:
        line.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        line = json.dumps(result)
    print(line)
