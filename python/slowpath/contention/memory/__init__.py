"""Models of contention for caches and memory, learnt from profiles."""
