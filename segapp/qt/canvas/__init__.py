"""Showing a picture and drawing on it."""
