"""Measurements and models in files."""
