"""The command `slowpath contention`: how fast functions run beside others."""
