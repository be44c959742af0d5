"""Demands of a source on the card: cores and co-located functions."""
