"""The command `slowpath contention place`."""
