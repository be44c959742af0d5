"""Calls functions of a module with chosen arguments, to compare them with reference algorithms."""
