"""Models of contention for accelerators that serve their clients round-robin."""
