"""The command `slowpath insights placement`."""
