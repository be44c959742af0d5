"""Decides which network functions run on which NIC of a fleet."""
