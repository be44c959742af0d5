"""The command `slowpath insights cores`."""
