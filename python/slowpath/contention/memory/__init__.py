"""Models of contention for caches and memory, trained on measurements beside competitors."""
