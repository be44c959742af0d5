"""Placement of network functions on a fleet of NICs."""
