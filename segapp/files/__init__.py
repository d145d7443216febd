"""Bytes and values: images, projects, strokes and exports, each written whole or not at all."""
