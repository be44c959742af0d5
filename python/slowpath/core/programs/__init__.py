"""Finds, compiles, loads and selects programs, and describes packets."""
