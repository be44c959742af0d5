"""Execution of untrusted functions with chosen arguments."""
