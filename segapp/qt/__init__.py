"""The window: widgets, painting and worker threads, the only Qt code."""
