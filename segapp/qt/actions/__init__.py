"""Table of commands, with icons and shortcuts."""
