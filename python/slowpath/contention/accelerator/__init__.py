"""Contention for accelerators that serve their clients round-robin."""
