"""Settings as plain values for files, and as ``name=value`` for the command line."""

from __future__ import annotations

import dataclasses
import types
import typing
from enum import Enum
from typing import Any

from segapp.values import checked
from segapp.values.settings import Settings
from segapp.values.wording import quoted

_LARGEST = 2**53  # whole numbers beyond this are none for other programs
_LONGEST_LIST = 32  # bandwidths, groups of features: each entry costs a kernel matrix
Plain = dict[str, Any]


def to_plain(settings: Settings) -> Plain:
    """Return settings as numbers, texts, lists and dictionaries that JSON can hold."""
    plain: Plain = _plain(settings)
    return plain


def from_plain(plain: object) -> Settings:
    """Make settings from `to_plain`'s values.

    What is missing gets its default and what is unknown is left out, so that files of older
    versions open. A value of the wrong kind gives a `ValueError`.
    """
    settings: Settings = _typed(Settings, plain, "settings")
    return settings


def with_value(settings: Settings, assignment: str) -> Settings:
    """Change one setting as the user writes it: ``bits=8``, ``clean_up.smoothing=2``.

    Lists are written with commas, truth as ``true`` or ``false``, nothing as ``none``.

    >>> with_value(Settings(), "bandwidths=0.1,0.5").bandwidths
    (0.1, 0.5)
    >>> with_value(Settings(), "clean_up.smoothing=2").clean_up.smoothing
    2
    >>> with_value(Settings(), "bits=many")
    Traceback (most recent call last):
    ValueError: bits: wanted a whole number, got 'many'.
    """
    name, equals, text = assignment.partition("=")
    if not equals:
        raise ValueError(f"--set: wanted name=value, got {quoted(assignment)}.")
    changed: Settings = _changed(settings, name.strip().split("."), text.strip(), name.strip())
    return changed


def setting_names() -> list[str]:
    """List the names that `with_value` knows."""
    return _names(Settings, "")


def _plain(value: object) -> Any:  # noqa: ANN401 - what JSON holds
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    return value


def _typed(kind: Any, value: Any, name: str) -> Any:  # noqa: ANN401 - types as values
    """Check a plain value against a type and build what the type says."""
    if dataclasses.is_dataclass(kind):
        return _typed_dataclass(kind, value, name)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        others = [part for part in arguments if part is not type(None)]
        return None if value is None else _typed(others[0], value, name)
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise ValueError(f"{name}: wanted a list, got {quoted(value)}.")
        if len(value) > _LONGEST_LIST:
            raise ValueError(f"{name}: wanted at most {_LONGEST_LIST} values, got {len(value)}.")
        return _differing(tuple(_typed(arguments[0], part, name) for part in value), name)
    if isinstance(kind, type) and issubclass(kind, Enum):
        try:
            return kind(value)
        except ValueError as error:
            known = ", ".join(str(member.value) for member in kind)
            raise ValueError(f"{name}: wanted one of {known}, got {quoted(value)}.") from error
    if kind is float and type(value) is int:
        return checked.number(value, name)
    if type(value) is not kind:
        raise ValueError(f"{name}: wanted {_KINDS.get(kind, kind)}, got {quoted(value)}.")
    return checked.whole(value, name, -_LARGEST, _LARGEST) if kind is int else value


def _differing(values: tuple[Any, ...], name: str) -> tuple[Any, ...]:
    """Refuse a group of features that is named twice; equal numbers do no harm."""
    if values and isinstance(values[0], Enum) and len(set(values)) < len(values):
        raise ValueError(f"{name}: wanted each once, got {', '.join(str(v) for v in values)}.")
    return values


_KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}


def _typed_dataclass(kind: Any, value: Any, name: str) -> Any:  # noqa: ANN401 - types as values
    if not isinstance(value, dict):
        raise ValueError(f"{name}: wanted named values, got {quoted(value)}.")  # noqa: TRY004 - one kind
    hints = typing.get_type_hints(kind)
    known = {f.name for f in dataclasses.fields(kind)}
    return kind(
        **{key: _typed(hints[key], part, key) for key, part in value.items() if key in known}
    )


def _changed(value: Any, path: list[str], text: str, name: str) -> Any:  # noqa: ANN401
    hints = typing.get_type_hints(type(value)) if dataclasses.is_dataclass(value) else {}
    if path[0] not in hints:
        raise ValueError(
            f"There is no setting {quoted(name)}: wanted one of {', '.join(setting_names())}."
        )
    inner = getattr(value, path[0])
    if len(path) > 1:
        part = _changed(inner, path[1:], text, name)
    else:
        part = _typed(hints[path[0]], _parsed(hints[path[0]], text), name)
    return dataclasses.replace(value, **{path[0]: part})


def _parsed(kind: Any, text: str) -> Any:  # noqa: ANN401 - types as values
    """Read a text as far as its type asks; `_typed` judges what cannot be read."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        if text.lower() == "none":
            return None
        return _parsed(next(part for part in arguments if part is not type(None)), text)
    if origin is tuple:
        return [_parsed(arguments[0], part.strip()) for part in text.split(",") if part.strip()]
    if kind is bool:
        return {"true": True, "false": False}.get(text.lower(), text)
    if kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            return text
    return text


def _names(kind: Any, prefix: str) -> list[str]:  # noqa: ANN401 - types as values
    names = []
    for name, part in typing.get_type_hints(kind).items():
        if dataclasses.is_dataclass(part):
            names += _names(part, f"{prefix}{name}.")
        else:
            names.append(prefix + name)
    return names
