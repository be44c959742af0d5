"""Advice on how to port a source."""
