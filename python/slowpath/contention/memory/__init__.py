"""Contention for caches and memory: models learnt from profiles."""
