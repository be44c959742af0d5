"""The command `slowpath insights coalescing`."""
