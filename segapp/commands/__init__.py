"""The program without a window: one file a command.

Each module has ``add(commands)``, which describes its arguments, and ``run(arguments)``, which
does the work and returns the exit code. Sentences for people go to standard error, results to
standard output, and with ``--json`` the results are one JSON object.
"""
