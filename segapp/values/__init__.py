"""What is passed around: documents, labellings, settings and updates, frozen and without files."""
