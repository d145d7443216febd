"""The window: widgets, painting and the worker thread. The only place that knows Qt."""
