"""The command `slowpath insights accelerators`."""
