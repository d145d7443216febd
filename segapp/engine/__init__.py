"""The segmentation engine: from strokes to labels."""
