"""Many images at once: cases in; masks, scores, a summary and pictures out."""
