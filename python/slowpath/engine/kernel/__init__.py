"""What the running kernel does with programs; no analysis asks it."""
