"""Scaling over cores and co-location on the card, by a queueing network."""
