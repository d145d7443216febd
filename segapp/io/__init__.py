"""Files: images, projects, masks and class lists."""
