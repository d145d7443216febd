"""Panels around the canvas, and cards over it."""
