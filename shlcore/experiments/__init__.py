"""The paper's experiments as commands: ``shlcore experiment NAME ...``.

One module per experiment, each with ``add_parser(commands)`` and ``run(arguments)``.
"""
