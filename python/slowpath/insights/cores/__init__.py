"""Scaling over cores and co-location, by a queueing network."""
