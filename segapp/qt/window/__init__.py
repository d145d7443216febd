"""Main window: menus, docks and commands."""
