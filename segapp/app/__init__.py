"""The application without a window: state, project store and folder jobs."""
