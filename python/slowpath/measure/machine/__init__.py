"""Properties of this machine, read from its files."""
