"""Errors of estimates: measurements, simpler models, and comparison."""
