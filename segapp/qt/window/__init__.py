"""The window: commands, menus, wiring."""
