"""From what was learnt about regions to a label for each pixel: cuts, outline, clean-up."""
