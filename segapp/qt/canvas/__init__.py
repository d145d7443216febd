"""Canvas with the picture, its overlay and the strokes."""
