"""What decoders raise when they meet damage, whoever wrote them."""

from __future__ import annotations

import lzma
import struct
import tokenize
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
    ImportError,  # of a decoder that is not installed
    MemoryError,
    struct.error,
    zlib.error,
    lzma.LZMAError,
    zipfile.LargeZipFile,
    zipfile.BadZipFile,
    tokenize.TokenError,  # from the headers of NumPy's arrays
)
