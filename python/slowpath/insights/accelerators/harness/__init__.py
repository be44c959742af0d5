"""Calls of a module's functions with chosen arguments."""
