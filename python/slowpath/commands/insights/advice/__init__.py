"""The command `slowpath insights FILE`."""
