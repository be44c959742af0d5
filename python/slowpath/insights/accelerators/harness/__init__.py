"""Calls compiled functions of a module to compare their results with reference algorithms."""
