"""The command `slowpath insights counts`."""
