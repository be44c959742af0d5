"""The command `slowpath contention profile`: a function measured on this machine."""
