"""What all tests share."""

from hypothesis import settings

# A busy machine takes longer; how long something may take is for the benchmarks.
settings.register_profile("no hurry", deadline=None)
settings.load_profile("no hurry")
