"""Vision networks of the user: installed, probed, and run in a separate process.

Nothing here is imported before an encoder is asked for, and the libraries that run networks are
loaded in the worker process alone.
"""
