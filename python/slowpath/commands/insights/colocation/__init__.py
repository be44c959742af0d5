"""The command `slowpath insights colocation`."""
