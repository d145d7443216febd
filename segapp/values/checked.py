"""The one way to take values out of JSON: each is of the wanted kind and size, or is named.

Every function takes what a file held and the field's name, returns it typed, and raises a
`ValueError` that says what was wanted and what came.
"""

from __future__ import annotations

import json
import math
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from segapp.values.wording import quoted, reason

if TYPE_CHECKING:
    from collections.abc import Mapping

# What Python needs for an object, a list and a value among others; roughly, and rather more.
_COSTS = ((b"{", 250), (b"[", 64), (b",", 40), (b":", 60))
_LARGEST_CONTENT = 256 << 20  # bytes of Python objects that a JSON text may become
_DEEPEST = 100
_LARGEST_NUMBER = sys.float_info.max


def from_json(content: bytes, name: str) -> Any:  # noqa: ANN401 - what JSON holds
    """Parse JSON that a stranger wrote, unless it is too large or too deep to be meant."""
    cost = sum(content.count(sign) * size for sign, size in _COSTS)
    if cost > _LARGEST_CONTENT:
        raise ValueError(
            f"{name}: wanted at most {_LARGEST_CONTENT >> 20} MB of values, got about "
            f"{cost >> 20} MB"
        )
    try:
        value = json.loads(content.decode("utf-8"), parse_constant=_no_number)
    except RecursionError as error:
        raise ValueError(f"{name}: wanted plain values, got some nested too deeply") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{name}: wanted UTF-8, got other bytes") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"{name}: wanted JSON, got: {reason(error)}") from error
    except ValueError as error:  # a number of thousands of digits, or none at all
        raise ValueError(f"{name}: {reason(error)}") from error
    if _too_deep(value):
        raise ValueError(f"{name}: wanted plain values, got some nested too deeply")
    return value


def fields(value: object, name: str) -> dict[str, Any]:
    """Take named values."""
    if not isinstance(value, dict):
        _refuse(name, "named values", value)
    return value


def field(values: Mapping[str, Any], key: str) -> Any:  # noqa: ANN401 - what JSON holds
    """Take one of named values, which must be there."""
    if key not in values:
        raise ValueError(f"{key!r} is missing")
    return values[key]


def listed(value: object, name: str, least: int = 0, most: int | None = None) -> list[Any]:
    """Take a list of some length."""
    if not isinstance(value, list):
        _refuse(name, "a list", value)
    if len(value) < least or (most is not None and len(value) > most):
        wanted = f"at least {least}" if most is None else f"{least} to {most}"
        raise ValueError(f"{name}: wanted {wanted if least != most else least}, got {len(value)}")
    return value


def number(value: object, name: str, low: float = -math.inf, high: float = math.inf) -> float:
    """Take a finite number, whole or not."""
    if type(value) is not float and type(value) is not int:
        _refuse(name, "a number", value)
    if not (low <= value <= high and -_LARGEST_NUMBER <= value <= _LARGEST_NUMBER):
        bounded = math.isfinite(low) or math.isfinite(high)
        _refuse(name, f"a number from {low:g} to {high:g}" if bounded else "a number", value)
    return float(value)


def whole(value: object, name: str, low: float = -math.inf, high: float = math.inf) -> int:
    """Take a whole number; one that is written like 3.0 is none."""
    if type(value) is not int:
        _refuse(name, "a whole number", value)
    if not low <= value <= high:
        _refuse(name, f"a whole number from {low:.10g} to {high:.10g}", value)
    return value


def text(value: object, name: str, longest: int = 1000) -> str:
    """Take a text that any file can hold."""
    if not isinstance(value, str):
        _refuse(name, "a text", value)
    if len(value) > longest:
        raise ValueError(f"{name}: wanted at most {longest} characters, got {len(value)}")
    if not is_unicode(value):
        _refuse(name, "a text of whole characters", value)
    return value


def is_unicode(value: str) -> bool:
    """Tell whether a text holds no half surrogate, which no UTF-8 file can hold."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _refuse(name: str, wanted: str, value: object) -> NoReturn:
    raise ValueError(f"{name}: wanted {wanted}, got {quoted(value)}")


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"wanted finite numbers, got {word}")


def _too_deep(value: object) -> bool:
    """Look level by level: what is very deep cannot be descended by calls."""
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
