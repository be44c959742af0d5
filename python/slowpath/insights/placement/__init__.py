"""Decides which memory of a card each data structure should be in."""
