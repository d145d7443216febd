"""The one mutable object, and the threads that work for it."""
