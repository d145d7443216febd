"""Soft edges: how much of a pixel is the object, and in which colour."""
