"""What decoders raise when they meet damage, whoever wrote them."""

from __future__ import annotations

import lzma
import zipfile

from shlcore import model_file

DAMAGE = (
    *model_file.DAMAGE,
    AssertionError,
    ImportError,  # of a decoder that is not installed
    lzma.LZMAError,
    zipfile.LargeZipFile,
)
"""What shlcore's readers meet, and what decoders of pictures and other archives add to it."""
