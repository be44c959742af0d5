"""The command `slowpath contention suggest`."""
