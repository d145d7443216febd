"""What decoders raise when they meet damage, whoever wrote them."""

from __future__ import annotations

import struct
import zipfile
import zlib

DAMAGE = (
    OSError,
    EOFError,
    SyntaxError,
    ValueError,
    TypeError,
    LookupError,
    ArithmeticError,
    RuntimeError,
    AttributeError,
    AssertionError,
    MemoryError,
    struct.error,
    zlib.error,
    zipfile.BadZipFile,
)
