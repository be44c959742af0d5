"""The command `slowpath insights blocks`."""
