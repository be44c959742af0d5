"""Advice on what engines of the card could do of a source."""
