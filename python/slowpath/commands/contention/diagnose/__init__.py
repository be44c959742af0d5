"""The command `slowpath contention diagnose`."""
