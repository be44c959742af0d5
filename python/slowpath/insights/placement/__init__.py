"""Placement of state in the memories of a card."""
