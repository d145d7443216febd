"""Messages and errors for users, validation of JSON, quoting of untrusted text."""

from __future__ import annotations

import json
import math
import os
import re
import reprlib
import sys
from typing import TYPE_CHECKING, Any, NoReturn, Self
from urllib.parse import quote_from_bytes, unquote_to_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import PurePath


class Message(str):
    """English text for users that keeps its template and values, to be translated.

    >>> message = Message("There is no file {}.", "cat.png")
    >>> message, message.template, message.values
    ('There is no file cat.png.', 'There is no file {}.', ('cat.png',))
    """

    template: str
    values: tuple[object, ...]

    def __new__(cls, template: str, *values: object) -> Self:
        """Fill the values, which may be messages, into a template as of `str.format`."""
        message = super().__new__(cls, template.format(*values) if values else template)
        message.template, message.values = template, values
        return message


class SegappError(ValueError):
    """A problem that the user can mend; the message is one sentence.

    Any other `ValueError` is a fault of the program and is reported with its traceback. With
    values, the text is the template of a `Message`.
    """

    def __init__(self, text: str = "", *values: object) -> None:
        super().__init__(Message(text, *values) if values else text)


# Control characters would break a line or steer a terminal, and marks of direction show a name
# as another one; half surrogates are how Python keeps the bytes of a name that is not UTF-8, and
# no stream can write them.
_UNSHOWABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_LONGEST_REASON, _LONGEST_VALUE = 500, 100
_FORMULAE = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def sanitize(name: str | PurePath) -> str:
    """Replace characters of a name that cannot be displayed."""
    return _UNSHOWABLE.sub("\ufffd", str(name))


def as_file_name(text: str) -> str:
    """Return a text as part of a file name that is allowed, and shown, everywhere."""
    return re.sub(r'[<>:"/\\|?*\ufffd]+', "_", sanitize(text))


def csv_cell(text: str) -> str:
    """Return a text for CSV that no program takes for a formula (OWASP)."""
    return ("'" if text.startswith(_FORMULAE) else "") + sanitize(text)


def short_repr(value: object) -> str:
    """Return a short text for any value, however large or deep it is."""
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 128:
        return f"a number of about {int(value.bit_length() * 0.30103) + 1} digits"
    try:
        words = sanitize(_short.repr(value))
    except (ValueError, RecursionError):  # a huge number somewhere inside
        return f"a {type(value).__name__}"
    return words if len(words) <= _LONGEST_VALUE else words[:_LONGEST_VALUE] + " …"


def reason(error: BaseException) -> str:
    """Return an exception's message as the end of a sentence, without its full stop."""
    if isinstance(error, KeyError):
        return f"{short_repr(error.args[0] if error.args else '')} is missing"
    if isinstance(error, MemoryError):
        return "it does not fit into the memory"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    words = sanitize(" ".join(str(error).split()))
    if len(words) > _LONGEST_REASON:
        words = words[:_LONGEST_REASON] + " …"
    return words.rstrip(".") or type(error).__name__


def sentence(error: BaseException) -> str:
    """Return the message of an error as a sentence."""
    if isinstance(error, SegappError) and isinstance(error.args[0], Message):
        return error.args[0]
    if isinstance(error, MemoryError):
        return "It does not fit into the memory."
    return f"{reason(error)}."


def failure_message(error: BaseException) -> str:
    """Return a sentence about any exception, the user's or the program's."""
    if isinstance(error, OSError) and error.filename:
        return f"{sanitize(error.filename)}: {error.strerror}."
    if isinstance(error, SegappError | OSError | MemoryError):
        return sentence(error)
    return (
        f"internal error: {type(error).__name__}: {reason(error)}. This is a fault of segapp; "
        "run again with --debug for the traceback."
    )


class _Short(reprlib.Repr):
    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = 60
        self.maxlevel = 3
        self.maxlist = self.maxtuple = self.maxdict = 4


_short = _Short()


# Every function takes a parsed value and its field's name, returns it typed, or raises
# `SegappError` with the wanted and the given value.

# Bytes of Python's objects for each sign of JSON, an upper estimate.
_COSTS = ((b"{", 250), (b"[", 64), (b",", 40), (b":", 60))
_LARGEST_CONTENT = 256 << 20  # bytes of Python objects that a JSON text may become
_DEEPEST = 100
_LARGEST_NUMBER = sys.float_info.max


def from_json(content: bytes, name: str) -> Any:  # noqa: ANN401 - what JSON holds
    """Parse JSON of unknown origin; refuse too large or too deep values."""
    cost = sum(content.count(sign) * size for sign, size in _COSTS)
    if cost > _LARGEST_CONTENT:
        raise SegappError(
            f"{name}: wanted at most {_LARGEST_CONTENT >> 20} MB of values, got about "
            f"{cost >> 20} MB"
        )
    try:
        value = json.loads(content.decode("utf-8"), parse_constant=_no_number)
    except RecursionError as error:
        raise SegappError(f"{name}: wanted plain values, got some nested too deeply") from error
    except UnicodeDecodeError as error:
        raise SegappError(f"{name}: wanted UTF-8, got other bytes") from error
    except json.JSONDecodeError as error:
        raise SegappError(f"{name}: wanted JSON, got: {reason(error)}") from error
    except ValueError as error:  # a number of thousands of digits, or none at all
        raise SegappError(f"{name}: {reason(error)}") from error
    if _too_deep(value):
        raise SegappError(f"{name}: wanted plain values, got some nested too deeply")
    return value


def require_object(value: object, name: str) -> dict[str, Any]:
    """Return a value that must be an object."""
    if not isinstance(value, dict):
        _refuse(name, "named values", value)
    return value


def require_field(values: Mapping[str, Any], key: str) -> Any:  # noqa: ANN401 - what JSON holds
    """Return an object's value, which must be there."""
    if key not in values:
        raise SegappError(f"{key!r} is missing")
    return values[key]


def require_list(value: object, name: str, least: int = 0, most: int | None = None) -> list[Any]:
    """Return a value that must be a list of some length."""
    if not isinstance(value, list):
        _refuse(name, "a list", value)
    if len(value) < least or (most is not None and len(value) > most):
        wanted = f"at least {least}" if most is None else f"{least} to {most}"
        raise SegappError(f"{name}: wanted {wanted if least != most else least}, got {len(value)}")
    return value


def require_number(
    value: object, name: str, low: float = -math.inf, high: float = math.inf
) -> float:
    """Return a value that must be a finite number."""
    if type(value) is not float and type(value) is not int:
        _refuse(name, "a number", value)
    if not (low <= value <= high and -_LARGEST_NUMBER <= value <= _LARGEST_NUMBER):
        bounded = math.isfinite(low) or math.isfinite(high)
        _refuse(name, f"a number from {low:g} to {high:g}" if bounded else "a number", value)
    return float(value)


def require_int(value: object, name: str, low: float = -math.inf, high: float = math.inf) -> int:
    """Return a value that must be an integer; 3.0 is none."""
    if type(value) is not int:
        _refuse(name, "a whole number", value)
    if not low <= value <= high:
        _refuse(name, f"a whole number from {low:.10g} to {high:.10g}", value)
    return value


def require_text(value: object, name: str, longest: int = 1000) -> str:
    """Return a value that must be a text of whole characters."""
    if not isinstance(value, str):
        _refuse(name, "a text", value)
    if len(value) > longest:
        raise SegappError(f"{name}: wanted at most {longest} characters, got {len(value)}")
    if not is_unicode(value):
        _refuse(name, "a text of whole characters", value)
    return value


def is_unicode(value: str) -> bool:
    """Tell whether a text can be encoded as UTF-8, without half surrogates."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _refuse(name: str, wanted: str, value: object) -> NoReturn:
    raise SegappError(f"{name}: wanted {wanted}, got {short_repr(value)}")


def _no_number(word: str) -> NoReturn:
    raise SegappError(f"wanted finite numbers, got {word}")


def _too_deep(value: object) -> bool:
    """Look level by level, as recursion would fail in very deep values."""
    level: list[Any] = [value] if isinstance(value, dict | list) else []
    for _ in range(_DEEPEST):
        if not level:
            return False
        level = [
            part
            for outer in level
            for part in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(part, dict | list)
        ]
    return True


# Python keeps the odd bytes of such a name as half surrogates, which no UTF-8 text can hold. A
# name goes into a file readably; one that would not come back is stored a second time, its bytes
# percent-encoded.

_LONGEST = 20_000  # characters of a path; systems allow 4096 to 32 767, percent signs triple that
_BYTES = "_bytes"


def store_file_name(values: dict[str, Any], key: str, name: str | None) -> None:
    """Store a name under ``key``, and its exact bytes where UTF-8 cannot hold it."""
    if name is None:
        values[key] = None
    elif is_unicode(name):
        values[key] = name
    else:
        values[key] = sanitize(name)
        values[key + _BYTES] = quote_from_bytes(os.fsencode(name))


def load_file_name(values: dict[str, Any], key: str) -> str | None:
    """Return the name that `store_file_name` stored, or ``None`` where there is none."""
    exact = values.get(key + _BYTES)
    if exact is not None:
        name = os.fsdecode(unquote_to_bytes(require_text(exact, key + _BYTES, 3 * _LONGEST)))
    elif values.get(key) is not None:
        name = require_text(values[key], key, _LONGEST)
    else:
        return None
    if "\0" in name:
        raise SegappError(f"{key}: wanted the name of a file, got one with a zero byte")
    return name or None
