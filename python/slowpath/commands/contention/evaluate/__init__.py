"""The command `slowpath contention evaluate`."""
