"""What the user can do by menu, button or key: the table of commands, and their icons."""
