"""Names of files that are not UTF-8, in files that are.

Python keeps the odd bytes of such a name as half surrogates, which no UTF-8 text can hold. A
name goes into a file readably; one that would not come back is stored a second time, its bytes
percent-encoded.
"""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import quote_from_bytes, unquote_to_bytes

from segapp.values import checked
from segapp.values.wording import shown

_LONGEST = 20_000  # characters of a path; systems allow 4096 to 32 767, percent signs triple that
_BYTES = "_bytes"


def with_name(values: dict[str, Any], key: str, name: str | None) -> None:
    """Store a name under ``key``, and exactly under ``key_bytes`` where that is needed."""
    if name is None:
        values[key] = None
    elif checked.is_unicode(name):
        values[key] = name
    else:
        values[key] = shown(name)
        values[key + _BYTES] = quote_from_bytes(os.fsencode(name))


def name_in(values: dict[str, Any], key: str) -> str | None:
    """Return the name that `with_name` stored, or ``None`` where there is none."""
    exact = values.get(key + _BYTES)
    if exact is not None:
        name = os.fsdecode(unquote_to_bytes(checked.text(exact, key + _BYTES, 3 * _LONGEST)))
    elif values.get(key) is not None:
        name = checked.text(values[key], key, _LONGEST)
    else:
        return None
    if "\0" in name:
        raise ValueError(f"{key}: wanted the name of a file, got one with a zero byte")
    return name or None
