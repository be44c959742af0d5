"""Facts about this machine, read from its files."""
