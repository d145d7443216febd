"""Image processing on arrays: rasterisation, boundaries, measures, matting."""
