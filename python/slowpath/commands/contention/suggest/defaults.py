"""What `slowpath contention suggest` takes where nothing else is said."""

MIXES = 20
"""As many as are measured in a quarter of an hour, at half a minute each."""
SURE = 0.9
