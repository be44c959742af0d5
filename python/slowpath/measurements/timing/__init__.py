"""Timing: what is timed when, on what, and how sure it is."""
