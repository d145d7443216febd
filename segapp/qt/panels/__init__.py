"""What stands around the canvas: classes, settings, files, a look inside, the state."""
