"""The command `slowpath measure`, which times the slowest paths in the running kernel."""
