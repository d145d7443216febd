"""What came from a stranger, as part of one sentence: never long, never more than a line."""

from __future__ import annotations

import re
import reprlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import PurePath

# Control characters would break a line or steer a terminal; half surrogates are how Python
# keeps the bytes of a name that is not UTF-8, and no stream can write them.
_UNSHOWABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_LONGEST_REASON, _LONGEST_VALUE = 500, 100
_FORMULAE = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def shown(name: str | PurePath) -> str:
    """Return a file's name for people: what cannot be shown becomes a replacement character."""
    return _UNSHOWABLE.sub("\ufffd", str(name))


def cell(text: str) -> str:
    """Return a text for CSV that no program takes for a formula, as OWASP advises."""
    return ("'" if text.startswith(_FORMULAE) else "") + shown(text)


def quoted(value: object) -> str:
    """Return a value for "got ...", cut short however large or deep it is."""
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 128:
        return f"a number of about {int(value.bit_length() * 0.30103) + 1} digits"
    try:
        words = shown(_short.repr(value))
    except (ValueError, RecursionError):  # a huge number somewhere inside
        return f"a {type(value).__name__}"
    return words if len(words) <= _LONGEST_VALUE else words[:_LONGEST_VALUE] + " …"


def reason(error: BaseException) -> str:
    """Return what a library says of a failure, as the end of a sentence without its full stop."""
    if isinstance(error, KeyError):
        return f"{quoted(error.args[0] if error.args else '')} is missing"
    if isinstance(error, MemoryError):
        return "it does not fit into the memory"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    words = shown(" ".join(str(error).split()))
    if len(words) > _LONGEST_REASON:
        words = words[:_LONGEST_REASON] + " …"
    return words.rstrip(".") or type(error).__name__


def sentence(error: BaseException) -> str:
    """Return all there is to say about a failure."""
    if isinstance(error, MemoryError):
        return "It does not fit into the memory."
    return f"{reason(error)}."


class _Short(reprlib.Repr):
    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = 60
        self.maxlevel = 3
        self.maxlist = self.maxtuple = self.maxdict = 4


_short = _Short()
