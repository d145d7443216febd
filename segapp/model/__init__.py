"""Immutable values: documents, settings, labellings and images. No I/O."""
