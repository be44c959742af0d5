"""Placement of data structures in the memories of a card."""
