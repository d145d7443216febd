"""What strokes teach: supervision, training, learnt models, and where to mark next."""
