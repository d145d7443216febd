"""Scribble segmentation: strokes on a picture in, the object cut out at once."""
